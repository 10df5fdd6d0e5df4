-- SPDX-License-Identifier: MIT
-- Sends the last batch of replies and receives the next batch of requests, as frames: a
-- datagram server's whole round, with one mode switch, for a process that parses and
-- answers by itself.
--
--   fd     a packet socket (AF_PACKET, SOCK_RAW), bound to the device; what it receives
--          is for the server, if its filter says so
--   max    how many to receive, at most 64
--   in_    for requests: max slots
--   up     another one, bound to the device and to no protocol: replies are made in its
--          buffer, where no requests wait
--   n      how many to send, at most 64
--   out    replies: n slots
--   hold   us in which to collect a batch, if there is a first one
--
-- A slot has 2048 bytes: offset and length of the payload, as numbers of 4 bytes, then
-- the frame. A reply is the frame of its request up to the payload, and another payload.
--
-- Returns how many were received, or a negative errno; and how many were sent: others
-- are lost, as on a wire.

local SLOT = 2048
local FRAME = 8                 -- its offset in a slot
local peek, poke = util.peek, util.poke

local function send(up, out, n)
  local port = net.frames(up)
  for slot = out, out + (n - 1) * SLOT, SLOT do
    local at, len = peek(slot, "u4"), peek(slot + 4, "u4")
    local f = port:build(slot + FRAME, at + len)
    if not f then break end
    if f:headers() then f:reply(len) end
  end
  return port:flush()
end

local function receive(fd, in_, max, hold)
  local port = net.frames(fd)
  local n, slot = port:receive(max, 0, max, hold), in_
  if n < 0 then return n end
  for i = 1, n do
    local f = port[i]
    local at, len = f:udp()
    if at and at + len <= SLOT - FRAME then
      f:copyout(0, at + len, slot + FRAME)
      poke(slot, "u4", at)
      poke(slot + 4, "u4", len)
      slot = slot + SLOT
    end
  end
  return (slot - in_) / SLOT
end

function run(fd, max, in_, up, n, out, hold)
  local sent = n > 0 and send(up, out, n) or 0
  return max > 0 and receive(fd, in_, max, hold) or 0, sent
end
