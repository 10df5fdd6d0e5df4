-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- A line of fifty numbers: their sum and their number.
local lines = {}
for i = 1, 4 do
  local numbers = {}
  for j = 1, 50 do numbers[j] = (i * 7919 + j * 104729) % (j % 3 == 0 and 100 or 100000) end
  lines[i] = table.concat(numbers, ",")
end

local function take(line)
  local sum, count = 0, 0
  for number in line:gmatch("%d+") do
    sum = sum + tonumber(number)
    count = count + 1
  end
  return sum + count
end

function run(n)
  local total = 0
  for i = 1, n do total = total + take(lines[i % 4 + 1]) end
  return total
end
