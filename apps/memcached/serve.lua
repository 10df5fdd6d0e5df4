-- SPDX-License-Identifier: MIT
-- A worker's whole round: sends replies, waits for datagrams and the other events of its loop, and
-- receives datagrams.
--
--   sfd      the UDP socket, which is in the epoll instance, too
--   in_      struct mmsghdr[max], read at the first call with this address only
--   max      how many to receive, or 0
--   out      struct mmsghdr[n]
--   n        how many to send
--   epfd     the event loop's epoll instance, or -1: no waiting
--   events   struct epoll_event[most]
--   blocked  1: wait before sending
--
-- Returns how many were received, how many sent, or the negative errno of the first one,
-- and how many events there are.  Nothing is waited for while there is something to send.

local EAGAIN, EINTR = -errno.EAGAIN, -errno.EINTR
local MSG_DONTWAIT = const.MSG_DONTWAIT
local send, recv, epoll_wait = net.send, net.recv, syscall.epoll_wait

local MOST = 32    -- events
local TURNS = 4    -- batches received before the loop's other events are checked

local inbox, inbox_addr, inbox_max
local last, turns = 0, 0

local function wait(epfd, events)
  local n = epoll_wait(epfd, events, MOST, -1)
  return n > 0 and n or 0
end

function run(sfd, in_, max, out, n, epfd, events, blocked)
  local sent, ready = 0, 0
  -- First: if this is an error, nothing has been sent.
  if max > 0 and (in_ ~= inbox_addr or max ~= inbox_max) then
    inbox, inbox_addr, inbox_max = net.messages(in_, max), in_, max
  end
  if blocked ~= 0 then
    ready = wait(epfd, events)
  end
  if n > 0 then
    sent = send(sfd, out, n, MSG_DONTWAIT)
    if sent < n then return 0, sent, ready end
  end
  if max == 0 or blocked ~= 0 then
    return 0, sent, ready
  end
  -- After a full batch, more datagrams are likely.
  if epfd >= 0 and (last < max or turns == 0) then
    ready, turns = wait(epfd, events), TURNS
  end
  last = recv(sfd, inbox, max, MSG_DONTWAIT)
  if turns > 0 then turns = turns - 1 end
  if last == EAGAIN or last == EINTR then
    last = 0
  end
  return last, sent, ready
end
