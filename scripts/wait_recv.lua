-- SPDX-License-Identifier: MIT
-- Waits until descriptors of an epoll instance are readable, and receives from
-- each of them once.
--
--   epfd     an epoll instance; .data of each descriptor is the descriptor
--   events   struct epoll_event[max]: ready descriptors, as from epoll_wait(2)
--   max      how many at most; 256 at most
--   bufs     char[max][size]: data received from each
--   size     the size of each buffer
--   lens     int[max]: the lengths of the data, 0 at the end of a stream, or a negative
--            errno: -EAGAIN if there was nothing to receive
--   wait_ms  how long to wait: 0 not at all, -1 for ever
--
-- Returns the number of ready descriptors, or a negative errno.

local MSG_DONTWAIT = const.MSG_DONTWAIT
local READABLE = bit.bor(const.EPOLLIN, const.EPOLLHUP, const.EPOLLERR)
local EAGAIN = -errno.EAGAIN
local epoll_wait, recvfrom = syscall.epoll_wait, syscall.recvfrom
local fill, copyin, copyout = util.fill, util.copyin, util.copyout
local band, min = bit.band, math.min

local MOST = 256    -- lengths that are kept
local EVENT = 3     -- ints in a struct epoll_event: events, data.fd and the rest of data
local ready, received = {}, {}

function run(epfd, events, max, bufs, size, lens, wait_ms)
  local n = epoll_wait(epfd, events, min(max, MOST), wait_ms)
  if n <= 0 then
    return n
  end
  -- Before receiving: checks that the results can be stored.
  fill(lens, 0, 4 * n)
  copyin(events, EVENT * n, "i4", ready)
  for i = 1, n do
    local len, at = EAGAIN, EVENT * (i - 1)
    if band(ready[at + 1], READABLE) ~= 0 then
      len = recvfrom(ready[at + 2], bufs + (i - 1) * size, size, MSG_DONTWAIT, 0, 0)
    end
    received[i] = len
  end
  copyout(received, lens, n)
  return n
end
