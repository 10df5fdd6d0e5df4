-- SPDX-License-Identifier: MIT
-- Waits until descriptors of an epoll instance are readable, and receives from
-- each of them once.
--
--   epfd     an epoll instance; .data of each descriptor is the descriptor
--   events   struct epoll_event[max]: what was ready, as from epoll_wait(2)
--   max      how many at most
--   bufs     char[max][size]: what was received from each
--   size     the room for each
--   lens     int[max]: how much that was, 0 at its end, or a negative errno:
--            -EAGAIN where there was nothing to receive
--   wait_ms  how long to wait: 0 not at all, -1 for ever
--
-- Returns how many there are, or a negative errno.

local MSG_DONTWAIT = const.MSG_DONTWAIT
local READABLE = bit.bor(const.EPOLLIN, const.EPOLLHUP, const.EPOLLERR)
local EAGAIN = -errno.EAGAIN
local epoll_wait, recvfrom, poke = syscall.epoll_wait, syscall.recvfrom, util.poke

-- Packed: no member of 8 bytes.
local epoll_event = util.struct [[ uint32_t events; int fd; int high; ]]

function run(epfd, events, max, bufs, size, lens, wait_ms)
  local n = epoll_wait(epfd, events, max, wait_ms)
  if n <= 0 then
    return n
  end
  local ready = epoll_event(events, n)
  for i = 1, n do
    local len = EAGAIN
    if bit.band(ready[i].events, READABLE) ~= 0 then
      len = recvfrom(ready[i].fd, bufs + (i - 1) * size, size, MSG_DONTWAIT, 0, 0)
    end
    poke(lens + (i - 1) * 4, "i4", len)
  end
  return n
end
