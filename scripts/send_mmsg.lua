-- SPDX-License-Identifier: MIT
-- Sends n messages: sendmmsg(2) for less, as net.send() is.
--
--   sock   a socket
--   msgs   struct mmsghdr[n], as for sendmmsg(2)
--   n      how many
--   flags  of sendmmsg(2)
--
-- Returns how many were sent: fewer than n where the socket's buffer is full or
-- a message is refused.  The negative errno of the first one if it is that.

local EINVAL, ENOBUFS = -errno.EINVAL, -errno.ENOBUFS
local send, sendmmsg, min = net.send, syscall.sendmmsg, math.min

local MOST = 64          -- of net.send()
local HEADER_SIZE = 64   -- sizeof(struct mmsghdr)

local function send_some(sock, msgs, n, flags)
  local sent = send(sock, msgs, n, flags)
  -- It does not support some flags, or much control data.
  if sent == EINVAL or sent == ENOBUFS then
    sent = sendmmsg(sock, msgs, n, flags)
  end
  return sent
end

function run(sock, msgs, n, flags)
  local sent = 0
  repeat
    local batch = min(n - sent, MOST)
    local done = send_some(sock, msgs + sent * HEADER_SIZE, batch, flags)
    if done < 0 then
      return sent > 0 and sent or done
    end
    sent = sent + done
  until done < batch or sent == n
  return sent
end
