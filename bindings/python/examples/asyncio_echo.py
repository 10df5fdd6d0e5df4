#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A UDP echo server on asyncio that receives and answers datagrams in batches.

The event loop waits; a script receives all queued datagrams and sends them back, with one mode
switch per batch. Usage: asyncio_echo.py [PORT]
"""

from __future__ import annotations

import asyncio
import socket
import sys

import syscript

ECHO = """
local mmsghdr, iovec = util.types.mmsghdr, util.types.iovec
local BATCH, SIZE = 16, 2048
local data, names = util.buffer(BATCH * SIZE), util.buffer(BATCH * 28)
local iov, msgs = iovec.new(BATCH), mmsghdr.new(BATCH)

function run(sock)
  for i = 1, BATCH do
    iov[i].iov_base, iov[i].iov_len = data + (i - 1) * SIZE, SIZE
    msgs[i].msg_hdr.msg_iov, msgs[i].msg_hdr.msg_iovlen = iov[i][0], 1
    msgs[i].msg_hdr.msg_name, msgs[i].msg_hdr.msg_namelen = names + (i - 1) * 28, 28
  end
  local n = syscall.recvmmsg(sock, msgs, BATCH, const.MSG_DONTWAIT)
  if n <= 0 then return n end
  for i = 1, n do iov[i].iov_len = msgs[i].msg_len end
  return syscall.sendmmsg(sock, msgs, n)
end
"""


class Echo:
    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.script = syscript.Script(ECHO, name="echo")
        self.datagrams = self.calls = 0

    def readable(self) -> None:
        self.datagrams += max(self.script(self.sock), 0)
        self.calls += 1


async def serve(port: int) -> None:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setblocking(False)
    sock.bind(("127.0.0.1", port))
    print(f"listening on port {sock.getsockname()[1]}", flush=True)
    echo = Echo(sock)
    asyncio.get_running_loop().add_reader(sock, echo.readable)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]) if len(sys.argv) > 1 else 7007))
