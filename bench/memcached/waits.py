# SPDX-License-Identifier: GPL-2.0 OR MIT
"""How long requests wait in the server's socket.

The paper explains its gain by the time that requests spend in the socket's buffer. Two of the
kernel's events bound that time, in whichever way the server receives: netif_receive_skb, when the
stack takes a datagram from the device, and consume_skb, when the worker has copied it. Tracing
takes instructions, too, so a wait is compared with the response time of the same run only.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

TRACEFS = Path("/sys/kernel/tracing")
TAKEN, COPIED = "net/netif_receive_skb", "skb/consume_skb"
EVENT = re.compile(r" (\d+\.\d+): (netif_receive_skb|consume_skb): .*\bskbaddr=(\w+)")


@contextlib.contextmanager
def traced(thread: int) -> Iterator[Path]:
    """A file with the events of datagrams, and of their copies by the thread @thread."""
    if not (TRACEFS / "instances").exists():
        subprocess.run(["mount", "-t", "tracefs", "tracefs", TRACEFS], check=True)
    instance = TRACEFS / "instances" / "waits"
    instance.mkdir()
    try:
        # By default some events print addresses, and others hashes of them.
        (instance / "trace_options").write_text("nohash-ptr")
        (instance / "events" / COPIED / "filter").write_text(f"common_pid == {thread}")
        for event in (TAKEN, COPIED):
            (instance / "events" / event / "enable").write_text("1")
        yield instance / "trace"
    finally:
        (instance / "events" / "enable").write_text("0")
        instance.rmdir()


def waits(trace: str) -> list[float]:
    """us between the two events of each datagram that the thread has copied."""
    taken: dict[int, float] = {}
    found = []
    for time, event, address in EVENT.findall(trace):
        us, skb = 1e6 * float(time), int(address, 16)
        if event == "netif_receive_skb":
            taken[skb] = us
        elif skb in taken:
            found.append(us - taken.pop(skb))
    return found
