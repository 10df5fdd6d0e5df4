-- SPDX-License-Identifier: MIT
-- Sends the replies to the last batch of datagrams and receives the next batch, as frames
-- that are taken off the device, with one mode switch, for a server that parses and
-- answers by itself, one reply at most to each. Queries stay here until the next call,
-- where they become the replies to them.
--
--   fd   a packet socket (AF_PACKET, SOCK_RAW), bound to the device with protocol 0; its
--        filter says what is for the server. What the stack would filter is left to it, and
--        so to the server's other sockets
--   max  how many to receive, at most 64; 0: none
--   in_  for them: max slots
--   n    how many replies to send, at most 64
--   out  these: n slots
--
-- A slot has 2048 bytes: which query it is, as a number of 4 bytes; the length of the
-- payload, likewise; then the payload, which in a query comes after its headers, from
-- Ethernet's on.
--
-- Returns how many were received, or a negative errno. What the device does not take of
-- the replies is lost, as on a wire.

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
