-- SPDX-License-Identifier: MIT
-- A whole datagram server in the kernel: answers every message with itself.
--
--   sfd     a socket that blocks
--   msgs    struct mmsghdr[n], as for recvmmsg(2), read at the first call
--   n       messages of a batch, at most 64
--   rounds  batches of a call
--
-- Returns how many were answered, or a negative errno; -EINTR, with what was
-- answered so far as the second result, lets the application's signal handlers
-- run: call it again.

local MSG_WAITFORONE = const.MSG_WAITFORONE
local iovec = util.struct [[ char *base; size_t len; ]]
local mmsghdr = util.struct [[
  struct { void *name; int namelen; void *iov; size_t iovlen;
           void *control; size_t controllen; int flags; } hdr;
  unsigned int len;
]]

local messages, views, room = nil, nil, {}

local function import(msgs, n)
  messages, views = net.messages(msgs, n), mmsghdr(msgs, n)
  for i = 1, n do
    room[i] = iovec(views[i].hdr.iov).len
  end
end

-- What is sent is as long as what came.
local function lengths(got, full)
  for i = 1, got do
    iovec(views[i].hdr.iov).len = full and room[i] or views[i].len
  end
end

function run(sfd, msgs, n, rounds)
  local answered = 0
  if not messages then
    import(msgs, n)
  end
  for _ = 1, rounds do
    local got = net.recv(sfd, messages, n, MSG_WAITFORONE)
    if got < 0 then
      return got, answered
    end
    lengths(got, false)
    local sent = net.send(sfd, msgs, got, 0, messages)
    lengths(got, true)
    if sent < 0 then
      return sent, answered
    end
    answered = answered + sent
  end
  return answered, answered
end
