-- SPDX-License-Identifier: GPL-2.0 OR MIT
-- The head of an HTTP request: method, path, and headers by name.
local heads = {}
for i = 1, 8 do
  heads[i] = "GET /static/file" .. i .. ".js?v=" .. i * 17 .. " HTTP/1.1\r\n" ..
    "Host: www.example.org\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\n" ..
    "Accept: */*\r\nAccept-Language: en-US,en;q=0.5\r\nContent-Length: " .. i * 100 .. "\r\n" ..
    "Connection: keep-alive\r\n\r\n"
end

local function take(head)
  local method, path, version = head:match("^(%u+) (%S+) HTTP/(%d%.%d)\r\n")
  if not method then return 0 end
  local length, keep = 0, version == "1.1"
  for name, value in head:gmatch("([%w%-]+): *([^\r]*)\r\n") do
    if name == "Content-Length" then
      length = tonumber(value)
    elseif name == "Connection" then
      keep = value == "keep-alive"
    end
  end
  return keep and length + #path or length
end

function run(n)
  local total = 0
  for i = 1, n do total = total + take(heads[i % 8 + 1]) end
  return total
end
