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
-- Returns how many, 0 if there was none, or the negative errno that the first
-- one met.

local EAGAIN = -errno.EAGAIN
local epoll_wait, accept = syscall.epoll_wait, net.accept
local fill, poke, min, ceil = util.fill, util.poke, math.min, math.ceil
local pending = util.pending

local MOST = 64   -- listening sockets in a call
-- Packed: no member of 8 bytes.
local epoll_event = util.struct [[ uint32_t events; int fd; int high; ]]
local ready = epoll_event(util.buffer(MOST * epoll_event.size), MOST)
local events, first = ready[1][0], ready[1]

-- Sockets that may have more connections.
local listeners = {}

local function note_from(from, lfd, n)
  for i = 0, n - 1 do poke(from + 4 * i, "i4", lfd) end
end

-- Accepts a share from each, so that none starves the others.
local function accept_all(left, fds, from, max, flags)
  local n, err, i = 0, 0, 1
  for k = 1, left do listeners[k] = ready[k].fd end
  -- A signal is pending: accepted connections must not be lost.
  while left > 0 and n < max and not (n > 0 and pending()) do
    local lfd, share = listeners[i], ceil((max - n) / (left - i + 1))
    local got = accept(lfd, fds + 4 * n, share, flags)
    if got > 0 then
      if from ~= 0 then note_from(from + 4 * n, lfd, got) end
      n = n + got
    elseif err == 0 and got ~= EAGAIN then
      err = got
    end
    if got < share then
      listeners[i] = listeners[left]
      left = left - 1
    else
      i = i + 1
    end
    if i > left then i = 1 end
  end
  return n > 0 and n or err
end

function run(epfd, fds, from, max, flags, wait_ms)
  -- Before accepting: checks that the array is writable.
  fill(fds, 255, 4 * max)
  if from ~= 0 then fill(from, 255, 4 * max) end
  local n = epoll_wait(epfd, events, min(max, MOST), wait_ms)
  if n ~= 1 or from ~= 0 then
    return n <= 0 and n or accept_all(n, fds, from, max, flags)
  end
  n = accept(first.fd, fds, max, flags)
  return n == EAGAIN and 0 or n
end
