-- SPDX-License-Identifier: MIT
-- Receives the messages that are waiting, at most n: recvmmsg(2) with a time to
-- wait that it keeps to.
--
--   sock     a socket; whether it blocks makes no difference
--   msgs     struct mmsghdr[n], as for recvmmsg(2)
--   n        how many at most
--   flags    of recvmmsg(2)
--   wait_ms  how long to wait for the first: 0 not at all, -1 for ever
--
-- Returns how many, or the negative errno that the first one met: -EAGAIN if
-- there was none.

local EAGAIN = -errno.EAGAIN
local MSG_DONTWAIT, POLLIN = const.MSG_DONTWAIT, const.POLLIN
local recvmmsg, poll, bor = syscall.recvmmsg, syscall.poll, bit.bor

local pollfd = util.struct [[ int fd; short events; short revents; ]]
local waiting = pollfd(util.buffer(pollfd.size))

local function readable(sock, wait_ms)
  waiting.fd, waiting.events = sock, POLLIN
  return poll(waiting[0], 1, wait_ms)
end

function run(sock, msgs, n, flags, wait_ms)
  flags = bor(flags, MSG_DONTWAIT)
  local got = recvmmsg(sock, msgs, n, flags, 0)
  if got == EAGAIN and wait_ms ~= 0 then
    local ready = readable(sock, wait_ms)
    if ready < 0 then return ready end
    -- Only once: a readable socket may still have nothing to receive.
    if ready > 0 then
      got = recvmmsg(sock, msgs, n, flags, 0)
    end
  end
  return got
end
