# SPDX-License-Identifier: GPL-2.0 OR MIT
"""util.types: the structures equal those of the C headers."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SYSCRIPT = ROOT / "build" / "syscript"
SOURCE = ROOT / "engine" / "luajit" / "types.lua"

HEADERS = {
    "epoll_event": "sys/epoll.h",
    "iovec": "sys/uio.h",
    "itimerspec": "time.h",
    "linger": "sys/socket.h",
    "mmsghdr": "sys/socket.h",
    "msghdr": "sys/socket.h",
    "open_how": "linux/openat2.h",
    "pollfd": "poll.h",
    "rlimit": "sys/resource.h",
    "sockaddr_in": "netinet/in.h",
    "sockaddr_in6": "netinet/in.h",
    "sockaddr_un": "sys/un.h",
    "stat": "sys/stat.h",
    "statx": "linux/stat.h",
    "statx_timestamp": "linux/stat.h",
    "timespec": "time.h",
    "timeval": "sys/time.h",
}

LAYOUT = """
local name = "%s"
local t = util.types[name]
print("sizeof", t.size)
for field, offset in pairs(t.offsetof) do
    print(field, offset, t.fields[field].type.size)
end
"""


def test_all_are_tested() -> None:
    declared = set(re.findall(r"^  (\w+) = [\"\[]", SOURCE.read_text(), re.MULTILINE))
    assert declared == set(HEADERS)


def check_layout(name: str, command: list[str | Path], cc: str, where: Path) -> None:
    """The command's structure is that of the compiler's headers."""
    code = " ".join((LAYOUT % name).split("\n"))
    lines = subprocess.run(
        [*command, "run", "--backend", "user", "--time-limit", "2s", "-e", code],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    rows = [line.split("\t") for line in lines]
    asserts = [f"_Static_assert(sizeof(struct {name}) == {rows[0][1]}, {name!r});"]
    for field, offset, size in rows[1:]:
        if field != "reserved":
            asserts.append(
                f'_Static_assert(offsetof(struct {name}, {field}) == {offset}, "{field}");'
            )
            asserts.append(
                f'_Static_assert(sizeof(((struct {name} *)0)->{field}) == {size}, "{field}");'
            )
    source = where / "layout.c"
    asserts[0] = asserts[0].replace("'", '"')
    source.write_text(
        f"#define _GNU_SOURCE\n#include <stddef.h>\n#include <{HEADERS[name]}>\n"
        + "\n".join(asserts)
    )
    assert len(asserts) > 4
    subprocess.run([cc, "-fsyntax-only", str(source)], check=True)


@pytest.mark.parametrize("name", HEADERS)
def test_layout(name: str, tmp_path: Path) -> None:
    check_layout(name, [SYSCRIPT], "cc", tmp_path)
