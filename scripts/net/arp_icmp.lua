-- SPDX-License-Identifier: MIT
-- For a device without a network stack: answers ARP requests for its address, and pings.
--
--   fd       a packet socket (AF_PACKET, SOCK_RAW), bound to the device
--   address  IPv4 address, as a number: 10.0.0.1 is 0x0a000001
--   mac      Ethernet address, as a number
--   count    frames to answer in this call
--   ms       how long to wait for the next ones; -1: for ever
--
-- Returns how many were answered, or the negative errno that the first receive met.

local ARP, IP = 0x0806, 0x0800
local ETHERNET_IP = 0x0604          -- lengths of the addresses in ARP
local REQUEST, REPLY = 1, 2
local ICMP, ECHO, ECHO_REPLY = 1, 8, 0

local function put_mac(f, offset, mac)
  f:put2(offset, math.floor(mac / 2 ^ 32))
  f:put4(offset + 2, mac % 2 ^ 32)
end

local function arp(f, address, mac)
  if f:len() < 42 or f:u4(14) ~= 0x00010800 or f:u2(18) ~= ETHERNET_IP then return false end
  if f:u2(20) ~= REQUEST or f:u4(38) ~= address then return false end
  local asker = f:str(22, 10)       -- both addresses
  f:put(0, asker:sub(1, 6))
  put_mac(f, 6, mac)
  f:put2(20, REPLY)
  put_mac(f, 22, mac)
  f:put4(28, address)
  f:put(32, asker)
  return true
end

-- An IPv4 header with a correct length and checksum.
local function is_whole(f)
  local sum, total = 0, f:u2(16)
  for at = 14, 32, 2 do sum = sum + f:u2(at) end
  return total >= 28 and total <= f:len() - 14 and sum % 0xffff == 0
end

local function ping(f, address)
  if f:len() < 42 or f:u1(14) ~= 0x45 or f:u1(23) ~= ICMP then return false end
  if f:u4(30) ~= address or bit.band(f:u2(20), 0x3fff) ~= 0 then return false end
  if not is_whole(f) then return false end
  if f:u1(34) ~= ECHO or f:u1(0) % 2 == 1 or f:u1(26) >= 224 then return false end
  f:put(0, f:str(6, 6) .. f:str(0, 6))
  f:put4(30, f:u4(26))
  f:put4(26, address)
  f:put1(34, ECHO_REPLY)
  -- The checksum changes by what the type loses.
  local sum = f:u2(36) + ECHO * 256
  f:put2(36, sum > 0xffff and sum - 0xffff or sum)
  return true
end

local function answer(f, address, mac)
  local type = f:len() >= 14 and f:u2(12)
  if type == ARP then return arp(f, address, mac) end
  return type == IP and ping(f, address)
end

function run(fd, address, mac, count, ms)
  local frames = net.frames(fd)
  local answered = 0
  repeat
    local n = frames:receive(16, ms)
    if n < 0 and answered == 0 then return n end
    for i = 1, n do
      if answer(frames[i], address, mac) then
        frames[i]:send()
        answered = answered + 1
      end
    end
    frames:flush()
  until n <= 0 or answered >= count or util.pending()
  return answered
end
