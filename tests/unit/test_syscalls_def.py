# SPDX-License-Identifier: GPL-2.0 OR MIT
"""The tables of system calls and constants agree with the headers."""

import re
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE = ROOT / "core"
TABLE = CORE / "syscalls.def"

# Calls whose function has another name, as in the table of arch/x86.
FUNCTIONS = {
    "fstat": "newfstat",
    "lstat": "newlstat",
    "sendfile": "sendfile64",
    "stat": "newstat",
    "umount2": "umount",
    "uname": "newuname",
}
# Declared in the architecture's own headers, with the address as a number.
ARITY = {"mmap": 6, "bpf": 5}  # bpf: 3 before Linux 7

# Independent of the generator: headers, and names that scripts need.
SAMPLE = {
    "errno.h": "EAGAIN EINTR ENOENT EWOULDBLOCK EOPNOTSUPP EHWPOISON",
    "fcntl.h": "O_RDONLY O_CREAT O_CLOEXEC O_PATH O_DIRECTORY AT_FDCWD F_SETFL"
    " AT_SYMLINK_NOFOLLOW AT_EMPTY_PATH SPLICE_F_MOVE",
    "sys/socket.h": "AF_INET6 SOCK_DGRAM SOCK_NONBLOCK MSG_DONTWAIT SOL_SOCKET"
    " SO_REUSEPORT SHUT_WR SCM_RIGHTS MSG_WAITFORONE",
    "netinet/in.h": "IPPROTO_UDP INADDR_LOOPBACK IPV6_V6ONLY",
    "netinet/tcp.h": "TCP_NODELAY TCP_CORK",
    "netinet/udp.h": "UDP_SEGMENT UDP_GRO",
    "poll.h": "POLLIN POLLRDHUP",
    "sys/epoll.h": "EPOLLIN EPOLLET EPOLL_CTL_ADD EPOLLEXCLUSIVE",
    "sys/eventfd.h": "EFD_SEMAPHORE",
    "sys/timerfd.h": "TFD_NONBLOCK",
    "sys/stat.h": "S_IFMT S_IFDIR STATX_BASIC_STATS",
    "sys/mman.h": "MAP_ANONYMOUS PROT_READ MADV_DONTNEED",
    "dirent.h": "DT_DIR DT_REG",
    "unistd.h": "SEEK_END R_OK",
    "signal.h": "SIGKILL SIGUSR1 SIG_BLOCK",
    "time.h": "CLOCK_MONOTONIC CLOCK_BOOTTIME TIMER_ABSTIME",
    "sys/wait.h": "WNOHANG P_PIDFD",
    "linux/fs.h": "FICLONE FS_IOC_GETFLAGS RWF_NOWAIT",
    "linux/openat2.h": "RESOLVE_BENEATH",
    "linux/futex.h": "FUTEX_WAKE FUTEX_PRIVATE_FLAG",
    "sys/ioctl.h": "FIONREAD TIOCOUTQ",
}


class Call(NamedTuple):
    kinds: str
    flags: str


def read_calls() -> tuple[list[str], dict[str, Call], dict[str, str]]:
    """All names in file order, the calls, and the reasons for refusals."""
    order: list[str] = []
    calls: dict[str, Call] = {}
    excluded: dict[str, str] = {}
    for line in TABLE.read_text().splitlines():
        if match := re.fullmatch(
            r'SYSCALL(?:_OLD)?\((\w+), "(\w*)", ([\w |]+)(?:, "[^"]+")?\)', line
        ):
            calls[match[1]] = Call(match[2], match[3])
        elif match := re.fullmatch(r'SYSCALL_EXCLUDED\((\w+), "([^"]+)"\)', line):
            excluded[match[1]] = match[2]
        else:
            assert not line.startswith("SYSCALL"), f"not a line of the table: {line}"
            continue
        order.append(match[1])
    return order, calls, excluded


ORDER, CALLS, EXCLUDED = read_calls()


def header_trees() -> list[Path]:
    """Kernel headers: the system's, and those that the guests' kernels need."""
    places = [Path("/usr/src"), *ROOT.glob("build/kernels/*/usr/src")]
    return sorted(tree for place in places for tree in place.glob("linux-headers-*"))


def numbers(text: str) -> dict[str, int]:
    found = re.findall(r"^#\s*define __NR_(\w+) (\d+)\s*$", text, re.MULTILINE)
    return {name: int(number) for name, number in found if name != "syscalls"}


def preprocess(*options: str) -> str:
    command = ["cc", "-E", "-dM", *options, "-x", "c", "/dev/null"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def installed() -> list[tuple[str, dict[str, int]]]:
    """(where, name -> number) for each set of headers on this machine."""
    path = "arch/x86/include/generated/uapi/asm/unistd_64.h"
    found = [("libc", numbers(preprocess("-include", "asm/unistd.h")))]
    found += [
        (tree.name, numbers((tree / path).read_text()))
        for tree in header_trees()
        if (tree / path).exists()
    ]
    return found


def table_numbers() -> dict[str, int]:
    return numbers(preprocess("-include", str(CORE / "syscalls_nr.h")))


def prototypes(header: str) -> dict[str, int]:
    """Function -> number of arguments, from the kernel's linux/syscalls.h."""
    header = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    found = re.findall(r"asmlinkage\s+\w[\w\s]*?\bsys_(\w+)\s*\(([^;]*)\);", header)
    return {
        name: 0 if args.strip() in ("", "void") else args.count(",") + 1 for name, args in found
    }


def test_sorted_and_unique() -> None:
    assert len(CALLS) > 250
    assert ORDER == sorted(set(ORDER))


def test_kinds() -> None:
    """Only known letters, a length after the buffer it measures, options last."""
    form = "([ifp]|sl?)*([IFP]|SL?)*"
    bad = {n: c.kinds for n, c in CALLS.items() if not re.fullmatch(form, c.kinds)}
    assert not bad
    assert max(len(call.kinds) for call in CALLS.values()) == 6


def test_flags() -> None:
    flags = {flag for call in CALLS.values() for flag in call.flags.split(" | ")}
    assert flags == {"0", "SC_FAST", "SC_INT", "SC_IOCTL", "SC_OPENS", "SC_SEEK", "SC_WAITS"}
    fast = {n: c.kinds for n, c in CALLS.items() if "SC_FAST" in c.flags}
    assert not {name for name, kinds in fast.items() if kinds.strip("i")}
    assert [n for n, c in CALLS.items() if "SC_IOCTL" in c.flags] == ["ioctl"]
    assert [n for n, c in CALLS.items() if "SC_SEEK" in c.flags] == ["lseek"]


def test_reasons() -> None:
    bad = [n for n, reason in EXCLUDED.items() if len(reason) < 10 or reason[-1] in ".!"]
    assert not bad


@pytest.mark.parametrize(
    ("where", "known"), installed(), ids=lambda v: v if isinstance(v, str) else ""
)
def test_every_number_is_decided(where: str, known: dict[str, int]) -> None:
    assert len(known) > 300
    assert not sorted(set(known) - set(ORDER)), f"numbers of {where}: add a line"


@pytest.mark.parametrize(
    ("where", "known"), installed(), ids=lambda v: v if isinstance(v, str) else ""
)
def test_numbers_are_the_kernels(where: str, known: dict[str, int]) -> None:
    ours = table_numbers()
    assert not {name: number for name, number in known.items() if ours[name] != number}


def test_every_line_has_a_number() -> None:
    assert not set(ORDER) - set(table_numbers())


def test_arity() -> None:
    headers = [tree / "include/linux/syscalls.h" for tree in header_trees()]
    known = [prototypes(header.read_text()) for header in headers if header.exists()]
    if not known:
        pytest.skip("no kernel headers here: install linux-headers-amd64")
    wrong = {}
    for name, call in CALLS.items():
        function = FUNCTIONS.get(name, name)
        counts = [table[function] for table in known if function in table]
        arity = ARITY.get(name, max(counts, default=None))
        # Calls newer than these headers are missing there.
        if arity != len(call.kinds) and not (arity is None and table_numbers()[name] > 450):
            wrong[name] = (call.kinds, arity)
    assert not wrong


def generate(path: Path) -> str:
    subprocess.run([str(ROOT / "tools/gen-constants"), "-o", str(path)], check=True)
    return path.read_text()


@pytest.fixture(scope="module")
def constants(tmp_path_factory: pytest.TempPathFactory) -> str:
    return generate(tmp_path_factory.mktemp("gen") / "constants.inc")


def rows(text: str, kind: str) -> list[tuple[str, int]]:
    found = re.findall(rf"^{kind}\((\w+), (-?\d+)\)$", text, re.MULTILINE)
    return [(name, int(value)) for name, value in found]


@pytest.mark.parametrize(("kind", "least"), [("ERRNO", 130), ("CONSTANT", 1500)])
def test_constants_are_sorted_and_exact(constants: str, kind: str, least: int) -> None:
    table = rows(constants, kind)
    names = [name for name, _ in table]
    assert len(names) >= least
    assert names == sorted(set(names))
    assert all(abs(value) <= 2**53 for _, value in table)


def test_constants_are_deterministic(constants: str, tmp_path: Path) -> None:
    assert generate(tmp_path / "again.inc") == constants


def test_constants_can_be_included_twice(constants: str, tmp_path: Path) -> None:
    (tmp_path / "constants.inc").write_text(constants)
    source = tmp_path / "twice.c"
    source.write_text(
        "#define ERRNO(name, value) int e_##name = value;\n"
        '#include "constants.inc"\n'
        "#define CONSTANT(name, value) long long c_##name = value;\n"
        '#include "constants.inc"\n'
    )
    subprocess.run(["cc", "-Wall", "-Werror", "-fsyntax-only", str(source)], check=True)


@pytest.mark.sample(3)
@pytest.mark.parametrize("header", SAMPLE)
def test_constants_equal_the_compilers(constants: str, tmp_path: Path, header: str) -> None:
    table = dict(rows(constants, "ERRNO") + rows(constants, "CONSTANT"))
    names = SAMPLE[header].split()
    asserts = "".join(f'_Static_assert({n} == {table[n]}LL, "{n}");\n' for n in names)
    source = tmp_path / "sample.c"
    source.write_text(f"#define _GNU_SOURCE\n#include <{header}>\n{asserts}")
    subprocess.run(["cc", "-fsyntax-only", str(source)], check=True)
