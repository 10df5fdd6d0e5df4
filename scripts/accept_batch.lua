-- SPDX-License-Identifier: MIT
-- Accepts the connections that are waiting, at most max.
--
--   lfd      a listening socket; one that does not block costs less
--   fds      int[max]: the new connections, then -1
--   max      how many at most
--   flags    of accept4(2): SOCK_NONBLOCK, SOCK_CLOEXEC
--   wait_ms  how long to wait for the first: 0 not at all, -1 for ever
--
-- Returns how many, 0 if there was none, or the negative errno that the first
-- one met.

local EAGAIN = -errno.EAGAIN
local EINTR, ECONNABORTED = -errno.EINTR, -errno.ECONNABORTED
local POLLIN, F_GETFL, O_NONBLOCK = const.POLLIN, const.F_GETFL, const.O_NONBLOCK
local accept4, fcntl, poll = syscall.accept4, syscall.fcntl, syscall.poll
local fill, poke, band, pending = util.fill, util.poke, bit.band, util.pending

local pollfd = util.struct [[ int fd; short events; short revents; ]]
local listening = pollfd(util.buffer(pollfd.size))

local function waiting(lfd, wait_ms)
  listening.fd, listening.events = lfd, POLLIN
  return poll(listening[0], 1, wait_ms)
end

-- accept4() that does not block: -EAGAIN where there is none.
local function accept(lfd, flags, blocks)
  local ready = blocks and waiting(lfd, 0) or 1
  if ready <= 0 then
    return ready < 0 and ready or EAGAIN
  end
  return accept4(lfd, 0, 0, flags)
end

function run(lfd, fds, max, flags, wait_ms)
  local n, status = 0, fcntl(lfd, F_GETFL)
  local blocks = band(status, O_NONBLOCK) == 0
  -- Before a single connection is accepted: the room is there.
  if max > 0 then
    fill(fds, 255, 4 * max)
  end
  if status < 0 then return status end
  -- A signal waits: what has been accepted is not to be lost.
  while n < max and not (n > 0 and pending()) do
    local fd = accept(lfd, flags, blocks)
    if fd >= 0 then
      poke(fds + 4 * n, "i4", fd)
      n = n + 1
    elseif fd == EAGAIN and n == 0 and wait_ms ~= 0 then
      local ready = waiting(lfd, wait_ms)
      if ready <= 0 then return ready end
      wait_ms = 0
    elseif fd ~= ECONNABORTED and fd ~= EINTR then
      if n == 0 and fd ~= EAGAIN then return fd end
      break
    end
  end
  return n
end
