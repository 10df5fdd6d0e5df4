# SPDX-License-Identifier: GPL-2.0
"""State that programs share by name, in a namespace of an ordinary user's own."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import programs as p
from runner import COMMAND
from test_programs import UNLOAD, in_own_namespace

LUA = f"""
def run(*words):
    done = subprocess.run([{str(COMMAND)!r}, *words], capture_output=True, text=True)
    return done.stderr or done.stdout.strip()
def lua(name, source, *words):
    path = f"/tmp/state-{{os.getpid()}}.lua"
    with open(path, "w") as f:
        f.write(source)
    return run("load", name, path, *(words or ("--for", "process")))
def value(key):
    return p.invoke("value", key)[2]
"""
TABLE = 'local t = program.table{{ "n", "last", name = "counts", entries = {entries}, {more} }} '
COUNTS = TABLE.format(entries=64, more="age = 0")
VALUE = COUNTS + "function run(k) local e = t:find(k) return e and e.n or -1 end"
ADD = COUNTS + 'function run(k, n) return t:add(k):add("n", n) end'


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    for program in p.programs():
        p.unload(program.name)


def test_lives_as_long_as_programs_name_it() -> None:
    result = in_own_namespace(
        LUA
        + f"""
result["load"] = [lua("add", {ADD!r}), lua("value", {VALUE!r})]
result["before"] = value(7)
result["add"] = run("call", "add", "7", "5")
result["after"] = value(7), value(8)
p.unload("add")
result["maker_gone"] = value(7)
result["replaced"] = lua("value", {VALUE!r}), value(7)
p.unload("value")
result["again"] = lua("value", {VALUE!r}), value(7)
"""
    )
    assert result == {
        "load": ["", ""],
        "before": -1,
        "add": "5",
        "after": [5, -1],
        "maker_gone": 5,
        "replaced": ["", 5],
        "again": ["", -1],
    }


def test_expires_and_replaces() -> None:
    """Age and eviction are those of any table; deleting is seen by all."""
    few = TABLE.format(entries=8, more="age = 1000")
    result = in_own_namespace(
        LUA
        + f"""
lua("add", {few!r} + 'function run(k) t:add(k).n = k return k end')
lua("value", {few!r} + "function run(k) local e = t:find(k) return e and e.n or -1 end")
lua("delete", {few!r} + "function run(k) return t:delete(k) end")
[p.invoke("add", k) for k in range(1, 10)]
result["ninth"] = [value(k) for k in range(1, 10)].count(-1)
result["delete"] = p.invoke("delete", 9)[2], p.invoke("delete", 9)[2], value(9)
time.sleep(1.3)
result["old"] = [value(k) for k in range(1, 10)] == [-1] * 9
"""
    )
    assert result == {"ninth": 1, "delete": [1, 0, -1], "old": True}


def test_all_define_it_alike() -> None:
    others = [
        TABLE.format(entries=128, more="age = 0"),
        TABLE.format(entries=64, more="age = 1"),
        TABLE.format(entries=64, more="keys = 2"),
        COUNTS.replace('"last"', '"first"'),
        COUNTS.replace(', "last"', ""),
    ]
    result = in_own_namespace(
        LUA
        + f"""
lua("value", {VALUE!r})
result["others"] = [lua("other", t + "function run(k) return t.n end".replace("t.n", use))
                    for t, use in zip({others!r}, ["t:add(k).n"] * 2 + ["t:add(k, k).n"]
                                      + ["t:add(k).n"] * 2)]
result["programs"] = [x.name for x in p.programs()]
p.unload("value")
result["alone"] = lua("other", {others[0]!r} + "function run(k) return t:add(k).n end")
"""
    )
    text = (
        "other programs share the table 'counts' with 64 entries, keys of 8 and values of 16 bytes "
        "('n last'), age 0: all must define it alike"
    )
    assert result["others"] == [f"syscript: cannot load other: {text}\n"] * 5
    assert result["programs"] == ["value"] and result["alone"] == ""


def test_refused_in_lua() -> None:
    two = 'local a, b = program.table{ "n", name = "x" }, program.table{ "n", name = "x" } '
    many = "local t = {} for k = 1, 9 do t[k] = program.table{ 'n', name = 'x' .. k } end "
    each = " + ".join(f"t[{k}]:add(1).n" for k in range(1, 10))
    names = ", ".join(f"'{'x' * 30}{k}'" for k in range(10))
    sources = [
        two + "function run() return a:add(1).n + b:add(1).n end",
        many.replace("t[k] =", "_G['t' .. k] =").replace("local t = {} ", "")
        + f"function run() return {each.replace('[', '').replace(']', '')} end",
        f"local t = program.table{{ {names}, name = 'x' }} function run() t:add(1) return 1 end",
        *(
            f"program.table{{ 'n', name = {name} }} function run() end"
            for name in ("''", "5", "'a b'", f"'{'x' * 32}'")
        ),
        "local t = program.table{ 'n', name = 'x', entries = 2^20 } "
        "function run(k) return t:add(k).n end",
    ]
    result = in_own_namespace(LUA + f"result['said'] = [lua('x', s) for s in {sources!r}]")
    said = result["said"]
    assert "two tables or rings with the name 'x'" in said[0]
    assert "more than 8 tables and rings with names" in said[1]
    assert "names of fields of more than 255 bytes" in said[2]
    assert all("name: 1 to 31 letters, digits or signs" in s for s in said[3:7]), said
    assert "over" in said[7] or "is outside" in said[7] or "module parameter" in said[7], said[7]


def test_refused_in_requests() -> None:
    good = p.image([p.verdict(1)])
    load = lambda *states, **options: p.load(good, states=states, **options)[0]  # noqa: E731
    wrong = [
        {"kind": 0},
        {"kind": 9},
        {"entries": 0},
        {"entries": 4},
        {"entries": 24},
        {"entries": 1 << 21},
        {"keys": 0},
        {"keys": 65},
        {"value": 1025},
        {"zero": 1},
        {"name": ""},
        {"name": "x" * 32},
        {"name": "a\nb"},
        {"fields": "f" * 256},
        {"fields": "\x7f"},
    ]
    assert [load(p.table(**w)) for w in wrong] == [-errno.EINVAL] * len(wrong)
    assert load(p.table(), p.table()) == -errno.EINVAL
    assert load(*(p.table(f"t{k}") for k in range(9))) == -errno.EINVAL
    assert load(p.table(), nstates=1 << 31) == -errno.EINVAL
    assert p.load(good, nstates=1)[0] in (-errno.EINVAL, -errno.EFAULT)
    # Tables are in the last pages of the memory, which is 64 KiB here.
    said = p.load(good, states=(p.table(entries=4096),))
    assert said[0] == -errno.EINVAL and "stacks or data reach there" in said[1]
    last = 0x10000 - 4096
    assert load(p.table(), data=bytes(last + 1)) == -errno.EINVAL
    assert load(p.table(), p.table("b"), data=bytes(last)) == -errno.EINVAL
    high = p.image([p.verdict(1)], stack_end=0xFFF0)
    assert p.load(high, states=(p.table(),))[0] == -errno.EINVAL
    # Charged before it is allocated.
    said = p.load(good, states=(p.table(entries=1 << 20, value=1024),), memory=1 << 20)
    assert said[0] == -errno.ENOBUFS and "of shared state, over the limit of" in said[1]
    assert not p.programs() and p.references() == 0
    assert load(p.table(), data=bytes(last)) == 0
    p.unload()


def test_other_namespaces_have_their_own() -> None:
    """Not even the same user's: nor has the machine, whose programs root loads."""
    body = (
        LUA
        + f"""
result["load"] = lua("value", {VALUE!r}), lua("add", {ADD!r})
result["before"] = value(1)
result["add"] = run("call", "add", "1", "1")
other = [*p.OWN, sys.executable, "-c", f"import sys; sys.path.insert(0, {{sys.path[0]!r}})\\n"]
"""
    )
    inner = body + UNLOAD + "print(json.dumps(result))"
    result = in_own_namespace(
        body
        + f"""
inner = "import ctypes, errno, json, os, socket, subprocess, sys, threading, time\\n"
inner += f"sys.path.insert(0, {{sys.path[0]!r}})\\nimport programs as p\\nresult = {{{{}}}}\\n"
inner += {inner!r}
done = subprocess.run([*p.OWN, sys.executable, "-c", inner], capture_output=True, text=True)
result["inner"] = json.loads(done.stdout) if done.stdout else done.stderr
result["still"] = value(1)
"""
    )
    assert result.pop("inner") == {"load": ["", ""], "before": -1, "add": "1"}, result
    assert result == {"load": ["", ""], "before": -1, "add": "1", "still": 1}


BOTH = """
local t = program.table{ "n", "last", name = "counts", entries = 64, age = 0 }
function run(packet)
  if packet.transport == 17 then t:add(packet:u2(packet.l4 + 2)):add("n", 1) end
  return ACCEPT
end
"""


def test_two_hooks_on_two_cpus_count_all() -> None:
    result = in_own_namespace(
        LUA
        + f"""
result["load"] = [lua("out", {BOTH!r}, "--at", "ip output"),
                  lua("in", {BOTH!r}, "--at", "ip input"), lua("value", {VALUE!r})]
def send(k):
    os.sched_setaffinity(0, {{k}})
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        for n in range(2000):
            s.sendto(b"x", ("127.0.0.1", 4000 + n % 2))
threads = [threading.Thread(target=send, args=(k,)) for k in range(2)]
[t.start() for t in threads]
[t.join() for t in threads]
until = time.monotonic() + 30
while value(4000) + value(4001) < 8000 and time.monotonic() < until:
    time.sleep(0.1)
result["counts"] = value(4000), value(4001)
result["errors"] = [x.errors for x in p.programs()]
"""
    )
    assert result == {"load": ["", "", ""], "counts": [4000, 4000], "errors": [0, 0, 0]}


def test_spoilt_replaced_and_unloaded_in_use() -> None:
    """A program overwrites the table's pages, while others use it on both CPUs, come and go."""
    result = in_own_namespace(
        LUA
        + f"""
spoil = [i.imm64(1, 0xF000, i.ARENA), i.movi(2, 0x55555555), i.movi(3, 480),
         i.store(1, 0, 2, 8), i.alui("add", 1, 8), i.alui("mul", 2, 0x2545f491),
         i.alui("sub", 3, 1), i.jump_ifi("ne", 3, 0, -5), i.movi(0, 1), i.EXIT]
spoiler = p.image([b"".join(spoil)])
state = p.table("counts", 64, 8, 16, 0, "n last")
assert lua("out", {BOTH!r}, "--at", "ip output") == ""
assert p.load(spoiler, name="spoil", where="ip output 5", states=(state,)) == (0, "")
done = threading.Event()
def send(k):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        n = 0
        while not done.is_set():
            s.sendto(b"x", ("127.0.0.1", 4000 + n % 50))
            n += 1
threads = [threading.Thread(target=send, args=(k,)) for k in range(2)]
[t.start() for t in threads]
loads = []
until = time.monotonic() + 3
while time.monotonic() < until:
    loads.append(p.load(spoiler, name="come", where="ip output 9", states=(state,))[0])
    loads.append(p.load(spoiler, name="spoil", where="ip output 5", states=(state,))[0])
    p.unload("come")
p.unload("out")
done.set()
[t.join() for t in threads]
result["loads"] = set(loads) == {{0}}, len(loads) > 2
result["spoil"] = listed("spoil")["errors"]
"""
    )
    assert result == {"loads": [True, True], "spoil": 0}


TRACKED = """
local t = program.table{ "n", "last", name = "counts", entries = 64, age = 0 }
function run(packet)
  if packet.state == NEW then t:add(1):add("n", 1) end
  if packet.state == ESTABLISHED then t:add(2):add("n", 1) end
  if packet.state == RELATED then t:add(3):add("n", 1) end
  if packet.state == UNTRACKED then t:add(0):add("n", 1) end
  return ACCEPT
end
"""


def test_connection_tracking() -> None:
    """The state of a packet, where rules ask for tracking, and where none does."""
    subprocess.run(["modprobe", "-a", "nf_conntrack", "nft_ct"], check=True)
    result = in_own_namespace(
        LUA
        + f"""
result["load"] = lua("early", {TRACKED!r}, "--at", "ip input -300"), lua("value", {VALUE!r})
def states():
    now = [max(0, value(k)) for k in range(4)]
    new, before[:] = [a - b for a, b in zip(now, before)], now
    return new
def exchange():
    "A datagram, its answer, and one to a port that is closed, which causes an error."
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as a:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as b:
            for s in (a, b):
                s.bind(("127.0.0.1", 0))
                s.settimeout(5)
            a.sendto(b"x", b.getsockname())
            b.sendto(b"y", b.recvfrom(9)[1])
            a.recv(9)
            at = b.getsockname()
        a.connect(at)
        a.send(b"z")
        try:
            a.recv(9)
        except ConnectionRefusedError:
            pass
before = [0] * 4
exchange()
result["off"] = states()
rules = ("add table inet t", "add chain inet t c {{ type filter hook input priority 0; }}",
         "add rule inet t c ct state new")
for rule in rules:
    subprocess.run(["nft", rule], check=True)
exchange()
result["on"] = states()
with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP) as s:
    # Begins, ends and resets a connection.
    s.sendto(bytes([9, 9, 9, 9, *[0] * 8, 0x50, 7, *[0] * 6]), ("127.0.0.1", 0))
result["invalid"] = states()
for rule in ("add chain inet t raw {{ type filter hook output priority -300; }}",
             "add rule inet t raw notrack"):
    subprocess.run(["nft", rule], check=True)
exchange()
result["notrack"] = states()
"""
    )
    # A datagram, its answer, one to the closed port, and the error.
    assert result == {
        "load": ["", ""],
        "off": [4, 0, 0, 0],
        "on": [0, 1, 2, 1],
        "invalid": [1, 0, 0, 0],
        "notrack": [4, 0, 0, 0],
    }


def test_a_users_share_includes_them() -> None:
    """Each program that names a table pays for all of it."""
    result = in_own_namespace("""
good = p.image([p.verdict(1)], shift=20)
state = p.table("big", 1 << 14, 8, 8)
result["loads"] = [p.load(good, name=f"n{k}", memory=4 << 20, states=(state,))[0] for k in range(6)]
result["memory"] = [x.memory for x in p.programs()]
""")
    assert result["loads"] == [0] * 4 + [-errno.EDQUOT] * 2
    assert all(m > 1 << 20 for m in result["memory"])


CGROUP = Path("/sys/fs/cgroup/states")


def load_with(headroom: int) -> int:
    """Load where the control group's limit leaves @headroom bytes: 0, errno, or -9 if killed."""
    child = os.fork()
    if not child:
        (CGROUP / "cgroup.procs").write_text(str(os.getpid()))
        used = int((CGROUP / "memory.current").read_text())
        (CGROUP / "memory.max").write_text(str(used + headroom))
        states = (
            p.table(entries=1 << 15, value=16),
            p.table("ring", 1 << 14, 0, 64, kind=p.RING),
        )
        good = p.image([p.verdict(1)], shift=21)
        os._exit(-p.load(good, memory=8 << 20, states=states)[0])
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_no_memory() -> None:
    """Where the memory cgroup has too little for a part of it, nothing is left."""
    (CGROUP.parent / "cgroup.subtree_control").write_text("+memory")
    CGROUP.mkdir()
    try:
        ends = []
        for headroom in range(256 << 10, 6 << 20, 512 << 10):
            (CGROUP / "memory.max").write_text("max")
            ends.append(load_with(headroom))
            assert len(p.programs()) == (ends[-1] == 0)
            p.unload()
            assert p.references() == 0
    finally:
        CGROUP.rmdir()
    assert ends[0] != 0 and ends[-1] == 0, ends
    assert set(ends) <= {0, errno.ENOMEM, -9}


NONE = "there is none that you may load"
SCALED = COUNTS + "local factor = 3 function run(k, n) return t:add(k):add('n', n) * factor end"


def test_prompt() -> None:
    """Lua for a loaded program's state: shared, within a budget, and nothing is left of it."""
    lines = [
        "t:find(7).n",
        "t:add(8).n = 40 t:add(9).n = 2",
        "t:find(8).n + t:find(9).n * factor",
        "for i = 1, 3 do t:add(7):add('n', i) end",
        "t:delete(9)",
        "",
        "t:find(9).n",
        "x = 1",
        "t:find(",
        "syscall.getpid()",
        "while true do end",
        "return run(7, 1) end end do do return 4",
    ]
    result = in_own_namespace(
        LUA
        + f"""
def prompt(lines, *before):
    path = f"/tmp/state-{{os.getpid()}}.lua"
    done = subprocess.run([*before, {str(COMMAND)!r}, "repl", "--program", "add", path],
                          capture_output=True, text=True, input="\\n".join(lines))
    return done.returncode, done.stdout.split(), done.stderr.splitlines()
open(f"/tmp/state-{{os.getpid()}}.lua", "w").close()
result["unloaded"] = prompt(["1"])
result["load"] = lua("add", {SCALED!r}), run("call", "add", "7", "5")
result["lines"] = prompt({lines!r})
result["after"] = p.invoke("add", 7, 0)[2], [x.name for x in p.programs()]
result["rights"] = prompt(["t:add(7).n = 0"], "setpriv", "--bounding-set=-all", "--inh-caps=-all")
result["held"] = p.invoke("add", 7, 0)[2]
"""
    )
    assert result["unloaded"][:2] == [2, []] and NONE in result["unloaded"][2][0]
    assert result["load"] == ["", "15"]
    status, said, errors = result["lines"]
    assert said == ["5", "0", "46", "0", "1"]
    assert status == 1
    reasons = [
        "nil where a value is needed",
        "sets a global",
        "near 'end'",
        "a table with a metatable",
        "over its budget",
        "a function that calls itself",
    ]
    assert all(reason in error for reason, error in zip(reasons, errors, strict=True)), errors
    assert result["after"] == [33, ["add"]]
    assert result["rights"][:2] == [2, []] and NONE in result["rights"][2][0]
    assert result["held"] == 33
