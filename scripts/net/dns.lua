-- SPDX-License-Identifier: MIT
-- An authoritative DNS server for a small zone, from the frames of a device.
--
--   run(-1, name, name_len, address)  adds a name: text, "www.example.org"; its IPv4
--                                     address as a number: 10.0.0.1 is 0x0a000001
--   run(fd, port, count, ms)          serves
--   run(fd, port, count, ms, name, name_len, address)  serves, and adds a name before
--     fd     a packet socket (AF_PACKET, SOCK_RAW), bound to the device
--     port   UDP port, 53
--     count  questions to answer in this call
--     ms     how long to wait for the next ones; -1: for ever
--     Returns how many were answered, or the negative errno that the first receive met.
--
-- From the shell: syscript net setup --socket
--   syscript run dns.lua 3 53 1 -1 www.example.org 15 0x0a000001 &
--   dig @10.87.0.2 www.example.org

local A, ANY, IN = 1, 255, 1
local ANSWER, REFUSED = 0x8400, 0x8005     -- authoritative; not of this zone
local NO_NAME, NOT_IMPLEMENTED = 0x8403, 0x8004
local RECURSION_DESIRED = 0x0100
-- The name of the question, type A, class IN, an hour, four bytes.
local RECORD = "\192\12\0\1\0\1\0\0\14\16\0\4"
local BATCH, HOLD = 16, 200

local zone, domains = {}, {}

local function add(name, name_len, address)
  local text = util.str_in(name, name_len):lower()
  local byte = bit.band
  zone[text] = RECORD .. string.char(byte(bit.rshift(address, 24), 255),
    byte(bit.rshift(address, 16), 255), byte(bit.rshift(address, 8), 255), byte(address, 255))
  domains[text:match("%.(.*)") or text] = true
  return 0
end

-- The name at an offset, and the offset after it; nil if it exceeds the payload.
local function read_name(f, at, last)
  local labels, n = {}, 0
  while at < last do
    local len = f:u1(at)
    if len == 0 then return table.concat(labels, ".", 1, n):lower(), at + 1 end
    if len > 63 or at + 1 + len > last then return nil end
    n = n + 1
    labels[n] = f:str(at + 1, len)
    at = at + 1 + len
  end
end

-- Turns a question into its answer and returns the length; nil if it is not a question.
local function answer(f, at, len)
  if len < 17 then return nil end
  local flags = f:u2(at + 2)
  if flags >= 0x8000 or f:u2(at + 4) ~= 1 then return nil end
  local name, after = read_name(f, at + 12, at + len)
  if not name or after + 4 > at + len then return nil end
  local type, class = f:u2(after), f:u2(after + 2)
  local found, status, length = zone[name], ANSWER, after + 4 - at
  local wanted = found and class == IN and (type == A or type == ANY)
  if bit.band(flags, 0x7800) ~= 0 then
    status, wanted = NOT_IMPLEMENTED, false
  elseif not found then
    status = domains[name:match("%.(.*)") or name] and NO_NAME or REFUSED
  end
  if wanted then
    f:put(at + length, found)
    length = length + #found
  end
  f:put2(at + 2, status + bit.band(flags, RECURSION_DESIRED))
  f:put2(at + 6, wanted and 1 or 0)
  f:put4(at + 8, 0)               -- counts of 0: records after the question are dropped
  return length
end

function run(fd, port, count, ms, name, name_len, address)
  if fd < 0 then return add(port, count, ms) end
  if name then add(name, name_len, address) end
  local frames = net.frames(fd)
  local answered = 0
  repeat
    local n = frames:receive(BATCH, ms, BATCH, HOLD)
    if n < 0 and answered == 0 then return n end
    for i = 1, n do
      local f = frames[i]
      local at, len = f:udp()
      local length = at and select(2, f:ports()) == port and answer(f, at, len)
      if length then
        f:reply(length)
        answered = answered + 1
      end
    end
    frames:flush()
  until n <= 0 or answered >= count or util.pending()
  return answered
end
