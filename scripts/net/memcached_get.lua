-- SPDX-License-Identifier: MIT
-- A cache in front of memcached over UDP: plain GETs of cached keys are answered in the
-- device's frames; everything else goes up to the process's ordinary socket.
--
--   run(fd, port, count, ms, up [, take])     serve
--     fd     a packet socket, bound to the device that clients are on
--     port   memcached's UDP port
--     count  GETs to answer in this call
--     ms     how long to wait for the next frames; -1: for ever
--     up     a packet socket, bound to a device that leads to a stack with the same
--            addresses (a veth); -1: frames that are not answered here are dropped
--     take   1: frames that the socket's filter accepts are taken from the device's own
--            stack, as with net.frames(fd, false, true); the stack gets the rest
--     Returns the number of GETs answered.
--
--   run(-1, key, key_len, value, value_len, flags)      put a value into the cache
--   run(-1, key, key_len)                               forget it

local BATCH, HOLD = 16, 200     -- frames per batch; us in which to collect them
local NUMBER = 2                -- bytes of a request's number, which its reply repeats
local HEADER = 8                -- bytes of memcached's header in a datagram, with the number
local GET = "\0\0\0\1\0\0get "  -- the rest of the header: datagram 0 of 1; and the command
local END = "\r\n"
local LONGEST = NUMBER + #GET + 250 + #END      -- a request with the longest key
local POLLIN = const.POLLIN

local replies = {}              -- by a request's bytes after its number
local pollfd = util.struct [[ int fd; short events; short revents; ]]
local waiting

local function set(key, key_len, value, value_len, flags)
  local name = util.str_in(key, key_len)
  local request = GET .. name .. END
  if not value then
    replies[request] = nil
    return 0
  end
  local head = ("VALUE %s %d %d\r\n"):format(name, flags or 0, value_len)
  replies[request] = head .. util.str_in(value, value_len) .. "\r\nEND\r\n"
  return 0
end

local function serve(frames, n, port, up)
  local answered = 0
  for i = 1, n do
    local f = frames[i]
    local at, len = f:udp()
    local reply
    if at and len > HEADER and len <= LONGEST then
      local _, to = f:ports()
      reply = to == port and replies[f:str(at + NUMBER, len - NUMBER)]
    end
    if reply then
      f:put(at + HEADER, reply)
      f:reply(HEADER + #reply)
      answered = answered + 1
    elseif up then
      f:send(up)
    end
  end
  return answered
end

local function wait(fd, up, ms)
  waiting = waiting or pollfd(util.buffer(2 * pollfd.size), 2)
  waiting[1].fd, waiting[1].events = fd, POLLIN
  waiting[2].fd, waiting[2].events = up, POLLIN
  return syscall.poll(waiting[0], 2, ms)
end

function run(fd, port, count, ms, up, take)
  if fd < 0 then return set(port, count, ms, up, take) end
  local frames, above = net.frames(fd, false, take == 1), up >= 0 and net.frames(up, true)
  local answered = 0
  repeat
    if above and wait(fd, up, ms) <= 0 then break end
    local n = frames:receive(BATCH, above and 0 or ms, BATCH, HOLD)
    if n < 0 and answered == 0 then return n end
    if n > 0 then answered = answered + serve(frames, n, port, above) end
    if above then
      above:flush()
      for i = 1, above:receive(64, 0) do above[i]:send(frames) end
    end
    frames:flush()
  until answered >= count or util.pending() or n < 0 or (n == 0 and not above)
  return answered
end
