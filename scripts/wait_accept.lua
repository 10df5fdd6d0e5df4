-- SPDX-License-Identifier: MIT
-- Waits until listening sockets of an epoll instance have connections, and
-- accepts them.
--
--   epfd     an epoll instance; .data of each listening socket is its descriptor
--   fds      int[max]: the new connections, then -1
--   from     int[max], or 0: the listening socket of each, then -1
--   max      how many at most
--   flags    of accept4(2): SOCK_NONBLOCK, SOCK_CLOEXEC
--   wait_ms  how long to wait for the first: 0 not at all, -1 for ever
--
-- Listening sockets should not block: of one that does, one connection is
-- accepted, the one that epoll_wait(2) tells of.
--
-- Returns how many, 0 if there was none, or the negative errno that the first
-- one met.

local EAGAIN, ECONNABORTED = -errno.EAGAIN, -errno.ECONNABORTED
local F_GETFL, O_NONBLOCK = const.F_GETFL, const.O_NONBLOCK
local epoll_wait, accept4, fcntl = syscall.epoll_wait, syscall.accept4, syscall.fcntl
local fill, poke, band, min = util.fill, util.poke, bit.band, math.min
local pending = util.pending

local MOST = 64   -- listening sockets in a call
-- Packed: no member of 8 bytes.
local epoll_event = util.struct [[ uint32_t events; int fd; int high; ]]
local ready = epoll_event(util.buffer(MOST * epoll_event.size), MOST)

-- Those that may have more.
local listeners, blocks = {}, {}

local function note_ready(n)
  for i = 1, n do
    local fd = ready[i].fd
    listeners[i] = fd
    blocks[i] = band(fcntl(fd, F_GETFL), O_NONBLOCK) == 0
  end
end

-- From each in turn, so that none keeps the others waiting.
local function accept_all(left, fds, from, max, flags)
  local n, err, i = 0, 0, 1
  -- A signal waits: what has been accepted is not to be lost.
  while left > 0 and n < max and not (n > 0 and pending()) do
    local fd = accept4(listeners[i], 0, 0, flags)
    if fd >= 0 then
      poke(fds + 4 * n, "i4", fd)
      if from ~= 0 then poke(from + 4 * n, "i4", listeners[i]) end
      n = n + 1
    elseif err == 0 and fd ~= EAGAIN and fd ~= ECONNABORTED then
      err = fd
    end
    if blocks[i] or (fd < 0 and fd ~= ECONNABORTED) then
      listeners[i], blocks[i] = listeners[left], blocks[left]
      left = left - 1
    else
      i = i + 1
    end
    if i > left then i = 1 end
  end
  return n > 0 and n or err
end

function run(epfd, fds, from, max, flags, wait_ms)
  -- Before a single connection is accepted: the room is there.
  if max > 0 then
    fill(fds, 255, 4 * max)
    if from ~= 0 then fill(from, 255, 4 * max) end
  end
  local n = epoll_wait(epfd, ready[1][0], min(max, MOST), wait_ms)
  if n <= 0 then
    return n
  end
  note_ready(n)
  return accept_all(n, fds, from, max, flags)
end
