-- SPDX-License-Identifier: MIT
-- Sends n UDP packets with one mode switch: the other half of recv_batch.lua,
-- with the same arrays.
--
--   sfd        a socket
--   bufs       char[n][1024]: the packets
--   addrs      char[n][28]: their destinations
--   addr_lens  socklen_t[n]: the sizes of these
--   lens       int[n]: the lengths of the packets
--
-- Returns the number of packets sent: fewer than n if the socket's buffer is full
-- or a packet is refused; a negative errno if the first one is.

local BUF_SIZE, ADDR_SIZE = 1024, 28

local EINTR = -errno.EINTR
local MSG_DONTWAIT = const.MSG_DONTWAIT
local sendto, copyin = syscall.sendto, util.copyin

local len, addr_len = {}, {}

function run(sfd, bufs, addrs, addr_lens, lens, n)
  copyin(lens, n, "i4", len)
  copyin(addr_lens, n, "u4", addr_len)
  local i = 0

  while i < n do
    local sent = sendto(sfd, bufs + i * BUF_SIZE, len[i + 1], MSG_DONTWAIT,
                        addrs + i * ADDR_SIZE, addr_len[i + 1])
    if sent >= 0 then
      i = i + 1
    elseif sent ~= EINTR then
      if i == 0 then
        return sent
      end
      break
    end
  end
  return i
end
