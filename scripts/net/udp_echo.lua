-- SPDX-License-Identifier: MIT
-- UDP echo, without a network stack: answers each datagram that comes to a port with
-- itself, from the frames of a device.
--
--   fd     a packet socket (AF_PACKET, SOCK_RAW), bound to the device
--   port   UDP port; others are not answered
--   count  datagrams to answer in this call
--   ms     how long to wait for the next ones; -1: for ever
--
-- Returns how many were answered: less than asked for if none came in time, or a
-- signal did.  The stack must not see the port as well, if it has the address: it would
-- answer that it is closed.  docs/design/frames.md has a tc filter for that.

local HOLD = 200        -- us in which to collect a batch
local BATCH = 16

function run(fd, port, count, ms)
  local frames = net.frames(fd)
  local answered = 0
  while answered < count do
    local n = frames:receive(BATCH, ms, BATCH, HOLD)
    if n <= 0 then
      if n < 0 and answered == 0 then return n end
      break
    end
    for i = 1, n do
      local f = frames[i]
      local offset, len = f:udp()
      if offset then
        local _, to = f:ports()
        if to == port then
          f:reply(len)
          answered = answered + 1
        end
      end
    end
    frames:flush()
    if util.pending() then break end
  end
  return answered
end
