-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- Lines of syslog: how many of each host, and how many are errors.
local lines = {}
for i = 1, 40 do
  lines[i] = string.format("<%d>Oct %2d 22:14:%02d host%02d sshd[%d]: Accepted publickey for user%d",
    i * 5 % 192, i % 28 + 1, i % 60, i % 9, 1000 + i * 13, i)
end

local hosts, errors = {}, 0

local function take(line)
  local priority, host, program = line:match("^<(%d+)>%a+%s+%d+ %d+:%d+:%d+ (%S+) ([^%[:]+)")
  if not host then return 0 end
  hosts[host] = (hosts[host] or 0) + 1
  if tonumber(priority) % 8 < 4 then errors = errors + 1 end
  return #program
end

function run(n)
  local total = 0
  for i = 1, n do total = total + take(lines[i % 40 + 1]) end
  return total, errors % 1000000
end
