-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- A statsd receiver's lines: a sum by name for counters, the last value for gauges.
local lines = {}
for i = 1, 40 do
  local kind = i % 4 == 0 and "g" or i % 7 == 0 and "ms" or "c"
  lines[i] = string.format("web%02d.requests.status_%d:%d|%s", i % 5, 200 + i % 3, i * 37 % 1000, kind)
end

local sums, gauges = {}, {}

local function take(line)
  local name, value, kind = line:match("^([^:]+):(%-?%d+)|(%a+)")
  if not name then return 0 end
  value = tonumber(value)
  if kind == "g" then
    gauges[name] = value
  else
    sums[name] = (sums[name] or 0) + value
  end
  return value
end

function run(n)
  local total = 0
  for i = 1, n do total = (total + take(lines[i % 40 + 1])) % 1000000 end
  return total
end
