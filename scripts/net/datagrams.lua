-- SPDX-License-Identifier: MIT
-- Sends the replies to the last batch of datagrams and receives the next batch, with one mode
-- switch, as frames taken from the device; for a server that parses and answers them itself, with
-- at most one reply to each. The script keeps the queries' frames until the next call, which turns
-- them into the replies.
--
--   fd   a packet socket (AF_PACKET, SOCK_RAW), bound to the device with protocol 0; its
--        filter accepts the server's frames. Frames that the stack would filter are left
--        to it, and thus to the server's other sockets
--   max  how many to receive, at most 64; 0: none
--   in_  for the queries: max slots
--   n    how many replies to send, at most 64
--   out  the replies: n slots
--
-- A slot has 2048 bytes: the query's number, in 4 bytes; the length of the payload,
-- likewise; then the payload, in a query preceded by its headers, from Ethernet's on.
--
-- Returns the number of queries received, or a negative errno. Replies that the device does
-- not take are lost, as on a wire.

local SLOT = 2048

function run(fd, max, in_, n, out)
  local port, received = net.frames(fd, false, "unfiltered"), 0
  if n > 0 then port:reply(out, SLOT, n) end
  if max > 0 then
    received = port:receive(max, 0)
    if received > 0 then received = port:copyout(in_, SLOT, true) end
    port:keep()
  else
    port:flush()
  end
  return received
end
