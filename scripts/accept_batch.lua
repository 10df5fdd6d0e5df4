-- SPDX-License-Identifier: MIT
-- Accepts the connections that are waiting, at most max.
--
--   lfd      a listening socket; if it blocks, so do calls here
--   fds      int[max]: the new connections, then -1
--   max      how many at most
--   flags    of accept4(2): SOCK_NONBLOCK, SOCK_CLOEXEC
--   wait_ms  how long to wait for the first: 0 not at all, -1 for ever
--
-- Returns how many, 0 if there was none, or the negative errno that the first
-- one met.

local EAGAIN, EBADF = -errno.EAGAIN, -errno.EBADF
local EINTR, ECONNABORTED = -errno.EINTR, -errno.ECONNABORTED
local POLLIN = const.POLLIN
local accept4, poll, poke = syscall.accept4, syscall.poll, util.poke

local pollfd = util.struct [[ int fd; short events; short revents; ]]
local listening = pollfd(util.buffer(pollfd.size))

local function waiting(lfd, wait_ms)
  listening.fd, listening.events = lfd, POLLIN
  return poll(listening[0], 1, wait_ms)
end

function run(lfd, fds, max, flags, wait_ms)
  local n, timeout = 0, wait_ms
  if lfd < 0 then return EBADF end  -- poll() takes it for none at all.
  -- Before a single accept() is called: the room is there.
  if max > 0 then
    util.fill(fds, 255, 4 * max)
  end
  while n < max do
    -- Asked each time: the socket may be one that blocks.
    local ready = waiting(lfd, timeout)
    timeout = 0
    if ready <= 0 then
      if n == 0 and ready < 0 then return ready end
      break
    end
    local fd = accept4(lfd, 0, 0, flags)
    if fd >= 0 then
      poke(fds + 4 * n, "i4", fd)
      n = n + 1
    elseif fd ~= ECONNABORTED and fd ~= EINTR then
      if n == 0 and fd ~= EAGAIN then return fd end
      break
    end
  end
  return n
end
