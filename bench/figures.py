#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Write the tables of docs/figures.md, and draw the README's picture.

A figure typed into a page goes stale, and two pages soon give two values of it. So pages link to
one page of tables, generated from docs/figures.json: for each subject the tables, the command, the
kernel and the commit of one run. A bench's results replace a subject's whole entry; the page and
the picture are always generated from the file. safety/bench/figures.py does the same for the
safety kit.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import results

sys.path.insert(0, str(Path(__file__).resolve().parent / "memcached"))

import report

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


PROGRAMS = {
    "du": "`du -s`, 20,000 files in 20 directories",
    "du_nested": "the same in 800 directories",
    "find": "`find -newer FILE -size +3`, 20,000 files in 20 directories",
    "find_nested": "the same in 800 directories",
    "ls_l": "`ls -lR`, 20,000 files",
    "chmod": "`chmod -R u+w`, 20,000 files, nothing to change",
    "ninja": "`ninja`, nothing to do, 30,000 files, 160,000 dependencies",
    "rsync": "`rsync -ain`, 20,000 files, empty destination",
    "rsync_copy": "`rsync -ai`, 4,000 small files",
    "few_files": "`du -s`, five files: the library is not loaded",
    "few_files_ls": "`ls -l`, the same",
    "few_files_rsync": "`rsync -ain`, the same",
    "nsd": "NSD, a query, server alone: frames over recvmmsg and sendmmsg",
}


class FiguresError(Exception):
    """The table cannot be written; the text says why."""


def requests(result: Json) -> Json:
    """Tables from a result of bench/model.py."""
    if not result["holds"]:
        raise FiguresError("the model does not hold on this machine: try when it is not busy")
    header = ["a UDP request by", "over", "LuaJIT", "confined", f"{result['label']} time"]
    rows = []
    for ratio in result["ratios"]:
        low, high = ratio["interval"]
        time = f"{low:.2f}" if low == high else f"{low:.2f} to {high:.2f}"
        script, rival = SCRIPTS[ratio["script"]], PLAIN[ratio["over"]]
        # Compounds run on the confined engine only.
        luajit = "" if ratio["script"] == "compound" else f"{ratio['icount']:.2f}"
        rows.append([script, rival, luajit, f"{ratio['confined']:.2f}", time])
    worst = max(abs(error) for name, error in result["errors"].items() if name != "io_uring")
    note = (
        f"Times on {result['machine']}, Linux {result['kernel']}"
        + (", busy" if result["busy"] else "")
        + f"; plain loops that the model was not fitted to: within {worst:.0%},"
        f" io_uring {result['errors']['io_uring']:+.0%}."
    )
    return {
        "kernel": result["instructions_of"],
        "tables": [{"header": header, "rows": rows}],
        "note": note,
    }


def calls(result: Json) -> Json:
    """The table from a result of bench/inner.py, in instructions."""
    ways = ["by the process", "by a script, LuaJIT", "by a compound, confined engine"]
    rows = []
    for name, text in CALLS.items():
        found = result["calls"][name]
        ratios = [f"{found[f'ratio_{way}']['median']:.2f}" for way in ("jit", "compound")]
        rows.append([text, f"{found['outside']['median']:,.0f}", *ratios])
    note = (
        "Instructions of the process, and what they are multiplied by; compiled. Geometric mean"
        f" of {len(result['calls'])} kinds of calls: {result['geometric_mean']['median']:.2f}."
        f" To enter a script takes {result['empty_call']['median']:,.0f}, once; to call an empty"
        f" compound {result['empty_compound_over_getppid']['median']:.2f} of a getppid."
    )
    return {
        "kernel": result["kernel"],
        "tables": [{"header": ["a system call", *ways], "rows": rows}],
        "note": note,
    }


def servers(result: Json) -> Json:
    """Servers that parse text, by where their scripts run, from a result of bench/udp.py."""
    udp, found = importlib.import_module("udp"), result["servers_icount"]
    header = ["instructions of a message", "in C", *udp.PLACES]
    rows = udp.servers_rows(found)
    return {"kernel": found["kernel"], "tables": [{"header": header, "rows": rows}], "note": ""}


def compounds(result: Json) -> Json:
    """Loops of applications, from a result of bench/compound.py."""
    keys = ("plain", "compound")
    rows = [
        [name, *(f"{found[key]['median']:,.0f}" for key in keys)]
        + [f"{found['compound_over_plain']['median']:.2f}"]
        for name, found in result["applications"].items()
    ]
    header = ["instructions a step", *keys, "ratio"]
    return {"kernel": result["kernel"], "tables": [{"header": header, "rows": rows}], "note": ""}


def over_plain(found: Json, plain: Json) -> str:
    return ", ".join(f"{found[mode] / plain[mode]:.2f}" for mode in plain)


def readdirplus(result: Json) -> Json:
    """A row for each size from a result of bench/readdirplus.py."""

    rows = [
        [f"{place}, {int(n):,}", ", ".join(f"{count:,.0f}" for count in ways["plain"].values())]
        + [over_plain(ways[way], ways["plain"]) for way in ("luajit", "confined")]
        for place, sizes in result["files"].items()
        for n, ways in sizes.items()
    ]
    header = ["files", "plain: elapsed, system, user", "LuaJIT", "confined"]
    return {"kernel": result["kernel"], "tables": [{"header": header, "rows": rows}], "note": ""}


def files(result: Json) -> Json:
    """The table from a result of bench/files.py; readdirplus has one of its own."""
    header = ["over plain calls", "tmpfs, LuaJIT", "confined", "ext4, LuaJIT", "confined"]
    rows = [
        [ratio.what]
        + [f"{place[key][of]:.2f}" for place in (result, result["ext4"]) for of in FILES_OF]
        for key, ratio in importlib.import_module("files").RATIOS.items()
        if not key.startswith("readdirplus")
    ]
    note = "Instructions; a walk is compared with the cheaper of nftw and fts."
    return {
        "kernel": result["kernel"],
        "tables": [{"header": header, "rows": rows}],
        "note": note,
    }


FILES_OF = ("median", "confined")


def programs(result: Json) -> Json:
    """The table from a result of bench/walks.py."""
    cases = result["cases"]
    rows = [
        [text, f"{cases[name]['ratio']['median']:.2f}"]
        + [f"{cases[name][way]['ratio']:.2f}" if way in cases[name] else "" for way in RIVALS]
        for name, text in PROGRAMS.items()
    ]
    header = ["a program", "patched over plain", "two threads", "io_uring"]
    return {"kernel": result["kernel"], "tables": [{"header": header, "rows": rows}], "note": ""}


RIVALS = ("threads", "uring")


def filesystems(result: Json) -> Json:
    """The table from a result of apps/tests/filesystems.py."""
    commands = ["du", "find", "ls", "chmod", "rsync"]
    rows = [
        [name, *(f"{row[c][1]:.2f}" if c in row else "" for c in commands)]
        + [result["why"].get(name, "")]
        for name, row in result["rows"].items()
    ]
    return {
        "kernel": result["kernel"],
        "tables": [{"header": ["patched over plain", *commands, "why little"], "rows": rows}],
        "note": "2,000 files: loading weighs more than above. Servers in the guest count (fuse,"
        " nfs), others (9p, virtiofs) not; there, what is read ahead never expires.",
    }


def as_shown(module: str) -> Callable[[Json], Json]:
    """The tables that a bench itself shows for its result."""

    def tables(result: Json) -> Json:
        shown: list[Json] = []

        def collect(header: list[str], rows: list[list[str]]) -> None:
            shown.append({"header": header, "rows": rows})

        show, results.show = results.show, collect
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                importlib.import_module(module).show(result, 0)
        finally:
            results.show = show
        return {"kernel": result["kernel"], "tables": shown, "note": ""}

    return tables


def arm64(result: Json) -> Json:
    """The tables of bench/arm64.py, with only the calls that CALLS names."""
    found = as_shown("arm64")(result)
    calls_table = found["tables"][1]
    calls_table["rows"] = [
        [CALLS[call], *costs] for call, *costs in calls_table["rows"] if call in CALLS
    ]
    return found


def memcached(result: Json) -> Json:
    """Figures 3 and 4 of the paper, and for the smallest and largest values what explains them."""
    figure3, figure4, *reasons = report.paper_tables(result)
    shown = [figure3, figure4, *((header, [rows[0], rows[-1]]) for header, rows in reasons)]
    tables = [{"header": header, "rows": rows} for header, rows in shown]
    return {"kernel": result["kernel"], "tables": tables, "note": report.paper_load(result)}


class Subject(NamedTuple):
    """A bench, and its tables for one result or several."""

    command: str
    tables: Callable[..., Json]


SUBJECTS = {
    "requests": Subject("make bench-udp-icount model", requests),
    "servers": Subject("make bench-udp-icount", servers),
    "calls": Subject("make bench-inner-icount", calls),
    "frames": Subject("make bench-frames-icount", as_shown("frames")),
    "compounds": Subject("make bench-compound-icount", compounds),
    "sqlite": Subject("make bench-sqlite-icount", as_shown("sqlite")),
    "daemons": Subject("make bench-daemons-icount", as_shown("daemons")),
    "loop": Subject("make bench-uring-loop-icount", as_shown("uring_loop")),
    "files": Subject("make bench-files-icount", files),
    "connections": Subject("make bench-connections-icount", as_shown("connections")),
    "programs": Subject("make bench-programs-icount", programs),
    "filesystems": Subject("make test-filesystems", filesystems),
    "hooks": Subject("make bench-hooks-icount", as_shown("hooks")),
    "lua": Subject("make bench-guest-icount", as_shown("lua")),
    "everyone": Subject("make bench-everyone-icount", as_shown("everyone")),
    "readdirplus": Subject("make bench-readdirplus-icount", readdirplus),
    "memcached": Subject("make bench-memcached-sizes-icount", memcached),
    "arm64": Subject("make bench-arm64-icount", arm64),
}


def commit() -> str:
    """The measured commit, with a + if the working tree differs from it."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=results.ROOT, capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""

    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs")
    return (git("rev-parse", "--short=12", "HEAD") or "unknown") + ("+" if changed else "")


def entry(subject: Subject, found: list[Json]) -> Json:
    """A subject's entry in figures.json, from its bench's results."""
    if any(result.get("clock") == "time" for result in found):
        raise FiguresError(f"figures are instructions: {subject.command}")
    return {"command": subject.command, "commit": commit(), **subject.tables(*found)}


def as_text(data: Json) -> str:
    """JSON with a line for each row of a table."""
    rows = re.compile(r"\[\n\s+([^\[\]{}]*?)\n\s+\]")
    text = rows.sub(
        lambda found: "[" + re.sub(r"\n\s+", " ", found[1]) + "]", json.dumps(data, indent=1)
    )
    return text + "\n"


def lines_of(found: Json) -> list[str]:
    """A subject's part of the page."""
    lines = []
    for table in found["tables"]:
        for row in (table["header"], ["---"] * len(table["header"]), *table["rows"]):
            lines.append("|" + "|".join(row) + "|" if row[0] == "---" else f"| {' | '.join(row)} |")
        lines.append("")
    source = f"`{found['command']}`, Linux {found['kernel']}, commit {found['commit']}."
    return [*lines, f"{source} {found['note']}".strip()]


def page(text: str, data: Json) -> str:
    """The page's text with the tables of @data."""
    for name, found in data.items():
        text = put(text, name, lines_of(found))
    return text


def put(text: str, name: str, lines: list[str]) -> str:
    """The text with one table replaced."""
    begin, end = f"<!-- {name}: make figures -->", f"<!-- end of {name} -->"
    before, found, rest = text.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found or not found_end:
        raise FiguresError(f"the page has no place for a table: {begin} and {end}")
    return "\n".join([before + begin, *lines, end + after])


# The picture, in pixels: for each call a bar for a script and one for a compound.
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


def main(subjects: dict[str, Subject], page_name: str, drawn: bool = False) -> int:
    """Update @page_name, the JSON beside it, and the picture if the page has one."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, default=results.ROOT, help="where the pages are")
    for name, subject in subjects.items():
        parser.add_argument(
            f"--{name}", type=Path, nargs="+", default=[], help=f"result of {subject.command}"
        )
    args = parser.parse_args()
    path = args.root / page_name
    stored = path.with_suffix(".json")
    try:
        data = json.loads(stored.read_text())
        for name, subject in subjects.items():
            if paths := getattr(args, name):
                data[name] = entry(subject, [json.loads(file.read_text()) for file in paths])
        text = page(path.read_text(), data)
        svg = picture(text) if drawn else ""
    except (FiguresError, OSError, ValueError) as error:
        print(f"figures: {error}", file=sys.stderr)
        return 1
    stored.write_text(as_text(data))
    path.write_text(text)
    if drawn:
        path.with_suffix(".svg").write_text(svg)
    print(f"tables put into {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(SUBJECTS, "docs/figures.md", drawn=True))
