-- SPDX-License-Identifier: MIT
-- A whole datagram server in the kernel: sends every message back.
--
--   sock  a socket of datagrams; whether it blocks makes no difference
--   max   messages to receive in this call
--   ms    its time in milliseconds: 0 receives only waiting messages, -1 has no limit
--
-- Returns the number of answered messages, or the first receive's negative errno. A
-- message that cannot be answered at once is dropped. -EINTR, or less than max, lets
-- the application's signal handlers run: call it again.

local EAGAIN = -errno.EAGAIN
local MSG_DONTWAIT, MSG_NOSIGNAL = const.MSG_DONTWAIT, const.MSG_NOSIGNAL
local CLOCK_MONOTONIC, POLLIN = const.CLOCK_MONOTONIC, const.POLLIN
local recv, send, pending = net.recv, net.send, util.pending
local peek, poke = util.peek, util.poke
local min, ceil, huge = math.min, math.ceil, math.huge
local poll, clock_gettime = syscall.poll, syscall.clock_gettime
local ANSWER = MSG_DONTWAIT + MSG_NOSIGNAL

local BATCH = 8
local NAME_SIZE = 128         -- struct sockaddr_storage
local SIZE = 65536 + 64       -- any UDP message, and not all in the same cache sets

local pollfd = util.struct [[ int fd; short events; short revents; ]]
local timespec = util.struct [[ time_t sec; long nsec; ]]
local iovec = util.struct [[ char *base; size_t len; ]]
local mmsghdr = util.struct [[
  struct { void *name; int namelen; void *iov; size_t iovlen;
           void *control; size_t controllen; int flags; } hdr;
  unsigned int len;
]]

local waiting = pollfd(util.buffer(pollfd.size))
local time = timespec(util.buffer(timespec.size))
local bufs = iovec(util.buffer(BATCH * iovec.size), BATCH)
local msgs = mmsghdr(util.buffer(BATCH * mmsghdr.size), BATCH)

for i = 1, BATCH do
  local hdr = msgs[i].hdr
  bufs[i].base, bufs[i].len = util.buffer(SIZE), SIZE
  hdr.name, hdr.namelen = util.buffer(NAME_SIZE), NAME_SIZE
  hdr.iov, hdr.iovlen = bufs[i][0], 1
end

-- Addresses, because each access to an element of an array takes some hundred instructions on the
-- confined engine.
local MSG, BUF = mmsghdr.size, iovec.size
local FIRST, BUF_LEN = msgs[1][0], bufs[1][0] + 8
local MSG_LEN = FIRST + MSG - 8

-- Records where and how much to receive: from now on the structures are for sending only.
local inbox = net.messages(FIRST, BATCH)

local function now()
  clock_gettime(CLOCK_MONOTONIC, time[0])
  return time.sec * 1000 + time.nsec / 1e6
end

local function readable(sock, ms)
  waiting.fd, waiting.events = sock, POLLIN
  return poll(waiting[0], 1, ms)
end

local function answer(sock, got)
  local answered, i = 0, 0
  for j = 0, got - 1 do
    poke(BUF_LEN + j * BUF, "u8", peek(MSG_LEN + j * MSG, "u4"))
  end
  while i < got do
    local sent = send(sock, FIRST + i * MSG, got - i, ANSWER)
    -- None was sent: the first one is refused, but the others must not suffer.
    if sent <= 0 then
      i = i + 1
    else
      answered, i = answered + sent, i + sent
    end
  end
  return answered
end

-- A batch, or net.recv()'s error if there is none by the deadline.
local function receive(sock, n, deadline)
  local got = recv(sock, inbox, n, MSG_DONTWAIT)
  local ms = got == EAGAIN and deadline - now() or 0
  if ms > 0 then
    local ready = readable(sock, ms == huge and -1 or ceil(ms))
    if ready < 0 then return ready end
    got = recv(sock, inbox, n, MSG_DONTWAIT)
  end
  return got
end

function run(sock, max, ms)
  local answered, left = 0, max
  local deadline = ms > 0 and now() + ms or ms < 0 and huge or 0
  repeat
    local got = receive(sock, min(left, BATCH), deadline)
    if got <= 0 then
      if left == max and got ~= EAGAIN then return got end
      break
    end
    left = left - got
    answered = answered + answer(sock, got)
  until left == 0 or pending() or (ms > 0 and now() >= deadline)
  return answered
end
