# SPDX-License-Identifier: GPL-2.0
"""Programs that netfilter calls, of an ordinary user with namespaces of their own."""

from __future__ import annotations

import errno
import json
import pwd
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import programs as p
import seccomp
import subproc_server
from confined import insn as i
from confined.kernel import Arena, lib
from runner import COMMAND, SLOWDOWN, account, in_namespace

TESTS = Path(__file__).resolve().parents[1]
PRELUDE = f"""
import ctypes, errno, json, os, socket, subprocess, sys, threading, time
sys.path.insert(0, {str(TESTS)!r})
import programs as p
from confined import insn as i
result = {{}}
subprocess.run(["ip", "link", "set", "lo", "up"], check=True)

def arrives(port, family=socket.AF_INET, n=1):
    "Of @n datagrams to @port of this machine, how many arrive."
    host = "127.0.0.1" if family == socket.AF_INET else "::1"
    udp = (family, socket.SOCK_DGRAM)
    with socket.socket(*udp) as to, socket.socket(*udp) as s:
        to.bind((host, port))
        got = 0
        for _ in range(n):
            try:
                s.sendto(b"x" * 100, (host, port))
            except PermissionError:  # dropped on its way out
                pass
        to.settimeout(0.2)
        try:
            while got < n:
                to.recv(200)
                got += 1
        except TimeoutError:
            pass
        return got

def one(name="filter"):
    return next(x for x in p.programs() if x.name == name)

def listed(name="filter"):
    return one(name).__dict__
"""

# A namespace that ends with its programs does so late on a busy machine, and they count for their
# user until then.
UNLOAD = "\nfor program in p.programs():\n    p.unload(program.name)\n"

OWN = p.OWN


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """Removes what a failed test left in this namespace."""
    yield
    for program in p.programs():
        p.unload(program.name)


def in_own_namespace(body: str, user: str = "outsider") -> dict:
    """The `result` of code run as @user, in their own user and network namespace."""
    return subproc_server.run(PRELUDE + body + UNLOAD, user, own=True)


def test_drops_what_it_says() -> None:
    """A program drops packets of both families, in a namespace of an ordinary user."""
    result = in_own_namespace("""
result["load"] = p.load(p.image([p.drop_port(4000)]))
result["arrives"] = [arrives(port, family) for family in (socket.AF_INET, socket.AF_INET6)
                     for port in (4000, 4001)]
result["listed"] = listed()
result["unload"] = [p.unload(), p.unload()]
result["after"] = arrives(4000)
result["programs"] = len(p.programs())
""")
    assert result["load"] == [0, ""]
    assert result["arrives"] == [0, 1, 0, 1]
    assert result["unload"] == [0, -errno.ENOENT]
    assert result["after"] == 1
    assert result["programs"] == 0
    listed = result["listed"]
    assert listed["calls"] >= 4 and listed["run_time"] >= 0 and listed["mcode"] > 0
    assert (listed["errors"], listed["defaults"], listed["error"]) == (0, 0, "")
    assert (listed["subsystem"], listed["where"]) == ("netfilter", "inet input")
    assert (listed["machine"], listed["loads"], listed["state"]) == (0, 1, 0)
    assert listed["memory"] > 1 << 16
    assert not p.programs()


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "where",
    [
        "ip output -5",
        "ip6 output",
        "inet postrouting 7",
        "netdev ingress lo",
        "netdev egress lo -3",
        "inet ingress lo",
    ],
)
def test_places(where: str) -> None:
    result = in_own_namespace(f"""
result["load"] = p.load(p.image([p.verdict(p.DROP)]), where={where!r})
result["arrives"] = [arrives(4000), arrives(4000, socket.AF_INET6)]
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    try:
        result["sent"] = s.sendto(b"x", ("127.0.0.1", 4000))
    except OSError as error:
        result["sent"] = -error.errno
""")
    assert result["load"] == [0, ""]
    # On its way out, before the device, the sender is told.
    told = where in ("ip output -5", "inet postrouting 7")
    assert result["sent"] == (-errno.EPERM if told else 1)
    assert result["arrives"] == {"ip output -5": [0, 1], "ip6 output": [1, 0]}.get(where, [0, 0])


@pytest.mark.parametrize(
    "where",
    [
        "",
        "inet",
        "inet nowhere",
        "inet6 input",
        "arp forward",
        "inet input x",
        "ip input 1 2",
        "netdev ingress",
        "netdev input lo",
        "netdev ingress lo 1 2",
        "inet ingress",
        "ip ingress lo",
        "bridge ingress lo",
    ],
)
def test_places_that_are_none(where: str) -> None:
    error, text = p.load(p.image([p.verdict(1)]), where=where)
    assert error == -errno.EINVAL
    assert f"no place '{where}'" in text
    assert not p.programs()


def test_device_goes() -> None:
    """The device is deleted, or moved: its programs stay, but are not called any more."""
    result = in_own_namespace("""
def ip(*words):
    subprocess.run(["ip", *words], check=True)
def send(device, protocol=0x800):
    "Frames of the protocol, the first too short for any header."
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as s:
        s.bind((device, protocol))
        for size in (0, 6, 46, 586):
            s.send(b"\\x45" * 12 + protocol.to_bytes(2, "big") + b"\\x45" * size)
result["none"] = p.load(p.image([p.verdict(1)]), where="netdev egress nothing")
ip("link", "add", "one", "up", "type", "veth", "peer", "two")
ip("link", "set", "two", "up")
result["load"] = [p.load(p.image([p.verdict(1)]), where="netdev egress one"),
                  p.load(p.image([p.verdict(0)]), name="ip", where="inet ingress two -2"),
                  p.load(p.image([p.verdict(0)]), name="peer", where="netdev ingress two -1")]
send("one")
result["calls"] = [one(n).calls for n in ("filter", "ip", "peer")]
send("one", 0x88b5)
result["other"] = one("peer").calls
child = subprocess.Popen(["unshare", "-n", "sleep", "1000"])
while os.readlink(f"/proc/{child.pid}/ns/net") == os.readlink("/proc/self/ns/net"):
    time.sleep(0.05)
ip("link", "set", "two", "netns", str(child.pid))
result["left"] = [one(n).calls for n in ("ip", "peer")]
send("one")
result["moved"] = [one(n).calls for n in ("filter", "ip", "peer")]
result["gone"] = [one(n).state for n in ("filter", "ip", "peer")]
again = lambda: p.load(p.image([p.verdict(0)]), name="peer", where="netdev ingress two -1")
result["again"] = [again()]
ip("link", "del", "one")
child.kill()
ip("link", "add", "one", "up", "type", "veth", "peer", "two")
ip("link", "set", "two", "up")
result["again"].append(again())
send("one")
result["back"] = one("peer").calls - result["moved"][2], one("peer").loads, one("peer").state
result["unload"] = [p.unload(n) for n in ("filter", "ip", "peer")]
""")
    assert result["none"] == [-errno.ENODEV, "no device 'nothing'"]
    assert result["load"] == [[0, ""]] * 3
    assert result["calls"][0] >= 3 and result["calls"][1] >= 3
    assert result["calls"][2] == 0 and result["other"] >= 3
    assert result["moved"][0] >= result["calls"][0] + 3
    assert result["moved"][1:] == result["left"]
    assert result["gone"] == [0, 2, 2]
    # Loaded again, without such a device, and with one.
    assert result["again"] == [[-errno.ENODEV, "no device 'two'"], [0, ""]]
    assert result["back"][0] >= 3 and result["back"][1:] == [2, 0]
    assert result["unload"] == [0, 0, 0]


def test_who_may() -> None:
    body = (
        f"import sys; sys.path.insert(0, {str(TESTS)!r}); import programs as p; "
        "print(p.load(p.image([p.verdict(1)])), p.unload(), p.programs())"
    )
    done = subprocess.run(
        [sys.executable, "-c", body], **account("outsider"), capture_output=True, text=True
    )
    text = "loading programs for netfilter needs CAP_NET_ADMIN over the network namespace"
    assert done.stdout.strip() == f"(-1, '{text}') -1 []", done.stderr
    # A user namespace without its own network gives no right over the machine's.
    done = subprocess.run(
        [*OWN[:3], sys.executable, "-c", body],
        **account("outsider"),
        capture_output=True,
        text=True,
    )
    assert done.stdout.strip() == f"(-1, '{text}') -1 []", done.stderr


def test_contexts() -> None:
    """Calls that sleep or need the current task are refused at load time."""
    load = lambda *code, **options: p.load(p.image([b"".join([*code, i.EXIT])]), **options)  # noqa: E731
    refused = "insn 0: makes a system call, which only scripts of a process do"
    assert load(i.outside(i.SYSCALL + seccomp.number("getppid"))) == (-errno.ENOEXEC, refused)
    assert load(i.outside(i.CALL_SYSCALL)) == (-errno.ENOEXEC, refused)
    assert load(i.outside(i.CALL_BATCH)) == (-errno.ENOEXEC, refused)
    assert load(i.outside(i.SYSCALL + 4000)) == (-errno.ENOEXEC, refused)
    assert load(i.outside(i.FUNCTION + 64))[0] == -errno.ENOEXEC
    with Arena() as arena:
        image = i.Image([i.outside(i.FUNCTION) + i.EXIT]).pack()
        fd, text = lib.register(image, engine=1, **arena.shared())
        assert fd == -errno.ENOEXEC
        assert text == ("insn 0: calls a function of a subsystem, which only its programs have")
    if seccomp.MACHINE == "amd64":
        lua = p.load(b"function run() end", engine=0, device="/dev/syscript-luajit")
        assert lua == (-errno.EOPNOTSUPP, "engine luajit cannot run without a process")
    assert not p.programs()


def test_refusals() -> None:
    good = p.image([p.verdict(1)])
    assert p.load(good, subsystem="nothing") == (-errno.ENOENT, "no subsystem nothing")
    assert p.load(good, functions=("packet_load", "peek")) == (
        -errno.EINVAL,
        "netfilter has no function peek",
    )
    assert p.load(good, copies=257)[0] == -errno.EINVAL
    assert p.load(good, flags=p.FALLBACK, fallback=4)[0] == -errno.EINVAL
    assert p.load(good, name="")[0] == -errno.EINVAL
    assert p.load(good, data=bytes(65537))[0] == -errno.EINVAL
    assert p.load(p.image([p.verdict(1)], native=0))[0] == -errno.EINVAL
    assert p.load(p.image([p.verdict(1)], native=1025))[0] == -errno.EINVAL
    error, text = p.load(p.image([p.verdict(1)], stack_size=64))
    assert error == -errno.EINVAL and "for what the program sees" in text
    small = {"stack_end": 1024 * p.possible_cpus() - 1024}
    assert p.load(p.image([p.verdict(1)], **small))[0] == -errno.EINVAL
    assert p.load(good, memory=65536)[0] == -errno.ENOBUFS
    assert not p.programs() and p.references() == 0


def test_errors_take_the_default() -> None:
    """A program that loops, faults, or returns an invalid result is switched off."""
    result = in_own_namespace("""
def of(code, **options):
    assert p.load(p.image([code]), **options) == (0, "")
    got = arrives(4000, n=8)
    seen = listed()
    p.unload()
    return got, seen
result["spin"] = of(i.jump(-1) + i.EXIT, errors_max=5)
result["result"] = of(p.verdict(4))
result["abort"] = of(i.movi(1, 7) + i.outside(i.CALL_ABORT) + i.EXIT)
result["function"] = of(i.outside(i.FUNCTION) + i.EXIT)
result["drop"] = of(p.verdict(-1), flags=p.FALLBACK, fallback=p.DROP)
""")
    for name, (got, seen) in result.items():
        assert got == (0 if name == "drop" else 8), name
        assert seen["errors"] and seen["defaults"] == seen["calls"]
    assert result["spin"][1]["error"] == "insn 0: over its budget"
    assert (result["spin"][1]["state"], result["spin"][1]["errors"]) == (1, 6)
    assert result["result"][1]["error"] == "returns 4, which is not in 0 .. 3"
    assert result["result"][1]["state"] == 0
    assert result["abort"][1]["error"] == "insn 1: aborts with 7"
    assert result["function"][1]["error"].endswith("calls a function that does not exist")


def test_functions_take_the_budget() -> None:
    """Many calls in a row, each charged: no more than there is fuel for."""
    result = in_own_namespace("""
load = i.movi(1, 0) + i.imm64(2, 0x200, i.ARENA) + i.movi(3, 256) + i.outside(i.FUNCTION)
result["load"] = p.load(p.image([load * 300 + p.verdict(p.DROP)]), functions=("packet_load",))
result["arrives"] = arrives(4000)
result["listed"] = listed()
""")
    assert result["load"] == [0, ""]
    assert (result["arrives"], result["listed"]["errors"]) == (1, result["listed"]["calls"])
    insn, _, text = result["listed"]["error"].removeprefix("insn ").partition(": ")
    # A call costs five instructions.
    assert text == "over its budget" and int(insn) < 30 * 5


def test_functions_and_data() -> None:
    """Reading bytes far in the packet, the mark, and memory that persists."""
    result = in_own_namespace("""
count = (i.imm64(6, 0x100, i.ARENA) + i.mov(7, 1)
         + i.load(8, 6, 0, 8) + i.alui("add", 8, 1) + i.store(6, 0, 8, 8)
         + i.movi(1, 120) + i.imm64(2, 0x200, i.ARENA) + i.movi(3, 8) + i.outside(i.FUNCTION)
         + i.jump_ifi("ne", 0, 0, 8)
         + i.imm64(2, 0x200, i.ARENA) + i.load(2, 2, 7, 1)
         + i.jump_ifi("ne", 2, ord("x"), 4)
         + i.movi(1, 120) + i.movi(2, 0) + i.movi(3, 9) + i.outside(i.FUNCTION)
         + i.jump_ifi("eq", 0, -1, 2)
         + i.movi(0, 0) + i.EXIT + i.alui("rsh", 8, 2) + i.mov(0, 8) + i.EXIT)
result["load"] = p.load(p.image([count]), data=bytes(0x100) + b"\\x02",
                        functions=("packet_load", "packet_mark"))
result["arrives"] = [arrives(4000) for _ in range(4)]
result["listed"] = listed()
""")
    assert result["load"] == [0, ""]
    # It begins at 2: from the second call on 4 or more / 4 is ACCEPT; then 7 / 4.
    assert result["arrives"] == [0, 1, 1, 1], result["listed"]


def test_replaced_under_traffic() -> None:
    """Two dropping programs, replaced repeatedly, on all CPUs: no packet passes in between."""
    result = in_own_namespace("""
stop = False
sent = [0, 0]
def send(k):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        while not stop:
            s.sendto(b"x" * 20, ("127.0.0.1", 4000 + k))
            sent[k] += 1
sockets = []
for k in range(2):
    to = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    to.bind(("127.0.0.1", 4000 + k))
    to.settimeout(0.1)
    sockets.append(to)
images = [p.image([i.movi(5, k) + p.verdict(0)]) for k in range(2)]
assert p.load(images[0]) == (0, "")
threads = [threading.Thread(target=send, args=(k,)) for k in range(2)]
[t.start() for t in threads]
end = time.monotonic() + 3
n = 0
while time.monotonic() < end:
    n += 1
    assert p.load(images[n % 2]) == (0, ""), n
stop = True
[t.join() for t in threads]
got = 0
for to in sockets:
    try:
        to.recv(100)
        got += 1
    except TimeoutError:
        pass
result.update(got=got, sent=sent, loads=listed()["loads"], n=n, listed=listed())
""")
    assert result["got"] == 0
    assert min(result["sent"]) > 0
    assert result["loads"] == result["n"] + 1 > 3
    assert result["listed"]["calls"] >= sum(result["sent"])
    assert (result["listed"]["errors"], result["listed"]["defaults"]) == (0, 0)


def test_errors_on_two_cpus_all_count() -> None:
    """No more calls fail than allowed, except one running on the other CPU.

    Few are allowed, because they are counted by the second. Rounds that took longer, on an emulated
    CPU, tell nothing.
    """
    result = in_own_namespace("""
def send(barrier):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        barrier.wait()
        while not p.programs()[0].state:
            for _ in range(10):
                s.sendto(b"x", ("127.0.0.1", 4000))
        barrier.wait()
image = p.image([p.verdict(4)])
result["errors"] = []
for _ in range(60):
    assert p.load(image, errors_max=40) == (0, "")
    barrier = threading.Barrier(2)
    threads = [threading.Thread(target=send, args=(barrier,)) for _ in range(2)]
    begin = time.monotonic()
    [t.start() for t in threads]
    [t.join() for t in threads]
    if time.monotonic() - begin < 1:
        result["errors"].append(listed()["errors"])
    p.unload()
    if len(result["errors"]) == 20:
        break
""")
    assert len(result["errors"]) > 10
    assert set(result["errors"]) <= {41, 42}, result["errors"]


def test_late_errors_are_not_of_the_next() -> None:
    """A call that fails after its program was replaced is not an error of the new one."""
    result = in_own_namespace("""
stop = False
def send():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        while not stop:
            s.sendto(b"x", ("127.0.0.1", 4000))
threads = [threading.Thread(target=send) for _ in range(2)]
spin, good = p.image([i.jump(-1) + i.EXIT]), p.image([p.verdict(1)])
assert p.load(spin, errors_max=1 << 30) == (0, "")
[t.start() for t in threads]
result["failed"] = []
for _ in range(20):
    errors = one().errors
    while one().errors == errors:
        pass
    result["failed"].append(one().error)
    assert p.load(good, errors_max=1 << 30) == (0, "")
    result["failed"].append(one().error)
    assert p.load(spin, errors_max=1 << 30) == (0, "")
stop = True
[t.join() for t in threads]
""")
    assert result["failed"] == ["insn 0: over its budget", ""] * 20


def test_loaded_at_once() -> None:
    """All are listed, in any order of loading."""
    result = in_own_namespace("""
image = p.image([p.verdict(1)])
result["listed"] = []
for _ in range(6):
    barrier = threading.Barrier(8)
    def load(names):
        barrier.wait()
        for name in names:
            assert p.load(image, name=name) == (0, "")
    names = [f"n{k}" for k in range(16)]
    threads = [threading.Thread(target=load, args=(names[k::8],)) for k in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    result["listed"].append(len(p.programs()))
    [p.unload(name) for name in names]
""")
    assert result["listed"] == [16] * 6


def test_goes_with_its_namespace() -> None:
    """A program outlives its loader, holds the module, and ends with the namespace."""
    # Programs of earlier tests are freed when the kernel removes their namespaces.
    until = time.monotonic() + 30
    while p.references() and time.monotonic() < until:
        time.sleep(0.1)
    assert p.references() == 0
    holder = subprocess.Popen(
        [*OWN, "sh", "-c", "ip link set lo up; echo up; read line"],
        **account("outsider"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    holder.stdout.readline()
    body = f"import sys; sys.path.insert(0, {str(TESTS)!r}); import programs as p; "
    inside = ["nsenter", "--user", "--net", "--preserve-credentials", "-t", str(holder.pid)]

    def run(code: str) -> str:
        done = subprocess.run(
            [*inside, sys.executable, "-c", body + code],
            **account("outsider"),
            capture_output=True,
            text=True,
        )
        assert not done.returncode, done.stderr
        return done.stdout.strip()

    assert run("print(p.load(p.image([p.verdict(0)])))") == "(0, '')"
    assert run("print([x.name for x in p.programs()])") == "['filter']"
    assert p.references() == 2  # one for itself and one for the subsystem
    assert subprocess.run(["rmmod", "syscript"], capture_output=True).returncode
    holder.communicate("\n")
    end = time.monotonic() + 20 * SLOWDOWN
    while p.references() and time.monotonic() < end:
        time.sleep(0.1)
    assert p.references() == 0


def test_no_one_takes_all() -> None:
    """A user's share across all their namespaces; loops of loading and unloading."""
    result = in_own_namespace("""
image = p.image([p.verdict(1)])
names = [f"n{k}" for k in range(40)]
result["loads"] = [p.load(image, name=name) for name in names]
result["unloads"] = [p.unload(name) for name in names]
result["loop"] = [p.load(image) or p.unload() for _ in range(30)][-1]
big = p.image([i.movi(2, 1) * 20000 + p.verdict(1)])
result["big"] = p.load(big)
result["memory"] = p.load(image, memory=1 << 40)
result["left"] = p.load(image)
""")
    errors = [error for error, _ in result["loads"]]
    assert errors == [0] * 16 + [-errno.EDQUOT] * 24
    assert "module parameter max_programs (16)" in result["loads"][16][1]
    assert result["unloads"] == [0] * 16 + [-errno.ENOENT] * 24
    assert result["big"][0] == -errno.ENOBUFS and "machine code" in result["big"][1]
    assert result["memory"][0] == -errno.EINVAL
    assert result["left"] == [0, ""]


# PRELUDE for users who have no network namespace yet.
BARE = f"import json, os, sys; sys.path.insert(0, {str(TESTS)!r}); import programs as p\n"
CONTAINER = """
import ctypes
libc = ctypes.CDLL(None)
assert not libc.unshare(0x50000000)  # of users and networks
print(flush=True)
sys.stdin.readline()
loads = []
for uid in range(3):
    libc.prctl(28, 1 << 2, 0, 0, 0)  # SECBIT_NO_SETUID_FIXUP: the rights stay
    os.setresuid(uid, uid, uid)
    loads += [p.load(p.image([p.verdict(1)]), name=f"n{uid}{k}")[0] for k in range(9)]
for program in p.programs():
    p.unload(program.name)
print(json.dumps(loads))
"""


def test_container_has_one_share() -> None:
    """Its root can act as any of its users, but has only one user's share."""
    loads = json.loads(in_namespace([sys.executable, "-c", BARE + CONTAINER], "root"))
    assert loads == [0] * 16 + [-errno.EDQUOT] * 11


# Users whom it does not map to other IDs keep their own shares.
PLAIN_CONTAINER = """
import ctypes
unshare = ctypes.CDLL(None).unshare
assert unshare(0x10000000) == 0  # CLONE_NEWUSER
print(flush=True)
user = int(input())
os.setuid(user)
assert unshare(0x50000000) == 0  # and CLONE_NEWNET
image = p.image([p.verdict(1)])
print(json.dumps([p.load(image, name=f"n{k}")[0] for k in range(17)]), flush=True)
input()
for k in range(16):
    p.unload(f"n{k}")
"""


def test_a_users_programs_are_not_roots() -> None:
    """In a container with the machine's IDs, of a namespace within."""
    command = [sys.executable, "-c", BARE + PLAIN_CONTAINER]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as inside:
        inside.stdout.readline()
        for ids in ("uid", "gid"):
            Path(f"/proc/{inside.pid}/{ids}_map").write_text("0 0 65536")
        inside.stdin.write(f"{pwd.getpwnam('outsider').pw_uid}\n")
        inside.stdin.flush()
        assert json.loads(inside.stdout.readline()) == [0] * 16 + [-errno.EDQUOT]
        assert p.load(p.image([p.verdict(1)])) == (0, "")
        inside.communicate("\n")


def test_another_namespace_is_out_of_reach() -> None:
    """Its programs are neither listed nor unloaded, and count for the same user."""
    holder = """
images = p.image([p.verdict(1)])
assert all(p.load(images, name=f"held{k}") == (0, "") for k in range(10))
print("up", flush=True)
input()
result["left"] = len(p.programs())
"""
    holder += UNLOAD + "print(json.dumps(result))"
    command = [*OWN, sys.executable, "-c", PRELUDE + holder]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    held = subprocess.Popen(command, **account("outsider"), **pipes)
    assert held.stdout.readline() == "up\n"
    body = """
image = p.image([p.verdict(1)])
result["seen"] = len(p.programs())
result["unload"] = p.unload("held1")
result["loads"] = [p.load(image, name=f"n{k}")[0] for k in range(16)]
"""
    other, same = in_own_namespace(body, "member"), in_own_namespace(body)
    left = json.loads(held.communicate("\n")[0])["left"]
    assert left == 10
    assert (other["seen"], other["unload"]) == (same["seen"], same["unload"]) == (0, -errno.ENOENT)
    assert other["loads"] == [0] * 16
    assert same["loads"] == [0] * 6 + [-errno.EDQUOT] * 10


def test_failing_programs_do_not_fill_the_log() -> None:
    """Each is switched off, and few are logged."""
    said = lambda: subprocess.run(["dmesg"], capture_output=True, text=True).stdout  # noqa: E731
    before, since = said().count("took off a program"), time.monotonic()
    result = in_own_namespace("""
image = p.image([p.verdict(4)])
result["states"] = []
for _ in range(60):
    assert p.load(image, errors_max=1) == (0, "")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        [s.sendto(b"x", ("127.0.0.1", 4000)) for _ in range(3)]
    result["states"].append(listed()["state"])
""")
    assert result["states"] == [1] * 60
    lines, took = said().count("took off a program") - before, time.monotonic() - since
    assert 1 <= lines <= 10 * (took // 5 + 2), (lines, took)


def test_command() -> None:
    """C compiled by clang, loaded, listed and unloaded by the command."""
    result = in_own_namespace(f"""
def run(*words):
    done = subprocess.run([{str(COMMAND)!r}, *words], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr
source = {str(TESTS.parent / "examples" / "netfilter" / "sources.c")!r}
result["source"] = run("load", "limit", source)
result["engines"] = [run("load", "--engine", e, "limit", "missing.lua") for e in ("luajit", "x")]
result["load"] = run("load", "--for", "netfilter", "--at", "inet input", "--engine", "confined",
                     "limit", {p.compiled("limit")!r})
result["arrives"] = arrives(4000, n=30)
result["others"] = arrives(4001, n=30)
result["json"] = json.loads(run("programs", "--json")[1])
result["table"] = run("programs")[1]
result["unload"] = [run("unload", "limit"), run("unload", "limit")]
""")
    assert result["source"][0] == 2
    assert "sources.c has to be compiled: cosy-cc --program " in result["source"][2]
    luajit, other = result["engines"]
    assert luajit[:2] == [2, ""]
    assert luajit[2].startswith("syscript: engine luajit has no programs: it can end a call only")
    assert other[0] == 2 and "engine 'x' is not confined" in other[2]
    assert result["load"] == [0, "", ""]
    assert 10 <= result["arrives"] <= 20  # in one second, or two
    assert result["others"] == 30
    (listed,) = result["json"]
    assert (listed["name"], listed["at"], listed["state"]) == ("limit", "inet input", "called")
    assert listed["calls"] >= 60 and not listed["errors"]
    assert result["table"].splitlines()[1].split()[:2] == ["limit", "netfilter"]
    assert result["unload"][0] == [0, "", ""]
    assert result["unload"][1][2] == "syscript: cannot unload limit: no such program\n"


def test_a_send_of_many_datagrams_is_one_packet() -> None:
    """What cuts them comes after netfilter: also for limits by packets."""
    result = in_own_namespace("""
result["load"] = p.load(p.image([p.verdict(p.ACCEPT)]), where="ip input")
udp = (socket.AF_INET, socket.SOCK_DGRAM)
with socket.socket(*udp) as to, socket.socket(*udp) as s:
    to.bind(("127.0.0.1", 4000))
    to.settimeout(10)
    s.setsockopt(17, 103, 100)  # UDP_SEGMENT
    s.sendto(b"x" * 6000, ("127.0.0.1", 4000))
    result["sizes"] = [len(to.recv(6000)) for _ in range(60)]
result["calls"] = listed()["calls"]
""")
    assert result["load"] == [0, ""]
    assert result["sizes"] == [100] * 60
    assert result["calls"] == 1


def test_tables() -> None:
    """State per source, shared by both CPUs: each source has its 20 datagrams, and again later."""
    result = in_own_namespace(f"""
from collections import Counter
load = [{str(COMMAND)!r}, "load", "twenty", {p.compiled("twenty")!r}]
result["load"] = subprocess.run([*load, "--at", "ip input"], capture_output=True, text=True).stderr
SOURCES = [f"127.0.0.{{k}}" for k in range(2, 12)]
to = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
to.bind(("127.0.0.1", 4000))
to.settimeout(0.2)
def send(barrier):
    sockets = []
    for source in SOURCES:
        s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        s.bind((source, 0))
        s.connect(("127.0.0.1", 4000))
        sockets.append(s)
    barrier.wait()
    for _ in range(40):
        for s in sockets:
            s.send(b"x")
def flood():
    barrier = threading.Barrier(2)
    threads = [threading.Thread(target=send, args=(barrier,)) for _ in range(2)]
    [t.start() for t in threads]
    got = Counter()
    while True:
        try:
            got[to.recvfrom(10)[1][0]] += 1
        except TimeoutError:
            if not any(t.is_alive() for t in threads):
                return [got[source] for source in SOURCES]
result["got"] = [flood()]
time.sleep(1.3)
result["got"].append(flood())
until = time.monotonic() + 30
while listed("twenty")["calls"] < 1600 and time.monotonic() < until:
    time.sleep(0.1)  # some wait to be received yet, on a busy machine
result["listed"] = listed("twenty")
""")
    assert result["load"] == ""
    assert result["listed"]["errors"] == 0, result["listed"]
    assert result["listed"]["calls"] == 1600
    assert result["got"] == [[20] * 10] * 2


SIX = """
import struct
UDP, UNKNOWN = 17, 255
HOP, ROUTING, FRAGMENT, ESP, AUTH, NONE, DEST = 0, 43, 44, 50, 51, 59, 60
DATAGRAM = struct.pack("!HHHH", 3001, 4000, 12, 0) + b"four"

def header(kind, following, size=8):
    if kind == AUTH:
        return bytes([following, size // 4 - 2]).ljust(size, b"\\0")
    return bytes([following, size // 8 - 1, 1, size - 4]).ljust(size, b"\\0")

def fragment(following, offset, more=1):
    return struct.pack("!BBHI", following, 0, offset * 8 | more, 7)

def send(first, *headers):
    body = b"".join(headers)
    ip = struct.pack("!IHBB", 6 << 28, len(body), first, 64) + bytes(15) + b"\\1"
    with socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_RAW) as s:
        s.sendto(ip + bytes(15) + b"\\1" + body, ("::1", 0))

def seen(*packet):
    "Transport and its offset, as a program sees them."
    send(*packet)
    value = int(one().error.rsplit(" ", 1)[1])
    return [value >> 16, value & 0xffff]

# Of all but the errors that are sent back.
says = (i.load(2, 1, 24, 1) + i.jump_ifi("ne", 2, 58, 2) + i.movi(0, 1) + i.EXIT
        + i.alui("lsh", 2, 16) + i.load(3, 1, 26, 2) + i.mov(1, 2)
        + i.alu("or", 1, 3) + i.outside(i.CALL_ABORT) + i.EXIT)
"""


def test_transport_behind_extension_headers() -> None:
    """The search through IPv6 headers is bounded; 255 if the transport is unknown."""
    result = in_own_namespace(
        SIX
        + """
assert p.load(p.image([says]), where="ip6 output", errors_max=1 << 30) == (0, "")
options = [header(DEST, DEST) for _ in range(8)]
result["plain"] = seen(UDP, DATAGRAM)
result["hop"] = seen(HOP, header(HOP, UDP), DATAGRAM)
result["options"] = seen(DEST, header(DEST, UDP, 64), DATAGRAM)
result["routing"] = seen(ROUTING, header(ROUTING, UDP, 24), DATAGRAM)
result["auth"] = seen(AUTH, header(AUTH, UDP, 24), DATAGRAM)
result["first"] = seen(FRAGMENT, fragment(UDP, 0), DATAGRAM)
result["only"] = seen(FRAGMENT, fragment(UDP, 0, 0), DATAGRAM)
result["later"] = seen(FRAGMENT, fragment(UDP, 1), DATAGRAM)
result["last"] = seen(FRAGMENT, fragment(UDP, 8191, 0), DATAGRAM)
result["later options"] = seen(FRAGMENT, fragment(DEST, 1), header(DEST, UDP), DATAGRAM)
result["three"] = seen(HOP, header(HOP, DEST), header(DEST, FRAGMENT, 16), fragment(UDP, 0),
                       DATAGRAM)
result["eight"] = seen(DEST, *options[:7], header(DEST, UDP), DATAGRAM)
result["nine"] = seen(DEST, *options, header(DEST, UDP), DATAGRAM)
result["ends"] = seen(DEST)
result["ends later"] = seen(DEST, header(DEST, DEST), b"\\x11\\0")
result["encrypted"] = seen(ESP, DATAGRAM)
result["nothing"] = seen(NONE)
p.unload()
"""
    )
    assert result == {
        "plain": [17, 40],
        "hop": [17, 48],
        "options": [17, 104],
        "routing": [17, 64],
        "auth": [17, 64],
        "first": [17, 48],
        "only": [17, 48],
        "later": [255, 48],
        "last": [255, 48],
        "later options": [255, 48],
        "three": [17, 72],
        "eight": [17, 104],
        "nine": [255, 104],
        "ends": [255, 40],
        "ends later": [255, 48],
        "encrypted": [50, 40],
        "nothing": [59, 40],
    }


def test_no_way_around_a_filter() -> None:
    """A datagram behind extension headers, which reaches its socket like any other."""
    result = in_own_namespace("""
IPV6_HOPOPTS, IPV6_DSTOPTS = 54, 59
PADDING = bytes([0, 0, 1, 4, 0, 0, 0, 0])
def reaches(option):
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as to, \\
         socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
        to.bind(("::1", 4000))
        to.settimeout(0.3)
        s.setsockopt(socket.IPPROTO_IPV6, option, PADDING)
        s.sendto(b"x", ("::1", 4000))
        try:
            return to.recv(10) == b"x"
        except TimeoutError:
            return False
result["before"] = [reaches(IPV6_HOPOPTS), reaches(IPV6_DSTOPTS)]
assert p.load(p.image([p.drop_port(4000)])) == (0, "")
result["after"] = [reaches(IPV6_HOPOPTS), reaches(IPV6_DSTOPTS)]
""")
    assert result == {"before": [True, True], "after": [False, False]}


BALANCE = """
import struct
for k in (1, 2, 3, 9):
    subprocess.run(["ip", "addr", "add", f"10.0.0.{k}/32", "dev", "lo"], check=True)
UDP = (socket.AF_INET, socket.SOCK_DGRAM)

def serve(kind):
    servers = []
    for k in (1, 2, 3):
        s = socket.socket(socket.AF_INET, kind)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind((f"10.0.0.{k}", 4000))
        s.settimeout(5)
        servers.append(s)
    return servers

def client(k, kind=socket.SOCK_DGRAM):
    "Whom the balancer sends to the server of this number."
    while True:
        s = socket.socket(socket.AF_INET, kind)
        s.settimeout(5)
        s.bind(("10.0.0.1", 0))
        if s.getsockname()[1] % 3 == k:
            return s
        s.close()

def udp():
    "To each server and back."
    said = []
    servers = serve(socket.SOCK_DGRAM)
    for k, server in enumerate(servers):
        with client(k) as s:
            s.sendto(b"question", ("10.0.0.9", 4000))
            text, peer = server.recvfrom(100)
            server.sendto(b"answer", peer)
            said.append([text.decode(), *map(str, s.recvfrom(100))])
    [s.close() for s in servers]
    return said

def tcp(size=1_000_000):
    "In segments of up to 64 KiB, by a connection to the service's address."
    server = serve(socket.SOCK_STREAM)[1]
    server.listen()
    data = bytes(range(256)) * (size // 256)
    with client(1, socket.SOCK_STREAM) as s:
        s.connect(("10.0.0.9", 4000))
        peer, _ = server.accept()
        thread = threading.Thread(target=s.sendall, args=(data,))
        thread.start()
        got = b""
        while len(got) < len(data):
            got += peer.recv(1 << 20)
        thread.join()
        return got == data

def total(data):
    n = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\\0" * (len(data) % 2)))
    while n >> 16:
        n = (n & 0xffff) + (n >> 16)
    return n

def raw(sum_is_right):
    "A datagram with the checksum that its sender computed; nothing corrects it later."
    source, to = socket.inet_aton("10.0.0.1"), socket.inet_aton("10.0.0.9")
    text = b"seven b"
    head = struct.pack("!HHHH", 3001, 4000, 8 + len(text), 0)
    pseudo = source + to + struct.pack("!HH", 17, 8 + len(text))
    sum_ = ~total(pseudo + head + text) & 0xffff
    head = head[:6] + struct.pack("!H", sum_ if sum_is_right else sum_ ^ 0x10)
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 28 + len(text), 7, 0, 64, 17, 0) + source + to
    servers = serve(socket.SOCK_DGRAM)
    servers[1].settimeout(0.3)
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as s:
        s.sendto(ip + head + text, ("10.0.0.9", 0))
    try:
        return servers[1].recvfrom(100)[0].decode()
    except TimeoutError:
        return None
    finally:
        [s.close() for s in servers]
"""

PLACED = """
def placed():
    "The address that fd00::9 becomes is here and not on the device, and the port is another one."
    for k in (1, 2):
        subprocess.run(["ip", "addr", "add", f"fd00::{k}/128", "dev", "lo", "nodad"], check=True)
    subprocess.run(["ip", "link", "add", "hole", "type", "dummy"], check=True)
    subprocess.run(["ip", "link", "set", "hole", "up"], check=True)
    subprocess.run(["ip", "route", "replace", "fd00::9/128", "dev", "hole"], check=True)
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as to, \
            socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
        to.bind(("fd00::2", 4006))
        s.bind(("fd00::1", 0))
        to.settimeout(2)
        s.sendto(b"six", ("fd00::9", 4005))
        return to.recv(10).decode()

def partial_sums():
    "Of a datagram that has been sent to another address, as it would go to a device."
    taps = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x800))
    taps.settimeout(2)
    udp()
    sums = []
    while len(sums) < 3:
        packet = taps.recv(2000)
        if packet[22:24] == struct.pack("!H", 4000) and packet[28:] == b"question":
            pseudo = packet[12:20] + struct.pack("!HH", 17, len(packet) - 20)
            sums.append(total(pseudo) == struct.unpack("!H", packet[26:28])[0])
    taps.close()
    return sums
"""


def test_rewrites() -> None:
    """Addresses and payload, with full and partial checksums, segments and fragments."""
    balance, changes = p.compiled("balance"), p.compiled("changes")
    result = in_own_namespace(
        BALANCE
        + PLACED
        + f"""
def load(name, file, where):
    return subprocess.run([{str(COMMAND)!r}, "load", "--at", where, name, file],
                          capture_output=True, text=True).stderr
result["load"] = load("balance", {balance!r}, "ip output")
result["load"] += load("fragments", {changes!r}, "ip prerouting -500")
result["load"] += load("out", {changes!r}, "ip6 output")
result["load"] += load("in", {changes!r}, "ip6 input")
result.update(udp=udp(), sums=partial_sums(), six=placed(), raw=[raw(True), raw(False)], tcp=tcp())
subprocess.run(["ip", "link", "set", "lo", "mtu", "1500"], check=True)
with socket.socket(*UDP) as to, socket.socket(*UDP) as s:
    to.bind(("10.0.0.2", 4001))
    to.settimeout(2)
    s.sendto(b"a" * 4000, ("10.0.0.2", 4001))
    result["fragments"] = to.recv(5000).decode()
result["listed"] = [x.__dict__ for x in p.programs()]
"""
    )
    assert result["load"] == ""
    assert result["udp"] == [["question", "b'answer'", "('10.0.0.9', 4000)"]] * 3
    assert result["raw"] == ["seven b", None]
    assert result["sums"] == [True] * 3
    assert result["six"] == "six"
    assert result["tcp"]
    assert result["fragments"] == "a" * 5 + "!" + "a" * 3994
    assert [x["errors"] for x in result["listed"]] == [0] * 4, result["listed"]


def test_reject_and_queue() -> None:
    """The sender is notified; no process reads the queue. Storing to immutable bytes fails."""
    result = in_own_namespace("""
store = (i.movi(1, 9) + i.imm64(2, 0x200, i.ARENA) + i.movi(3, 1) + i.outside(i.FUNCTION)
         + i.alui("add", 0, 2) + i.EXIT)
result["load"] = p.load(p.image([store]), data=bytes(0x201), functions=("packet_store",))
result["stored"] = arrives(4000)  # the protocol, which stays: -1 + 2 is ACCEPT, 0 + 2 is not
p.unload()
udp = i.load(2, 1, 24, 1) + i.jump_ifi("eq", 2, 17, 2) + p.verdict(p.ACCEPT)
result["reject"] = p.load(p.image([udp + p.verdict(p.REJECT)]), where="ip input")
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.connect(("127.0.0.1", 4000))
    s.settimeout(1)
    s.send(b"x")
    try:
        s.recv(1)
    except OSError as error:
        result["refused"] = error.errno
p.unload()
result["queue"] = p.load(p.image([p.verdict(p.QUEUE)]), where="ip input"), arrives(4000)
result["listed"] = listed()
""")
    assert result["load"] == [0, ""]
    assert result["stored"] == 1
    assert result["refused"] == errno.ECONNREFUSED
    assert result["queue"] == [[0, ""], 0]
    assert result["listed"]["errors"] == 0


def test_calls_of_processes() -> None:
    """Only processes in the namespace can call programs by name, with numbers."""
    result = in_own_namespace(f"""
def run(*words, lines=None):
    done = subprocess.run([{str(COMMAND)!r}, *words], capture_output=True, text=True, input=lines)
    return done.returncode, done.stdout, done.stderr
result["place"] = run("load", "sum", {p.compiled("sum")!r}, "--for", "process", "--at", "x")
result["load"] = run("load", "sum", {p.compiled("sum")!r}, "--for", "process")
result["calls"] = [run("call", "sum", *words)[:2] for words in (["1", "2"], ["-0x10"], ["0"] * 8)]
result["repl"] = run("repl", "--program", "sum", lines="1 1\\n7\\n")
result["text"] = [run("call", "sum", *words)[:2] for words in
                  (["5", "text:ab"], ["text:" + "c" * 256], [*["0"] * 8, "text:"])]
result["long"] = run("call", "sum", "text:" + "c" * 257)
result["undo"] = run("call", "sum", str(-(5 + 97 + 98 + 4 * 99)))[0]
result["spin"] = run("call", "sum")
result["off"] = [p.invoke("sum")[0] for _ in range(120)].count(-errno.EPROTO)
result["large"] = p.invoke("sum", (1 << 63) - 1, 2)
result["none"] = run("call", "none", "1")
result["words"] = run("call", "sum", "x")
result["many"] = run("call", "sum", *["1"] * 9)
assert p.load(p.image([p.verdict(1)])) == (0, "")
result["packets"] = run("call", "filter", "1")
result["unpriv"] = subprocess.run(
    ["setpriv", "--bounding-set=-all", "--inh-caps=-all", {str(COMMAND)!r}, "call", "sum", "0"],
    capture_output=True, text=True).stderr
result["listed"] = listed("sum")
result["unload"] = p.unload("sum"), p.invoke("sum", 1)[0]
""")
    assert result["place"][0] == 2 and "take no --at, so not 'x'" in result["place"][2]
    assert result["load"] == [0, "", ""]
    assert result["calls"] == [[0, "3\n"], [0, "-13\n"], [0, "-13\n"]]
    assert result["repl"][:2] == [0, "-11\n-4\n"]
    # Names of errors are for people.
    assert result["repl"][2].splitlines() == [
        "syscript: -11 is -EAGAIN: Resource temporarily unavailable",
        "syscript: -4 is -EINTR: Interrupted system call",
    ]
    assert result["spin"][0] == 1 and "over its budget" in result["spin"][2]
    # Wrong calls do not switch the program off.
    assert result["off"] == 120 and result["listed"]["state"] == 0
    assert result["large"][0] == 0 and result["large"][2] == (1 << 63) - 3  # it wraps
    assert result["none"] == [
        2,
        "",
        "syscript: cannot call none: no such program in this network namespace\n",
    ]
    assert "argument 'x' is not an integer" in result["words"][2]
    assert "9 arguments: 8 is the most" in result["many"][2]
    # After -4: both bytes; the requested four of 256; none, and none left of the last call.
    assert result["text"] == [[0, "196\n"], [0, "592\n"], [0, "592\n"]]
    assert "a text of 257 bytes: 256 is the most" in result["long"][2]
    assert result["packets"][0] == 2
    assert "program filter is for netfilter: processes can call only" in result["packets"][2]
    assert result["unpriv"] == ""
    assert (result["listed"]["subsystem"], result["listed"]["errors"]) == ("process", 121)
    assert result["unload"] == [0, -errno.ENOENT]
    # The program belongs to another namespace.
    assert p.invoke("sum", 1)[0] == -errno.ENOENT


def test_calls_while_replaced() -> None:
    """Programs are replaced, unloaded and loaded while called on all CPUs: success or an errno."""
    result = in_own_namespace("""
stop = False
seen = [{}, {}]
def call(k):
    while not stop:
        status, _, value = p.invoke("filter", 1)
        seen[k][f"{status} {value}"] = seen[k].get(f"{status} {value}", 0) + 1
threads = [threading.Thread(target=call, args=(k,)) for k in range(2)]
[t.start() for t in threads]
end, n = time.monotonic() + 2, 0
while time.monotonic() < end or (min(map(len, seen)) < 2 and n < 10_000):
    n += 1
    assert p.load(p.image([p.verdict(n % 2 + 5)]), subsystem="process", where="",
                  copies=0) == (0, ""), n
    if n % 8 == 0:
        assert p.unload() == 0
stop = True
[t.join() for t in threads]
result["seen"] = [sorted(s) for s in seen]
""")
    for seen in result["seen"]:
        assert set(seen) <= {"0 5", "0 6", f"{-errno.ENOENT} 0"} and len(seen) > 1


LUA = """
function run(packet)
  if packet.transport ~= 17 then return ACCEPT end
  local port = packet:u2(packet.l4 + 2)
  if port == 4000 then
    return DROP
  elseif port == 4001 then
    return packet:u1(9000) + 1
  elseif port == 4002 then
    while true do end
  end
  return ACCEPT
end
"""


def test_lua() -> None:
    """A filter in Lua: its verdicts, errors with lines, refused code, and calls."""
    sources = TESTS.parent / "examples" / "netfilter" / "sources.lua"
    result = in_own_namespace(f"""
def run(*words):
    done = subprocess.run([{str(COMMAND)!r}, *words], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr
def lua(source, name="filter", *words):
    with open("/tmp/filter.lua", "w") as f:
        f.write(source)
    return run("load", name, "/tmp/filter.lua", *words)
result["load"] = lua({LUA!r}, "filter", "--at", "inet input")
result["arrives"] = [arrives(port, family) for family in (socket.AF_INET, socket.AF_INET6)
                     for port in (4000, 4003)]
result["nil"] = arrives(4001), listed()["error"], listed()["errors"]
result["spin"] = arrives(4002), listed()["error"]
result["replace"] = run("load", "filter", {str(sources)!r}, "--at", "inet input")
result["limited"] = arrives(4000, n=30), arrives(4001, n=30)
result["listed"] = listed()
result["json"] = json.loads(run("programs", "--json")[1])[0]["name"]
result["refused"] = lua("function run(p)\\n return p.len .. 'x' end")
result["syntax"] = lua("function run(p\\n")
result["kept"] = listed()["loads"]
p.unload()
result["call"] = (lua("local n = 0 function run(a) n = n + a return n end", "count",
                      "--for", "process"), run("call", "count", "5"), run("call", "count", "6"))
result["missing"] = run("call", "count")
""")
    assert result["load"] == [0, "", ""]
    assert result["arrives"] == [0, 1, 0, 1]
    assert result["nil"] == [1, "filter:8: nil where a value is needed", 1]
    assert result["spin"][0] == 1 and result["spin"][1].startswith("filter:10: over its budget")
    assert result["replace"] == [0, "", ""]
    assert 10 <= result["limited"][0] <= 20 and result["limited"][1] == 30
    assert (result["listed"]["errors"], result["listed"]["error"]) == (2, "")
    assert result["json"] == "filter"
    text = "filter.lua:2: makes a string, but a call has no memory for it"
    assert result["refused"] == [1, "", f"syscript: {text}\n"]
    assert result["syntax"][0] == 1 and "filter.lua:2: " in result["syntax"][2]
    assert result["kept"] == 2
    assert [x[:2] for x in result["call"]] == [[0, ""], [0, "5\n"], [0, "11\n"]]
    assert result["missing"][0] == 1 and "count:1: nil where a" in result["missing"][2]


# Fields of the datagrams of arrives(), which another program has marked.
FIELDS = {
    "len": "== 128",
    "have": "== 64",
    "mark": "== 7",
    "indev": "== 1",
    "outdev": "== 1",
    "protocol": "== 0x800",
    "family": "== 2",
    "hook": "% 2 == 1",
    "transport": "== 17",
    "l4": "== 20",
    "ms": "> 0",
    "u1": "(9) == 17",
    "u2": "(22) == 4000",
}


def test_sees_what_it_reads() -> None:
    """A field is filled in even for a program that reads nothing else."""
    result = in_own_namespace(f"""
def load(name, source, where):
    with open("/tmp/field.lua", "w") as f:
        f.write(f"function run(p) {{source}} end")
    subprocess.run([{str(COMMAND)!r}, "load", name, "/tmp/field.lua", "--at", where], check=True)
load("marks", "p:set_mark(7) return ACCEPT", "inet output -5")
for name, value in {FIELDS!r}.items():
    place = "output" if name == "outdev" else "input"
    what = (":" if value[0] == "(" else ".") + name + value
    load("filter", f"return p{{what}} and ACCEPT or DROP", f"ip {{place}}")
    result[name] = arrives(4000)
    p.unload()
p.unload("marks")
""")
    assert result == dict.fromkeys(FIELDS, 1)


DROPS = """
local seen = program.table{{ "count", keys = 2, entries = 64, age = 1 }}
local n = 0
function run(packet)
  n = n + 1
  if packet.transport ~= 17 then return ACCEPT end
  return seen:add(packet:u2(packet.l4), {k}):add("count", 1) > 0 and DROP or ACCEPT
end
"""


@pytest.mark.long
def test_lua_under_traffic() -> None:
    """On two CPUs, with ageing and full tables: no packet passes during replacement."""
    result = in_own_namespace(f"""
stop = False
sent = [0, 0]
def send(k):
    while not stop:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            for _ in range(50):
                s.sendto(b"x" * 20, ("127.0.0.1", 4000 + k))
                sent[k] += 1
sockets = []
for k in range(2):
    to = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    to.bind(("127.0.0.1", 4000 + k))
    to.settimeout(0.1)
    sockets.append(to)
def load(k):
    with open("/tmp/drops.lua", "w") as f:
        f.write({DROPS!r}.format(k=k))
    words = [{str(COMMAND)!r}, "load", "filter", "/tmp/drops.lua", "--at", "inet input"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert not done.returncode, done.stderr
load(0)
threads = [threading.Thread(target=send, args=(k,)) for k in range(2)]
[t.start() for t in threads]
end, n = time.monotonic() + 6, 0
while time.monotonic() < end or n < 2:
    n += 1
    load(n)
stop = True
[t.join() for t in threads]
got = 0
for to in sockets:
    try:
        to.recv(100)
        got += 1
    except TimeoutError:
        pass
result.update(got=got, sent=sent, n=n, listed=listed())
""")
    assert result["got"] == 0
    assert min(result["sent"]) > 0
    assert result["listed"]["loads"] == result["n"] + 1
    assert (result["listed"]["errors"], result["listed"]["defaults"]) == (0, 0)
