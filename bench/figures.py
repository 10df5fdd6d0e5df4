#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Put what was measured into the tables of docs/figures.md, and draw the README's picture.

A table is written whole, from one run of the command that it names, or not at all.  The
picture is drawn from the tables, so that it cannot differ from them.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

Json = dict[str, Any]

SCRIPTS = {
    "combined": "`exchange.lua`: replies, wait and requests in one call",
    "library_exchange": "`syscript_exchange()`, the same in C",
    "figure1": "`recv_batch.lua`, `send_batch.lua`: Figure 1 of the paper",
    "compound": "a compound: requests, wait and replies in C",
}
PLAIN = {
    "epoll_mmsg": "epoll_wait, recvmmsg, sendmmsg",
    "epoll_recvfrom_sendmsg": "epoll_wait, recvfrom, sendmsg",
    "mmsg": "recvmmsg, sendmmsg",
    "recvfrom_sendmsg": "recvfrom, sendmsg",
}
CALLS = {
    "getppid": "getppid",
    "lseek": "lseek",
    "epoll_wait_0": "epoll_wait, nothing ready",
    "recvfrom_eagain": "recvfrom, nothing there",
    "read1_zero": "read a byte of /dev/zero",
    "fstat": "fstat",
    "pread4096": "pread 4 KiB of a tmpfs",
    "newfstatat": "newfstatat",
    "open_close": "open, close",
    "udp": "sendto, recvfrom: 128 bytes over UDP",
    "tcp": "the same over TCP",
}


class FiguresError(Exception):
    """A table that cannot be written."""


def requests(result: Json) -> list[str]:
    """Of bench/model.py."""
    if not result["holds"]:
        raise FiguresError("the model does not hold on this machine: try when it is not busy")
    lines = [
        f"| a UDP request by | over | instructions | {result['label']} time |",
        "|---|---|---|---|",
    ]
    for one in result["ratios"]:
        low, high = one["interval"]
        time = f"{low:.2f}" if low == high else f"{low:.2f} to {high:.2f}"
        script, rival = SCRIPTS[one["script"]], PLAIN[one["over"]]
        lines.append(f"| {script} | {rival} | {one['icount']:.2f} | {time} |")
    worst = max(abs(error) for name, error in result["errors"].items() if name != "io_uring")
    lines += [
        "",
        f"`make figures`: instructions on Linux {result['instructions_of']}; times on"
        f" {result['machine']}, Linux {result['kernel']}"
        + (", busy" if result["busy"] else "")
        + f"; plain loops that the model was not fitted to: within {worst:.0%},"
        f" io_uring {result['errors']['io_uring']:+.0%}.",
    ]
    return lines


def calls(result: Json) -> list[str]:
    """Of bench/inner.py, in instructions."""
    if result["clock"] == "time":
        raise FiguresError("calls are compared in instructions: make bench-inner-icount")
    lines = [
        "| a system call | by the process | by a script, LuaJIT | by a compound, confined engine |",
        "|---|---|---|---|",
    ]
    for name, text in CALLS.items():
        found = result["calls"][name]
        ratios = [found[f"ratio_{way}"]["median"] for way in ("jit", "compound")]
        plain = f"{found['outside']['median']:,.0f}"
        lines.append(f"| {text} | {plain} | {ratios[0]:.2f} | {ratios[1]:.2f} |")
    mean = result["geometric_mean"]["median"]
    empty = result["empty_call"]["median"]
    lines += [
        "",
        f"Instructions of the process, and what they are multiplied by; compiled, Linux"
        f" {result['kernel']}. Geometric mean of {len(result['calls'])} kinds of calls: {mean:.2f}."
        f" To enter a script takes {empty:,.0f}, once (`make bench-inner-icount`).",
    ]
    return lines


TABLES = {"requests": requests, "calls": calls}


def put(text: str, name: str, lines: list[str]) -> str:
    """The text with another table."""
    begin, end = f"<!-- {name}: make figures -->", f"<!-- end of {name} -->"
    before, found, rest = text.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found or not found_end:
        raise FiguresError(f"the page has no place for a table: {begin} and {end}")
    return "\n".join([before + begin, *lines, end + after])


# The picture, in pixels: a bar for a script and one for a compound, for each call.
LABELS, FULL, ROW, TOP = 290, 480, 32, 64
COLOURS = {"a script": "#3b6fb6", "a compound in C": "#d98a2b"}


def ratios(text: str) -> list[tuple[str, float, float]]:
    """The rows of the table of calls: call, script, compound."""
    row = re.compile(r"^\| ([^|]+) \| [\d,]+ \| ([\d.]+) \| ([\d.]+) \|$", re.M)
    return [(match[1], float(match[2]), float(match[3])) for match in row.finditer(text)]


def picture(text: str) -> str:
    """The table of calls as SVG, drawn on the page @text."""
    rows = ratios(text)
    if not rows:
        raise FiguresError("the page has no table of calls to draw")
    width, height = LABELS + FULL + 60, TOP + ROW * len(rows) + 12
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"'
        ' font-family="sans-serif" font-size="13">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        '<text x="10" y="22" font-weight="bold">Instructions of a system call made by'
        " a program in the kernel; made by the process: 1</text>",
    ]
    for i, (name, colour) in enumerate(COLOURS.items()):
        x = LABELS + 150 * i
        lines += [
            f'<rect x="{x}" y="35" width="11" height="11" fill="{colour}"/>',
            f'<text x="{x + 17}" y="45">{name}</text>',
        ]
    for i, (call, *values) in enumerate(rows):
        y = TOP + ROW * i
        lines.append(f'<text x="{LABELS - 10}" y="{y + 17}" text-anchor="end">{call}</text>')
        for k, (value, colour) in enumerate(zip(values, COLOURS.values(), strict=True)):
            top, end = y + 3 + 12 * k, LABELS + FULL * value
            lines += [
                f'<rect x="{LABELS}" y="{top}" width="{FULL * value:.0f}" height="11"'
                f' fill="{colour}"/>',
                f'<text x="{end + 5:.0f}" y="{top + 10}" font-size="11">{value:.2f}</text>',
            ]
    x = LABELS + FULL
    lines.append(f'<path d="M{x} {TOP - 6}V{height - 8}" stroke="#999" stroke-dasharray="3"/>')
    return "\n".join([*lines, "</svg>", ""])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path, required=True, help="where the tables are")
    parser.add_argument("--picture", type=Path, required=True, help="SVG to draw")
    for name in TABLES:
        parser.add_argument(f"--{name}", type=Path, help="JSON to make this table of")
    args = parser.parse_args()
    text = args.page.read_text()
    try:
        for name, table in TABLES.items():
            path = getattr(args, name)
            if path:
                text = put(text, name, table(json.loads(path.read_text())))
        drawn = picture(text)
    except (FiguresError, OSError, ValueError) as error:
        print(f"figures: {error}", file=sys.stderr)
        return 1
    args.page.write_text(text)
    args.picture.write_text(drawn)
    print(f"tables put into {args.page}, drawn in {args.picture}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
