-- SPDX-License-Identifier: MIT
-- Sends the last batch of replies and receives the next batch of requests, as frames: a
-- datagram server's whole round, with one mode switch, for a process that parses and
-- answers requests itself. The script keeps the requests' frames until the next call, which
-- turns them into the replies.
--
--   fd      a packet socket (AF_PACKET, SOCK_RAW), bound to the device; its filter accepts
--           the server's frames
--   max     how many to receive, at most 64; 0: the current requests stay for one more call
--   in_     for requests: max slots
--   n       how many to send, at most 64
--   out     replies: n slots
--   copies  how many of the replies are marked: another reply to the same request follows
--   up      another socket, bound to the device and to no protocol: copies are made in its
--           buffer, where no requests wait
--   hold    us in which to collect a batch, after its first request
--
-- A slot has 2048 bytes: the request's number, in 4 bytes, plus 2^31 if marked; the length
-- of the payload, likewise; then the payload.
--
-- Returns the number of requests received, or a negative errno; and the number of replies
-- sent: others are lost, as on a wire.

local SLOT = 2048
local PAYLOAD = 8               -- its offset in a slot
local COPY = 2^31
local peek = util.peek

-- A new frame: the request's headers, another payload.
local function copy(request, up, slot)
  local at, len = request:udp(), peek(slot + 4, "u4")
  local f = up:build(request:str(0, at))
  if not f then return end
  f:put(at, util.str_in(slot + PAYLOAD, len))
  f:headers()
  f:reply(len)
end

local function flush(port)
  return math.max(port:flush(), 0)
end

-- In order, including the copies.
local function send_mixed(port, up, n, out)
  local sent, last = 0, port
  for slot = out, out + (n - 1) * SLOT, SLOT do
    local place = peek(slot, "u4")
    local by = place > COPY and up or port
    if by ~= last then sent, last = sent + flush(last), by end
    if by == up then
      copy(port[place - COPY], up, slot)
    else
      port:reply(slot, SLOT, 1)
    end
  end
  return sent + flush(last)
end

local function send(port, n, out)
  port:reply(out, SLOT, n)
  return flush(port)
end

function run(fd, max, in_, n, out, copies, up, hold)
  local port, sent, received = net.frames(fd), 0, 0
  if copies > 0 then
    sent = send_mixed(port, net.frames(up), n, out)
  elseif n > 0 then
    sent = send(port, n, out)
  end
  if max > 0 then
    received = port:receive(max, 0, max, hold)
    if received > 0 then received = port:copyout(in_, SLOT) end
  end
  port:keep()
  return received, sent
end
