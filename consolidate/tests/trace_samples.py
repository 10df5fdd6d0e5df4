# SPDX-License-Identifier: GPL-2.0
"""Traces wc with each option of strace, perf trace or audit: trace_samples.py TOOL TREE...

As root in a mount namespace of its own; audit in a guest, for it is the whole machine's. Each tree
has a Debian release's tools and files; the traces go to its directory out, TOOL/OPTIONS/t.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

FILES = 24
# The user that runs wc, whose calls alone are audited.
USER = 65534
# What programs say of an option that they do not have.
UNKNOWN = re.compile(
    r"(unrecognized|invalid|ambiguous|unknown) (option|switch)|invalid -"
    r"|not supported by this build"
)

# Options of strace, and the version that has them first.
STRACE = dict.fromkeys(
    [
        "",
        "-f",
        "-f 2>FILE",
        "-f -t",
        "-f -tt",
        "-f -ttt -T",
        "-f -r",
        "-f -r -tt",
        "-f -y",
        "-f -yy",
        "-f -i",
        "-f -x",
        "-f -xx",
        "-f -v -s 4096",
        "-f -e read=3,4",
        "-f -e signal=none",
        "-f -a 0",
        "-f -q",
        "-f -z",
        "-f -o FILE -ff",
        "-c",
    ],
    "",
) | {
    "-f --absolute-timestamps=format:unix,precision:s": "5.6",
    "-f --absolute-timestamps=precision:ns": "5.6",
    "-f --relative-timestamps=ms": "5.6",
    "-f -ttt -T --syscall-times=s": "5.6",
    "-f -ttt -T --syscall-times=ns": "5.6",
    "-f -n": "5.4",
    "-f -k": "4.9",
    "-f -X raw": "4.23",
    "-f -X verbose": "4.23",
    "-f -Y": "5.13",
    "-f --decode-pids=pidns": "5.9",
    "-f -N": "6.16",
    "-f --secontext": "5.12",
    "-f --color=always": "7.0",
}
PERF = [
    "",
    "2>FILE",
    "-T",
    "-v",
    "-F all",
    "--syscalls -F all",
    "-e openat,read,close",
    "-e openat,read,close,sched:sched_switch",
    "--call-graph fp",
    "--call-graph dwarf -m 16M",
    "--print-sample",
    "--sort-events",
    "--show-cpu",
    "--sched",
    "--no-comm",
    "--force-btf",
    "--tool_stats",
    "-S",
    "-S --summary-mode=total",
    "-s",
]
RAW = "log_format = RAW"
# A setting that differs from the package's auditd.conf; the options of ausearch, which reads the
# log of the first; or the kernel's log, where records go if there is no daemon.
DMESG = "the kernel's log"
AUDIT = [
    RAW,
    "log_format = ENRICHED",
    "name_format = HOSTNAME",
    "ausearch --raw",
    "ausearch",
    "ausearch -i",
    "ausearch --format csv",
    "ausearch --format text",
    DMESG,
]
PATIENCE = 120.0


class Failure(Exception):
    """A tool does something else than to trace, or to refuse an option."""


def names() -> list[str]:
    """Of files; they look like results."""
    return [f"f{i}) = {i}" for i in range(FILES)]


def work() -> list[str]:
    return ["wc", "-l", *(f"/files/{name}" for name in names())]


def inside(tree: Path, *argv: str, user: int = 0) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["chroot", f"--userspec={user}:{user}", tree, *argv],
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )


def must(tree: Path, *argv: str, user: int = 0) -> str:
    done = inside(tree, *argv, user=user)
    if done.returncode:
        raise Failure(f"{tree.name}: {shlex.join(argv)}: {done.stderr or done.stdout}")
    return done.stdout


def traced(tree: Path, options: str, place: Path, tracer: list[str]) -> None:
    """By a tracer that starts wc; nothing is written if it has no such options."""
    words = [word for word in shlex.split(options) if word not in ("-o", "FILE", "2>FILE")]
    to_file = "2>FILE" not in options
    words += ["-o", f"/{place.relative_to(tree)}/t"] if to_file else []
    done = inside(tree, *tracer, *words, *work())
    if done.returncode:
        if not UNKNOWN.search(done.stderr + done.stdout):
            raise Failure(f"{tree.name}: {tracer[0]} {options}: {done.stderr}")
        for file in place.iterdir():
            file.unlink()
    elif not to_file:
        (place / "t").write_text(done.stderr)


def strace(tree: Path, options: str, place: Path) -> None:
    traced(tree, options, place, ["strace"])


def perf(tree: Path, options: str, place: Path) -> None:
    traced(tree, options, place, ["perf", "trace"])


def until(
    tree: Path, what: str, happens: Callable[[], object], process: subprocess.Popen[bytes]
) -> None:
    end = time.monotonic() + PATIENCE
    while not happens():
        if process.poll() is not None or time.monotonic() > end:
            raise Failure(f"{tree.name}: {what} was waited for in vain: {process.args}")
        time.sleep(0.2)


def audited(tree: Path) -> None:
    """Run wc under a rule for it."""
    calls = [word for name in ("openat", "read", "close") for word in ("-S", name)]
    rule = ["always,exit", "-F", "arch=b64", *calls, "-F", f"uid={USER}"]
    must(tree, "auditctl", "-b", "8192")
    must(tree, "auditctl", "-e", "1")
    must(tree, "auditctl", "-a", *rule)
    must(tree, *work(), user=USER)
    must(tree, "auditctl", "-d", *rule)


def by_daemon(tree: Path, setting: str) -> str:
    """What auditd writes."""
    log, last = tree / "var/log/audit/audit.log", names()[-1].encode().hex().upper()
    log.unlink(missing_ok=True)
    text = (tree / "tmp/auditd.conf").read_text()
    # Without SYNC the daemon keeps the last records in a buffer.
    for line in (RAW, "flush = SYNC", setting):
        text = re.sub(rf"(?m)^{line.split()[0]} = .*", line, text)
    (tree / "etc/audit/auditd.conf").write_text(text)
    # The kernel gives up a daemon whose socket is full, and an emulated one is slow.
    Path("/proc/sys/net/core/rmem_default").write_text(f"{16 << 20}\n")
    with subprocess.Popen(["chroot", tree, "auditd", "-n"]) as daemon:
        try:
            pid = f"pid {daemon.pid}\n"
            until(tree, "auditd", lambda: pid in must(tree, "auditctl", "-s"), daemon)
            audited(tree)
            until(tree, "the last record", lambda: last in log.read_text(), daemon)
        finally:
            daemon.terminate()
    return log.read_text(errors="replace")


def by_kernel(tree: Path) -> str:
    Path("/proc/sys/kernel/printk_ratelimit").write_text("0\n")
    subprocess.run(["dmesg", "-C"], check=True)
    audited(tree)
    return subprocess.run(["dmesg"], capture_output=True, text=True, check=True).stdout


def audit(tree: Path, options: str, place: Path) -> None:
    tool, *words = options.split()
    if tool == "ausearch":
        log = place_of(tree, "audit", RAW) / "t"
        text = must(tree, tool, *words, "-if", f"/{log.relative_to(tree)}")
    else:
        text = by_kernel(tree) if options == DMESG else by_daemon(tree, options)
    (place / "t").write_text(text)


class Tool(NamedTuple):
    packages: tuple[str, ...]
    version: str  # the command that prints it
    options: list[str]
    trace: Callable[[Path, str, Path], None]


TOOLS = {
    "strace": Tool(("strace",), "strace -V", list(STRACE), strace),
    "perf trace": Tool(("linux-perf", "binutils"), "perf --version", PERF, perf),
    "audit": Tool(("auditd",), "auditctl -v", list(AUDIT), audit),
}


def place_of(tree: Path, tool: str, options: str) -> Path:
    return tree / "out" / tool / (options or "plain")


def prepare(tree: Path) -> None:
    for place in ("proc", "sys", "dev"):
        subprocess.run(["mount", "--rbind", f"/{place}", tree / place], check=True)
    (tree / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (tree / "etc/group").write_text("root:x:0:\nadm:x:4:\n")
    settings = (tree / "etc/audit/auditd.conf").read_text()
    # The daemon trusts no settings of other users than root.
    for place in ("etc/audit", "var/log/audit", "run", "tmp"):
        (tree / place).mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", tree / place], check=True
        )
    (tree / "etc/audit/plugins.d").mkdir()
    (tree / "tmp/auditd.conf").write_text(settings)


def trace_all(tree: Path, name: str) -> int:
    """The number of failures."""
    tool, failures = TOOLS[name], 0
    prepare(tree)
    shutil.rmtree(tree / "out" / name, ignore_errors=True)
    (tree / "out" / name).mkdir(parents=True)
    said = must(tree, *tool.version.split())
    (tree / "out" / name / "version").write_text(re.search(r"version (\d+\.\d+)", said)[1])
    for options in tool.options:
        print(f"{tree.name}: {name} {options}", flush=True)
        place = place_of(tree, name, options)
        place.mkdir()
        try:
            tool.trace(tree, options, place)
        except Failure as failure:
            print(f"trace_samples: {failure}", file=sys.stderr, flush=True)
            failures += 1
    return failures


def main() -> int:
    name, *trees = sys.argv[1:]
    return min(1, sum(trace_all(Path(tree), name) for tree in trees))


if __name__ == "__main__":
    sys.exit(main())
