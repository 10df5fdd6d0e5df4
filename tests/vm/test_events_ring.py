# SPDX-License-Identifier: GPL-2.0
"""Rings that programs write to and processes read."""

from __future__ import annotations

import errno
import re
import select
import subprocess
import sys
from collections.abc import Iterator

import firewall_page
import programs as p
import pytest
from runner import COMMAND, account
from test_programs import TESTS, in_own_namespace
from test_states import LUA

RING = 'local e = program.events{{ "a", "b", name = "ring", records = {records} }} '
PUT = RING.format(records=8) + "function run(a, b) return e:put(a, b) end"
READ = """
import select, struct
def opened(name="ring"):
    "A descriptor and the request's results, or -errno."
    fd, size, fields = p.open_ring(name)
    if fd < 0:
        return fd, None
    os.set_blocking(fd, False)
    return fd, (size, fields)
def records(fd, size=65536):
    "Number and values of each record that is there; EOF: an empty list; else -errno."
    try:
        data = os.read(fd, size)
    except OSError as error:
        return -error.errno
    return [[r[0], *r[2:]] for r in struct.iter_unpack("<QQqq", data)]
def put(a, b=0):
    return p.invoke("put", a, b)[2]
def polled(fd):
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    return [event for _, event in poll.poll(0)]
def noted(fd):
    lines = open(f"/proc/self/fdinfo/{fd}").read().splitlines()
    return {k.removeprefix("syscript-"): int(v) for k, _, v in (x.partition(":") for x in lines)
            if k.startswith("syscript-")}
"""

# A program that writes to the ring, and a reader.
OPENED = (
    LUA
    + READ
    + f"""
lua("put", {PUT!r})
fd, _ = opened()
"""
)


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    for program in p.programs():
        p.unload(program.name)


def test_records_arrive_in_order() -> None:
    """Also those from before the reader; the end comes with the last program."""
    result = in_own_namespace(
        LUA
        + READ
        + f"""
result["none"] = opened()[0]
result["load"] = lua("put", {PUT!r}), lua("too", {PUT!r})
put(1, -1), put(2, -2)
fd, result["what"] = opened()
result["polled"] = polled(fd)
result["got"] = [records(fd), records(fd)], polled(fd)
put(3)
result["small"] = records(fd, 31), records(fd, 33)
p.unload("put")
p.invoke("too", 4, 4)
result["goes_on"] = records(fd)
p.invoke("too", 5, 5)
p.unload("too")
result["ended"] = records(fd), polled(fd), opened()[0]
lua("put", {PUT!r})
put(6)
result["another"] = records(fd), records(opened()[0])
"""
    )
    assert result == {
        "none": -errno.ENOENT,
        "load": ["", ""],
        "what": [16, "a b"],
        "polled": [1],
        "got": [[[[0, 1, -1], [1, 2, -2]], -errno.EAGAIN], []],
        "small": [-errno.EINVAL, [[2, 3, 0]]],
        "goes_on": [[3, 4, 4]],
        "ended": [[], [16], -errno.ENOENT],
        "another": [[], [[0, 6, 0]]],
    }


def test_full_ring_drops_and_counts() -> None:
    result = in_own_namespace(
        OPENED
        + """
result["put"] = [put(k) for k in range(11)]
result["noted"] = noted(fd)
result["first"] = records(fd, 64)
result["put"] += [put(k) for k in range(11, 14)]
result["rest"] = [r[0] for r in records(fd)]
result["then"] = noted(fd)
"""
    )
    assert result["put"] == [1] * 8 + [0] * 3 + [1] * 2 + [0]
    assert result["noted"] == {"records": 11, "dropped": 3, "unread": 8}
    assert result["first"] == [[0, 0, 0], [1, 1, 0]]
    assert result["rest"] == [2, 3, 4, 5, 6, 7, 11, 12]
    assert result["then"] == {"records": 14, "dropped": 4, "unread": 0}


def test_bad_buffer_loses_nothing() -> None:
    """A record stays until a reader has it, and what fits before the buffer's fault is read."""
    result = in_own_namespace(
        OPENED
        + """
import ctypes, mmap
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
pages = libc.mmap(None, 8192, 3, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
libc.mprotect(ctypes.c_void_p(pages + 4096), 4096, 0)
def read_to(address):
    n = libc.read(fd, ctypes.c_void_p(address), 4096)
    return n if n >= 0 else -ctypes.get_errno()
[put(k) for k in range(3)]
result["bad"] = [read_to(pages + 4096 - back) for back in (0, 31)], noted(fd)["unread"]
result["part"] = read_to(pages + 4096 - 32 - 31), records(fd)
"""
    )
    assert result["bad"] == [[-errno.EFAULT] * 2, 3]
    assert result["part"] == [32, [[1, 1, 0], [2, 2, 0]]]


def test_two_readers_and_a_dead_one() -> None:
    """Each record is read once; a killed reader's ring goes on; a waiting one is woken."""
    result = in_own_namespace(
        LUA
        + READ
        + f"""
lua("put", {PUT!r})
(one, _), (two, _) = opened(), opened()
[put(k) for k in range(4)]
result["shared"] = records(one, 64), records(two), records(one)
waiting = os.fork()
if not waiting:
    os.set_blocking(one, True)
    os.read(one, 4096)
    os._exit(0)
time.sleep(0.3)
os.kill(waiting, 9)
result["killed"] = os.waitpid(waiting, 0)[1]
put(7)
result["after"] = records(two)
waiting = os.fork()
if not waiting:
    os.set_blocking(one, True)
    os._exit(len(os.read(one, 4096)))
time.sleep(0.3)
put(8)
result["woken"] = os.waitpid(waiting, 0)[1] >> 8
epoll = select.epoll()
os.set_blocking(one, False)
epoll.register(one, select.EPOLLIN | select.EPOLLET)
threading.Timer(0.3, put, (9,)).start()
result["epoll"] = [event for _, event in epoll.poll(10)], records(one)
threading.Timer(0.3, p.unload, ("put",)).start()
result["hangup"] = [event for _, event in epoll.poll(10)], records(one), records(two)
"""
    )
    assert result == {
        "shared": [[[0, 0, 0], [1, 1, 0]], [[2, 2, 0], [3, 3, 0]], -errno.EAGAIN],
        "killed": 9,
        "after": [[4, 7, 0]],
        "woken": 32,
        "epoll": [[1], [[6, 9, 0]]],
        "hangup": [[16], [], []],
    }


def test_end_reaches_exclusive_waiters() -> None:
    """The end is for all readers, though a record wakes one of those with EPOLLEXCLUSIVE."""
    result = in_own_namespace(
        OPENED
        + """
pollers = [select.epoll() for _ in range(3)]
for poller in pollers:
    poller.register(fd, select.EPOLLIN | select.EPOLLEXCLUSIVE)
waiting = []
for poller in pollers:
    waiting.append(os.fork())
    if not waiting[-1]:
        os._exit(sum(event for _, event in poller.poll(10)))
time.sleep(0.5)
p.unload("put")
result["ends"] = [os.waitpid(pid, 0)[1] >> 8 for pid in waiting]
"""
    )
    assert result["ends"] == [select.EPOLLHUP] * 3


def test_killed_when_a_record_arrives() -> None:
    """A reader that is killed before it gets a CPU to take the record ends."""
    result = in_own_namespace(
        OPENED
        + """
os.set_blocking(fd, True)
os.sched_setaffinity(0, {0})
result["ends"] = []
for n in range(10):
    waiting = os.fork()
    if not waiting:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        while True:
            os.read(fd, 32)
    time.sleep(0.1)
    put(n)
    os.kill(waiting, 9)
    until = time.monotonic() + 10
    while not (done := os.waitpid(waiting, os.WNOHANG))[0] and time.monotonic() < until:
        time.sleep(0.01)
    result["ends"].append(done[1])
"""
    )
    assert result["ends"] == [9] * 10


def test_outlives_its_namespace() -> None:
    """A descriptor works in another namespace, cannot be opened again, and sees the end."""
    result = in_own_namespace(
        LUA
        + READ
        + f"""
ours, theirs = socket.socketpair()
child = os.fork()
if not child:
    ctypes.CDLL(None).unshare(0x40000000)  # CLONE_NEWNET
    lua("put", {PUT!r})
    put(1)
    socket.send_fds(theirs, [b"x"], [opened()[0]])
    theirs.recv(1)
    os._exit(0)
(fd,) = socket.recv_fds(ours, 1, 1)[1]
result["here"] = opened()[0]
result["read"] = records(fd)
try:
    os.open(f"/proc/self/fd/{{fd}}", os.O_RDONLY)
except OSError as error:
    result["reopened"] = error.errno
os.set_blocking(fd, True)
threading.Timer(0.3, ours.send, (b"x",)).start()
result["end"] = records(fd), polled(fd), noted(fd)
os.waitpid(child, 0)
"""
    )
    assert result == {
        "here": -errno.ENOENT,
        "read": [[0, 1, 0]],
        "reopened": errno.EACCES,
        "end": [[], [16], {"records": 1, "dropped": 0, "unread": 0}],
    }


FLOOD = """
local e = program.events{ "port", "hook", name = "ring", records = 65536 }
function run(packet)
  if packet.transport == 17 then e:put(packet:u2(packet.l4 + 2), packet.hook) end
  return ACCEPT
end
"""


def test_two_cpus_lose_nothing() -> None:
    """Two hooks write on both CPUs while two readers read, and programs are replaced."""
    result = in_own_namespace(
        LUA
        + READ
        + f"""
where = {{"out": "ip output", "in": "ip input"}}
result["load"] = [lua(name, {FLOOD!r}, "--at", at) for name, at in where.items()]
got, done = [[], []], threading.Event()
fds = [opened()[0] for _ in range(2)]
def read(k):
    while not done.is_set():
        new = records(fds[k], 320)
        if isinstance(new, list):
            got[k] += new
        else:
            time.sleep(0.002)
def send(k):
    os.sched_setaffinity(0, {{k}})
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        for n in range(1000):
            s.sendto(b"x", ("127.0.0.1", 4000 + k))
readers = [threading.Thread(target=read, args=(k,)) for k in range(2)]
senders = [threading.Thread(target=send, args=(k,)) for k in range(2)]
[t.start() for t in readers + senders]
result["replaced"] = lua("out", {FLOOD!r}, "--at", "ip output")
[t.join() for t in senders]
until = time.monotonic() + 30
while sum(map(len, got)) < 4000 and time.monotonic() < until:
    time.sleep(0.1)
done.set()
[t.join() for t in readers]
both = got[0] + got[1]
result["numbers"] = sorted(r[0] for r in both) == list(range(4000))
result["each"] = sorted({{(port, hook): sum(r[1:] == [port, hook] for r in both)
                         for port in (4000, 4001) for hook in (1, 3)}}.values())
result["ordered"] = all(g == sorted(g) for g in ([r[0] for r in k] for k in got))
"""
    )
    assert result == {
        "load": ["", ""],
        "replaced": "",
        "numbers": True,
        "each": [1000] * 4,
        "ordered": True,
    }


def test_who_may_read() -> None:
    """Not a user without rights over the namespace, nor another namespace of the same user."""
    source = RING.format(records=8) + "function run() e:put(1, 2) return 0 end"
    assert (
        subprocess.run(
            [COMMAND, "load", "timer", "-", "--for", "process"],
            input=source,
            text=True,
            capture_output=True,
        ).returncode
        == 0
    )
    body = f"import sys\nsys.path[:0] = [{str(TESTS)!r}]\nimport os, programs as p\n" + READ
    body += "print(opened()[0])"
    other = subprocess.run(
        [sys.executable, "-c", body], **account("outsider"), capture_output=True, text=True
    )
    assert int(other.stdout) == -errno.EPERM, other.stderr
    assert in_own_namespace(LUA + READ + 'result["opened"] = opened()[0]') == {
        "opened": -errno.ENOENT
    }


def test_refused() -> None:
    good = p.image([p.verdict(1)])
    ring = lambda **o: p.table("ring", **{"kind": p.RING, "keys": 0, "value": 16} | o)  # noqa: E731
    wrong = [{"entries": 4}, {"entries": 1 << 17}, {"keys": 8}, {"value": 0}, {"value": 12}]
    wrong += [{"value": 72}, {"age": 1}, {"zero": 1}]
    loads = [p.load(good, states=(ring(**w),))[0] for w in wrong]
    assert loads == [-errno.EINVAL] * len(wrong)
    said = p.load(good, states=(ring(entries=1 << 16, value=64),), memory=1 << 20)
    assert said[0] == -errno.ENOBUFS and "of shared state, over the limit of" in said[1]
    sources = {
        "program.events{ name = 'x' } function run() end": "at least 1 field",
        "program.events{ 'a' } function run() end": "name: 1 to 31 letters, digits or signs",
        "program.events{ 'a', name = 'x', records = 9 } function run() end": "a power of 2 from",
        "local e = program.events{ 'a', name = 'x' } function run() e:put() return 1 end": (
            "put takes 1 argument"
        ),
        "local e = program.events{ 'a', name = 'x' } function run() e:get(1) return 1 end": (
            "program.events has no method 'get'"
        ),
        "local e, t = program.events{ 'a', name = 'x' }, program.table{ 'a', name = 'x' } "
        "function run() e:put(1) return t:add(1).a end": "two tables or rings with the name 'x'",
    }
    result = in_own_namespace(LUA + f"result['said'] = [lua('x', s) for s in {list(sources)!r}]")
    for text, said in zip(sources.values(), result["said"], strict=True):
        assert text in said, (text, said)


def test_command() -> None:
    """The page's program and command: what it prints, and that it ends."""
    (source,) = re.findall(
        r"```lua\n(local events = program.events.*?)```", firewall_page.LUA_PAGE.read_text(), re.S
    )
    result = in_own_namespace(
        LUA
        + f"""
result["none"] = run("events", "unasked")
result["load"] = lua("unasked", {source!r}, "--at", "ip input")
readers = [subprocess.Popen([{str(COMMAND)!r}, "events", *words, "unasked"], text=True,
                            stdout=subprocess.PIPE) for words in ((), ("--json",))]
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.bind(("127.0.0.1", 5555))
    for _ in range(20):
        s.sendto(b"x", ("127.0.0.1", 4444))
        time.sleep(0.05)
result["passes"] = arrives(4000)
time.sleep(0.5)
p.unload("unasked")
text, lines = (r.communicate(timeout=30)[0] for r in readers)
result["status"] = [r.returncode for r in readers]
result["text"] = [line.split(maxsplit=2)[2] for line in text.splitlines()]
result["json"] = [json.loads(line) for line in lines.splitlines()]
result["number"] = sorted([int(line.split()[0]) for line in text.splitlines()]
                          + [x["number"] for x in result["json"]])
"""
    )
    assert "no program has such a ring" in result["none"]
    assert (result["load"], result["passes"], result["status"]) == ("", 1, [0, 0])
    assert result["number"] == list(range(20))
    assert set(result["text"]) <= {f"from={0x7F000001} port=5555"}
    assert all(x["from"] == 0x7F000001 and x["port"] == 5555 for x in result["json"])
