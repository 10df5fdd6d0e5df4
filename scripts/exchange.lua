-- SPDX-License-Identifier: MIT
-- Sends the last batch of replies, waits if need be, and receives the next batch
-- of requests, all with one mode switch: a datagram server's whole round.
--
--   sfd       a socket
--   in_       struct mmsghdr[max], as for recvmmsg(2), or 0 with max 0; it is
--             read at the first call with this address only
--   max       how many to receive, at most 64
--   out       struct mmsghdr[n], as for sendmmsg(2)
--   n         how many to send, at most 64
--   wait_ms   how long to wait if there is nothing to receive: 0 not at all,
--             -1 for ever
--
-- Returns how many were received, 0 if there was nothing, or a negative errno;
-- and how many were sent: fewer than n where the socket's buffer is full or a
-- message is refused, the negative errno of the first one if it is that.

local EAGAIN, EINTR = -errno.EAGAIN, -errno.EINTR
local MSG_DONTWAIT, POLLIN = const.MSG_DONTWAIT, const.POLLIN
local send, recv, poll = net.send, net.recv, syscall.poll

local pollfd = util.struct [[ int fd; short events; short revents; ]]
local waiting = pollfd(util.buffer(pollfd.size))

local inbox, inbox_addr, inbox_max

local function readable(sfd, wait_ms)
  waiting.fd, waiting.events = sfd, POLLIN
  return poll(waiting[0], 1, wait_ms)
end

local function receive(sfd, max, wait_ms)
  local n = recv(sfd, inbox, max, MSG_DONTWAIT)
  if n == EAGAIN and wait_ms ~= 0 then
    n = readable(sfd, wait_ms)
    if n > 0 then
      n = recv(sfd, inbox, max, MSG_DONTWAIT)
    end
  end
  if n == EAGAIN or n == EINTR then
    return 0
  end
  return n
end

function run(sfd, in_, max, out, n, wait_ms)
  local sent = 0
  -- First: if this is an error, nothing has been sent.
  if max > 0 and (in_ ~= inbox_addr or max ~= inbox_max) then
    inbox, inbox_addr, inbox_max = net.messages(in_, max), in_, max
  end
  if n > 0 then
    sent = send(sfd, out, n, MSG_DONTWAIT)
  end
  if max == 0 then
    return 0, sent
  end
  return receive(sfd, max, wait_ms), sent
end
