-- SPDX-License-Identifier: MIT
-- Receives the UDP packets that are waiting, at most max_batch, with one mode
-- switch: Figure 1 of the system call scripting paper, for Linux.
--
--   sfd        a socket
--   bufs       char[max_batch][1024]: the packets
--   addrs      char[max_batch][28]: their senders, a struct sockaddr_in or _in6 each
--   addr_lens  socklen_t[max_batch]: the sizes of these
--   lens       int[max_batch]: the lengths of the packets
--
-- Returns how many packets there are, or a negative errno.  A packet of 8 bytes
-- or less is dropped: memcached's UDP header alone, no request.

local BUF_SIZE, ADDR_SIZE, LEN_SIZE = 1024, 28, 4
local HEADER_SIZE = 8

local EINTR, EAGAIN = -errno.EINTR, -errno.EAGAIN
local MSG_DONTWAIT = const.MSG_DONTWAIT
local recvfrom, copyout = syscall.recvfrom, util.copyout

local received, room = {}, {}

function run(sfd, bufs, addrs, addr_lens, lens, max_batch)
  local n = 0

  -- The kernel reads the address buffer's size, and writes the size used.
  for i = #room + 1, max_batch do
    room[i] = ADDR_SIZE
  end
  copyout(room, addr_lens, max_batch)

  while n < max_batch do
    local len = recvfrom(sfd, bufs + n * BUF_SIZE, BUF_SIZE, MSG_DONTWAIT,
                         addrs + n * ADDR_SIZE, addr_lens + n * LEN_SIZE)
    if len > HEADER_SIZE then
      n = n + 1
      received[n] = len
    elseif len == EAGAIN then
      break
    elseif len < 0 and len ~= EINTR then
      -- Messages received before the error are not lost: the next call meets the error again.
      if n > 0 then break end
      return len
    end
  end

  if n > 0 then
    copyout(received, lens, n)
  end
  return n
end
