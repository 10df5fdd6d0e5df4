-- SPDX-License-Identifier: MIT
-- Shares the datagrams for one address among several servers: rewrites and forwards them
-- between two devices, and the servers' replies back.  A client stays with its server.
--
--   run(-1, address, mac)             adds a server
--   run(front, back, vip, port, mac, count, ms)   forwards
--     front    a packet socket (AF_PACKET, SOCK_RAW) on the clients' device
--     back     another on the servers' device; they have it as their way to the clients
--     vip      the address that clients know
--     port     the UDP port, there and of the servers
--     mac      of the device "back"
--     count    datagrams to forward in this call, both ways
--     ms       how long to wait for the next ones; -1: for ever
--     Returns how many were forwarded.
--
-- IPv4 addresses are numbers: 10.0.0.1 is 0x0a000001; Ethernet addresses, too.

local POLLIN = const.POLLIN
local band, rshift, char = bit.band, bit.rshift, string.char

local CLIENTS = 4096                -- clients whose Ethernet addresses are known at a time
local servers, macs, known = {}, {}, 0
local pollfd = util.struct [[ int fd; short events; short revents; ]]
local waiting = pollfd(util.buffer(2 * pollfd.size), 2)

local function bytes4(n)
  return char(band(rshift(n, 24), 255), band(rshift(n, 16), 255), band(rshift(n, 8), 255),
    band(n, 255))
end

local function bytes6(n)
  local high = math.floor(n / 2 ^ 32)
  return char(rshift(high, 8), band(high, 255)) .. bytes4(n % 2 ^ 32)
end

local function add(address, mac)
  servers[#servers + 1] = { address = bytes4(address), mac = bytes6(mac) }
  return 0
end

local function to_server(f, port, mac)
  local source, destination = f:ports()
  if destination ~= port or f:u2(12) ~= 0x0800 then return false end
  local client = f:str(26, 4)
  local server = servers[(f:u4(26) + source) % #servers + 1]
  if not macs[client] then
    if known == CLIENTS then macs, known = {}, 0 end
    known = known + 1
  end
  macs[client] = f:str(0, 12)
  f:set_destination(server.address, port)
  f:put(0, server.mac .. mac)
  return true
end

local function to_client(f, port, vip)
  local source = f:ports()
  local addresses = f:u2(12) == 0x0800 and macs[f:str(30, 4)]
  if source ~= port or not addresses then return false end
  f:set_source(vip, port)
  f:put(0, addresses:sub(7, 12) .. addresses:sub(1, 6))
  return true
end

local function forward(from, to, rewrite, ...)
  local done, n = 0, from:receive(64, 0)
  if n < 0 then return n end
  for i = 1, n do
    local f = from[i]
    if f:udp() and rewrite(f, ...) and f:send(to) then done = done + 1 end
  end
  if done > 0 then to:flush() end
  return done
end

function run(front, back, vip, port, mac, count, ms)
  if front < 0 then return add(back, vip) end
  local outside, inside = net.frames(front), net.frames(back)
  local address, own, done = bytes4(vip), bytes6(mac), 0
  waiting[1].fd, waiting[1].events = front, POLLIN
  waiting[2].fd, waiting[2].events = back, POLLIN
  while done < count and not util.pending() do
    if syscall.poll(waiting[0], 2, ms) <= 0 then break end
    local there = forward(outside, inside, to_server, port, own)
    local back_again = forward(inside, outside, to_client, port, address)
    if there < 0 or back_again < 0 then return math.min(there, back_again) end
    done = done + there + back_again
  end
  return done
end
