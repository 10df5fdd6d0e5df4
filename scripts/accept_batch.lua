-- SPDX-License-Identifier: MIT
-- Accepts the connections that are waiting, at most max.
--
--   lfd      a listening socket
--   fds      int[max]: the new connections, then -1
--   max      how many at most
--   flags    of accept4(2): SOCK_NONBLOCK, SOCK_CLOEXEC
--   wait_ms  how long to wait for the first: 0 not at all, -1 for ever
--
-- Returns how many, 0 if there was none, or the negative errno that the first
-- one met.

local EAGAIN, POLLIN = -errno.EAGAIN, const.POLLIN
local poll, accept, fill = syscall.poll, net.accept, util.fill

local pollfd = util.struct [[ int fd; short events; short revents; ]]
local listening = pollfd(util.buffer(pollfd.size))

local function waiting(lfd, wait_ms)
  listening.fd, listening.events = lfd, POLLIN
  return poll(listening[0], 1, wait_ms)
end

function run(lfd, fds, max, flags, wait_ms)
  -- Before accepting: checks that the array is writable.
  fill(fds, 255, 4 * max)
  local n = accept(lfd, fds, max, flags)
  if n == EAGAIN and wait_ms ~= 0 then
    local ready = waiting(lfd, wait_ms)
    if ready <= 0 then return ready end
    n = accept(lfd, fds, max, flags)
  end
  return n == EAGAIN and 0 or n
end
