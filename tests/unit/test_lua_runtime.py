# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Lua on the confined engine in this process; tests/vm has it in the kernel."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import signal
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from confined import kept, puc, stopped
from confined.subject import Machine
from conftest import BUILD, ROOT
from library import Library, Options
from runner import (
    ATTACKS,
    COMMAND,
    CONFINED,
    CONFINED_CORPUS,
    CONFINED_LIMITS,
    CORPUS_LIMITS,
    SPECIAL,
    USER,
    Attack,
    confined_lua,
    here,
    outcome,
)


def run(*words: str | Path, **options) -> subprocess.CompletedProcess[str]:
    command = [*confined_lua("user"), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **options)


@pytest.mark.parametrize("script", CONFINED_CORPUS, ids=lambda path: path.stem)
def test_does_as_luajit(script: Path) -> None:
    """Both engines have the same expected output."""
    confined = outcome(here, [*confined_lua("user"), *CORPUS_LIMITS, str(script)])
    assert confined == outcome(here, USER[1].command(script, *CORPUS_LIMITS))
    assert confined.status == 0


@pytest.mark.sample(5)
@pytest.mark.parametrize("script", CONFINED_CORPUS, ids=lambda path: path.stem)
def test_next_scripts_do_the_same(script: Path) -> None:
    """Later scripts begin with a copy of an earlier one's memory, if their limit is the same."""
    library, seen = Library(), []
    options = {"engine": 0x101, "backend": 2}
    fds = [library.register(b"function run() end", memory=8 << 20, **options)[0]]
    for memory in (8 << 20, 8 << 20, 7 << 20):
        fd, text = library.register(script.read_bytes(), memory, **options)
        assert fd >= 0, text
        seen.append((library.call(fd)[0], library.error(fd), library.output(fd)))
        fds.append(fd)
    for fd in fds:
        library.so.syscript_close(fd)
    assert seen[0][0] >= 0
    assert seen[0] == seen[1] == seen[2]


@pytest.mark.parametrize("check", kept.CHECKS, ids=lambda check: check.__name__)
def test_begins_as_an_earlier_one(check: Callable[[kept.Scripts], None]) -> None:
    check(kept.Scripts(2))


NAMES = """
local stamp = util.buffer(16)
local function now()
  syscall.clock_gettime(const.CLOCK_PROCESS_CPUTIME_ID, stamp)
  return util.peek(stamp, "i8") * 1e9 + util.peek(stamp + 8, "i8")
end
local names = {}
local function letters(i)
  return string.char(97 + i % 20, 97 + math.floor(i / 20) % 20, 97 + math.floor(i / 400))
end
local function took(before, after)
  for i = 0, 7999 do names[before .. letters(i) .. after] = i end
  local begin = now()
  for i = 0, 7999 do assert(names[before .. letters(i) .. after] == i) end
  return now() - begin
end
local times = { took("", "_name"), took("name_", ""), took("a longer name ", "") }
table.sort(times)
print(times[#times] / times[1])
"""


def test_names_that_end_differently() -> None:
    """Hashing must use the last characters of names, too."""
    done = run("--memory-limit", "8M", "--time-limit", "10s", "-e", NAMES)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 2.3


# One script lowers its priority, and is only limited by CPU time here: it takes for ever.
MODE = CONFINED["user"]
HOSTILE = [a for a in map(Attack.read, ATTACKS) if a.suits(MODE) and a.path.stem != "scheduling"]


@pytest.mark.sample(2)
@pytest.mark.parametrize("attack", HOSTILE, ids=lambda attack: attack.path.stem)
def test_attack(attack: Attack) -> None:
    attack.check(here, MODE)


@pytest.mark.parametrize("name", puc.LEFT_OUT)
def test_puc(name: str) -> None:
    done = run(*puc.LIMITS, "-", input=puc.script(name), encoding="latin-1")
    assert (done.returncode, done.stderr) == (0, "")


DEEP = ROOT / "tests" / "confined" / "deep.lua"


@pytest.mark.parametrize("compiled", ["yes", "no"])
@pytest.mark.parametrize("depth", [50, 2001, 0])
def test_recursion_through_c(depth: int, compiled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every kind, as deep as Lua's stack allows, and beyond; the library promises 2,000."""
    monkeypatch.setenv("SYSCRIPT_LUA_COMPILE", compiled)
    done = run(*CORPUS_LIMITS, DEEP, depth)
    assert (done.returncode, done.stderr) == (0, "")
    assert (done.stdout.strip("\t\n"), "wrong" in done.stdout) == ("0", False)


GROWING = {
    "called": "local function f(...) return 1 + f(1, ...) end return f()",
    "tail-called": "local function f(...) return f(1, ...) end return f()",
    "doubled": "local function f(...) return #{...} + f(..., ...) end return f()",
    "plain": "local function f(n) return 1 + f(n + 1) end return f(1)",
}


# On LuaJIT a growing tail call takes seconds.
ENDLESS = [
    *(("confined", how, memory) for how in GROWING for memory in ("1M", "8M")),
    *(("luajit", how, "1M") for how in GROWING if how != "tail-called"),
]


@pytest.mark.parametrize(("engine", "how", "memory"), ENDLESS)
def test_endless_recursion(engine: str, how: str, memory: str) -> None:
    """The stack overflows before memory or time ends, and the script goes on."""
    code = f"""
        local function grow() {GROWING[how]} end
        for _ = 1, 2 do
            local ok, why = pcall(grow)
            if ok or not why:find("^%-e:%d+: stack overflow") then print(why) return 1 end
        end
        local ok, why = xpcall(grow, function(e) return #tostring({{}}) > 0 and "handled" end)
        return why == "handled" and 0 or 2"""
    limits = ["--memory-limit", memory, "--time-limit", "9s", "--wall-limit", "50s"]
    command = [COMMAND, "run", "--backend", "user", "--engine", engine, *limits, "-e", code]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")


def test_special() -> None:
    done = run(*CONFINED_LIMITS, SPECIAL)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("engine", "results"), [("luajit", "1 8 5 nil w v"), ("confined", "3 4 nil 1 v v")]
)
def test_differs(engine: str, results: str) -> None:
    """Lengths of tables with holes, `x ~= 2` as a statement, calls of metamethods that are none,
    and what a constructor gives twice."""
    code = """
        local t = { n = 1 }
        for i = 0, 3 do t[2 ^ i] = true end
        local assign = loadstring("local x = 7 x ~= 2 return x")
        local _, text = pcall(loadstring("return setmetatable({}, { __add = 1 }) + 1", "=c"))
        local v, n = "v", 1
        local place = text:find("^c:1: ")
        print(#{ 1, nil, 3 }, #t, assign and assign(), place, ({ v, [n] = "w" })[1],
              ({ v, [1] = "w" })[1])"""
    command = [COMMAND, "run", "--backend", "user", "--engine", engine, *CORPUS_LIMITS, "-e", code]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, results.replace(" ", "\t") + "\n"), done.stderr


def test_arguments_and_results() -> None:
    done = run("-e", "return ...", "1", "-5", "0x7fffffffffffffff")
    assert done.stdout == "1\t-5\t9223372036854775807\n"
    done = run("-e", "local b, n = ... util.fill(b, 65, n) return n", "out:4K", "3")
    assert done.stdout == "AAA"
    done = run("-e", "print(util.str_in(..., 4)) return true, nil, false", "text")
    assert done.stdout == "text\n1\t0\t0\n"
    assert run("-", input="function run() return 7 end").stdout == "7\n"


ERRORS = {
    "local x\nreturn x.y": "-e:2: attempt to index local 'x' (a nil value)",
    "error({})": "error object is a table value",
    "return 'text'": "result 1 of run is a string, not an integer",
    "return 1 +": "-e:2: unexpected symbol near 'end'",
    "return 1.5": "result 1 of run is not an integer within 2^53",
    "local x = 1\nsyscall.close(x / 2)": "-e:2: integer expected, got 0.5",
    "syscall.close(2 ^ 60)": "-e:1: 1.1529215046068e+18 is beyond the integers",
    "syscall.close()": "-e:1: close takes 1 argument, got 0",
    "syscall.clsoe(1)": "-e:1: no system call 'clsoe'",
    "syscall.fork()": "-e:1: scripts cannot call 'fork': ",
    "local s = 'x' while true do s = s .. s end": "-e:1: over the memory limit of 1024 KiB: raise",
    "local t = {} while true do t[#t + 1] = {} end": "-e:1: over the memory limit of 1024 KiB",
    "while true do end": "-e:1: over the time limit of 100 ms: raise it with --time-limit\n",
}


@pytest.mark.parametrize("code", ERRORS)
def test_errors(code: str) -> None:
    done = run("-e", code)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(ERRORS[code])


# Ends in line 4, or 4 and 5: in compiled functions, C functions, coroutines, at top level.
ENDED = {
    "a loop": "\n\n\nwhile true do end",
    "a counted loop": "local n = 0\n\n\nfor i = 1, 2 ^ 50 do n = n + i end\nreturn n",
    "a table": "local t = { 1 }\n\n\nfor i = 1, 2 ^ 50 do\nt[1] = t[1] + i end return t[1]",
    "inline": "\n\n\nlocal function f(a) return a + 1 end local n = 1\nwhile n > 0 do n = f(n) end",
    "calls": "\n\n\nlocal function f(g) return g and f() end\nwhile true do f(f) end",
    "errors": "\n\n\nwhile true do\npcall(error) end",
    "caught": "local function f()\n\n\nwhile true do end end\npcall(f)\npcall(f)",
    "C": "local a, x = ('a'):rep(40), ('a?'):rep(40)\n\n\nlocal n = a:find(x .. a)\nreturn n",
    "sort": "local t = { 3, 1, 2 }\n\n\ntable.sort(t, function() while true do end end)",
    "a coroutine": "local function f()\n\n\nwhile true do end end\ncoroutine.wrap(f)()",
    "a system call": "\n\n\nwhile true do syscall.getppid()\nend",
    "memory": "local t = {}\n\n\nwhile true do\nt[#t + 1] = {} end",
    "a string": "local s = 'x'\n\n\nwhile true do\ns = s .. s end",
}


# Registering has its own limit, 1 s.
@pytest.mark.parametrize(
    ("how", "compiled"),
    [*((how, compiled) for how in ENDED for compiled in ("yes", "no")), ("C", "at load")],
)
def test_limits_have_a_line(how: str, compiled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYSCRIPT_LUA_COMPILE", "no" if compiled == "no" else "yes")
    if compiled == "at load":
        done = run("-", input=f"local function f() {ENDED[how]} end f() function run() end")
    else:
        done = run("--time-limit", "30ms", "-", input=f"function run() {ENDED[how]} end")
    assert re.match(r"stdin:[45]: over the (time|memory) limit of ", done.stderr), done.stderr


def test_no_function_run(tmp_path: Path) -> None:
    path = tmp_path / "a.lua"
    path.write_text("x = 1")
    assert run(path).stderr.startswith(f"{path}: no function named run")


def test_memory_limit_is_exact() -> None:
    """Argument buffers do not count; a larger limit makes a larger arena."""
    code = "local n = 0 while pcall(util.buffer, 8192) do n = n + 1 end return n"
    small, large = (int(run("--memory-limit", size, "-e", code).stdout) for size in ("1M", "8M"))
    assert 64 <= small < 128 and small + 800 <= large < 1024
    assert int(run("--memory-limit", "1M", "-e", code, "buf:3M").stdout) == small


def test_usage() -> None:
    done = run("--engine", "frob", "-e", "")
    assert done.returncode == 2 and "engine 'frob' is not auto, luajit or confined" in done.stderr
    assert run("-e", "", *"123456789").returncode == 2


SCRIPTS = sorted((ROOT / "scripts").glob("*.lua"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_load(script: Path) -> None:
    """All scripts of the library, with default limits."""
    source = script.read_text().replace("function run(", "function _(")
    done = run("-", input=f"{source}\nfunction run() return 42 end")
    assert (done.returncode, done.stdout, done.stderr) == (0, "42\n", "")


WRONG = """
local b = util.buffer(4096)
local wrong = {
  function() return fs.entries(-1, { nam = {} }) end,
  function() return fs.entries(-1, { 1 }) end,
  function() return fs.entries(-1, { name = 1 }) end,
  function() return fs.entries(-1) end,
  function() return fs.entries(-1, {}, 0) end,
  function() return fs.entries(-1, {}) end,
  function() return fs.readdirplus(-1, b, -1) end,
  function() return fs.readdirplus(-1, b, 4096) end,
  function() return fs.stat_entries(-1, b, 64, 0, 0) end,
  function() return fs.stat_entries(-1, b, 64, b, -1) end,
  function() return fs.stat_files(-100, b, -1) end,
  function() return fs.stat_files(-100, b, 1, 0, 1) end,
  function() return fs.stat_files(-100, 8, 1) end,
  function() return fs.write_files(-100, b, 1) end,
  function() return fs.open_files("x", b, 1) end,
  function() return fs.seek(-1, "short") end,
  function() return fs.seek(-1, "12345678") end,
  function() return fs.tell(-1) end,
  function() return net.messages(b, 0) end,
  function() return net.messages(b, 65) end,
  function() return net.messages(0x10000, 1) end,
  function() util.poke(b + 24, "u8", 9) return net.messages(b, 1) end,
  function() util.fill(b, 255, 64) util.poke(b + 24, "u8", 0) return net.messages(b, 2) end,
  function() util.fill(b, 0, 64) util.poke(b, "u8", 1) util.poke(b + 8, "i4", -1)
             return net.messages(b, 1) end,
  function() return net.accept(-1, b, -1) end,
  function() return net.accept(-1, b, 2 ^ 31) end,
  function() return net.accept(-1, b) end,
  function() return net.accept(-1, b, 1), net.accept(-1, 16, 1), net.accept(-1, 16, 0) end,
  function() return net.accept(2 ^ 32, b, 1, 2 ^ 40) end,
  function() return net.recv(-1, 5) end,
  function() return net.recv(-1, {}) end,
  function() return net.recv(-1, net.messages(b + 64, 1), -1) end,
  function() return net.recv(-1, net.messages(b + 64, 1), nil, 0) end,
  function() return net.recv(-1, net.messages(b + 64, 1), -2) end,
  function() return net.recv(-1, net.messages(b + 64, 1), 2) end,
  function() return net.recv(-1, net.messages(b + 64, 1), 1, 2 ^ 40) end,
  function() return net.recv(2 ^ 32, net.messages(b + 64, 1)) end,
  function() return net.send(-1, b, 65) end,
  function() return net.send(-1, b, 1, 0, "x") end,
  function() return net.send(-1, b, 1, 0, net.messages(b + 64, 1)) end,
  function() return getmetatable(net.messages(b + 64, 1)) or false end,
  function() return util.pending() end,
  function() return type(util.none), type(fs.none), type(net.none) end,
}
for i, f in ipairs(wrong) do
  -- As a call of the script's, whose name is known.
  print(i, pcall(function() local a, b, c = f() return a, b, c end))
end
"""


def test_batches_fail_as_luajits() -> None:
    """The same results and messages."""
    confined = run(*CONFINED_LIMITS, "-e", WRONG)
    command = [COMMAND, "run", "--backend", "user", "--engine", "luajit", *CONFINED_LIMITS]
    luajit = subprocess.run([*command, "-e", WRONG], capture_output=True, text=True)
    assert (confined.returncode, luajit.returncode) == (0, 0), confined.stderr
    assert confined.stdout == luajit.stdout


KEPT = """
local large = util.buffer(65536)
local messages = net.messages(large, 1)
util.poke(large + 65528, "u8", 42)
function run() return util.peek(large + 65528, "u8"), net.recv(-1, messages) end
"""


def test_compiled_functions_keep_what_was_there() -> None:
    """One engine loads the script, and another runs its compiled functions."""
    assert run("-", input=KEPT).stdout == f"42\t{-errno.EBADF}\n"


def test_messages_are_collected() -> None:
    """64 imports can exist at once; collecting garbage makes room."""
    code = "local b = util.buffer(64) for _ = 1, 1000 do net.messages(b, 1) end"
    assert run("-e", code).returncode == 0
    code = "local b, t = util.buffer(64), {} for i = 1, 65 do t[i] = net.messages(b, 1) end"
    assert run("-e", code).stderr == "-e:1: no memory for messages\n"


# -- What the core does for any engine ---------------------------------------------------


def test_wall_limit() -> None:
    done = run("--time-limit", "9s", "--wall-limit", "50ms", "-e", "while true do end")
    assert done.returncode == 1
    assert done.stderr == "-e:1: over the wall-clock limit of 50 ms: raise it with --wall-limit\n"


def test_kill() -> None:
    assert run("--kill", "-e", "while true do end").returncode == -signal.SIGKILL


def test_counters() -> None:
    done = run("--info", "-e", "for _ = 1, 10 do syscall.getppid() end")
    found = re.fullmatch(
        r"backend user, 10 system calls, \d+ ns in script code, (\d+) bytes of memory, "
        r"(\d+) at most, (\d+) mcode, 0 pinned\n",
        done.stderr,
    )
    assert found and 0 < int(found[1]) <= int(found[2]) and int(found[3])


# Between @live strings, which stay for a while, there is less and less room for large blocks.
PIECES = """
local ring, state = {}, 1
local function random(n)
  state = (state * 1103515245 + 12345) % 2147483648
  return (state - state % 256) / 256 % n
end
function run(live)
  for i = 1, 20000 do
    ring[random(live) + 1] = ("y"):rep(random(300) + 40) .. i
    if i % 40 == 0 then %s end
  end
  return 42
end
"""
LARGE = {
    "repeated": (450, "local large = ('x'):rep(16000 + i % 64)"),
    "joined": (
        500,
        "local s = ('z'):rep(250) local large = table.concat({ %s }, i)" % ("s, " * 30),
    ),
    "put together": (600, "local a = ('x'):rep(4000) local large = a .. a .. a .. i"),
    "array": (200, "local large = {} for j = 1, 500 do large[j] = { j } end"),
    "fields": (250, "local large = {} for j = 1, 100 do large['f' .. j] = j end"),
    "list": (600, "local large = { %s }" % ("i, " * 900)),
    "parts": (
        600,
        "local a = ('ab'):rep(2000, 'c') .. i\n"
        "local x, y, z = a:match('^(%w+)ab()cab(.+)$') assert(#x + 5 + #z == #a and #z == z:len())",
    ),
}


@pytest.mark.parametrize("compiled", ["yes", "no"])
@pytest.mark.parametrize("large", LARGE)
def test_collects_before_an_allocation_fails(large: str, compiled: str) -> None:
    live, code = LARGE[large]
    env = {**os.environ, "SYSCRIPT_LUA_COMPILE": compiled}
    source = PIECES.replace("%s", code)
    done = run("--time-limit", "10s", "-", str(live), input=source, env=env)
    assert (done.stdout, done.stderr) == ("42\n", "")


def test_many_small_scripts() -> None:
    """As many as the default limits promise, each with its own state."""
    command = [sys.executable, ROOT / "tests" / "confined" / "small_scripts.py", "256", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    inside, kib = map(int, done.stdout.split())
    assert inside == 0
    assert kib < 128


@pytest.mark.sample(2)
@pytest.mark.parametrize("compiled", ["yes", "no"])
@pytest.mark.parametrize("loop", stopped.LOOPS)
def test_goes_on_after_the_wall_limit(
    loop: str, compiled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SYSCRIPT_LUA_COMPILE", compiled)
    why = errno.ETIMEDOUT
    ends = stopped.seen(Library(), stopped.LOOPS[loop], 2, why)
    assert ends == stopped.expected(why)


def test_time_in_system_calls_is_none_of_the_scripts() -> None:
    """System calls take about 300 ms, which do not count against the script's 100 ms."""
    code = "local b = util.buffer(2 ^ 18) for _ = 1, 500 do syscall.getrandom(b, 2 ^ 18, 0) end"
    done = run("--info", "--time-limit", "100ms", "-e", code)
    assert done.returncode == 0, done.stderr


def test_output_waits_to_be_read() -> None:
    """As with LuaJIT, the library's caller prints the output, and it is truncated."""
    done = run("-e", "for i = 1, 4000 do print(i) end")
    assert done.returncode == 0
    assert done.stdout.startswith("1\n2\n") and "[output cut here: 16 KiB" in done.stdout
    assert len(done.stdout) == 16384


CHOICES = {
    "SYSCRIPT_BACKEND": "unknown backend: SYSCRIPT_BACKEND must be auto, kernel or user",
    "SYSCRIPT_ENGINE": "unknown engine: SYSCRIPT_ENGINE must be auto, luajit or confined",
}


@pytest.mark.parametrize("name", CHOICES)
def test_wrong_choice(name: str) -> None:
    for engine in [[], ["--engine", "confined"]]:
        command = [COMMAND, "run", *engine, "-e", ""]
        env = os.environ | {name: "bogus"}
        done = subprocess.run(command, env=env, capture_output=True, text=True)
        if name == "SYSCRIPT_ENGINE" and engine:
            assert done.returncode == 0, "an option is before the environment"
        else:
            assert (done.returncode, done.stderr) == (2, f"syscript: {CHOICES[name]}\n")


@pytest.mark.parametrize("engine", ["auto", "luajit", "confined"])
def test_engine_of_the_environment(engine: str) -> None:
    """SYSCRIPT_ENGINE selects the engine; "auto" is LuaJIT, since the other one interprets."""
    env = os.environ | {"SYSCRIPT_ENGINE": engine, "SYSCRIPT_BACKEND": "user"}
    code = "print(tostring(print):find('builtin') and 'luajit' or 'confined')"
    command = [COMMAND, "run", "-e", code]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.stdout == ("luajit\n" if engine == "auto" else f"{engine}\n"), done.stderr


BINDING = """
import syscript
with syscript.Script("local n = 40 function run(a) n = n + a print(n) return n end") as script:
    print(script(1), script(1), script.info().engine, script.backend)
"""


def test_bindings_have_it() -> None:
    """For a program that is unaware of engines."""
    env = os.environ | {
        "SYSCRIPT_ENGINE": "confined",
        "SYSCRIPT_BACKEND": "user",
        "PYTHONPATH": "bindings/python",
        "LD_LIBRARY_PATH": "build",
    }
    command = [sys.executable, "-c", BINDING]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.stdout == "41 42 confined user\n", done.stderr


def test_is_compiled_only() -> None:
    """SYSCRIPT_CHECK: the script's top level is not executed."""
    library = ctypes.CDLL("build/libsyscript.so")

    def check(source: bytes) -> tuple[int, bytes]:
        options = Options(
            size=ctypes.sizeof(Options), name=b"name", flags=1 << 2, backend=2, engine=0x101
        )
        error = ctypes.create_string_buffer(200)
        done = library.syscript_register(source, len(source), ctypes.byref(options), error, 200)
        return done, error.value

    assert check(b"error('is run')") == (0, b"")
    assert check(b"x = ") == (-8, b"name:1: unexpected symbol near '<eof>'")


def test_code_fits_its_room() -> None:
    """An account's guaranteed slot (engine/confined/kernel/exec_alloc.h), whatever others hold."""
    file = (BUILD / "lua-runtime" / "lua.image").read_bytes()
    offset, n = struct.unpack_from("<II", file, 8)
    image = bytearray(file[offset : offset + n])
    # The host gives the image an arena of 4 MiB.
    struct.pack_into("<H", image, 20, 22)
    slots = (ROOT / "engine/confined/kernel/exec_alloc.h").read_text()
    pages = int(re.search(r"(\d+) pages, \d+ KiB, for longer ones", slots)[1])
    source = (ROOT / "engine/confined/kernel/exec_alloc.c").read_text()
    assert f".pages = {pages}," in source
    with Machine(bytes(image), key=0x5BD1E995A7C15F39) as machine:
        _, code = machine.code()
    # On kernels with return thunks, a return takes four bytes more.
    assert len(code) + 4 * code.count(0xC3) <= pages * 4096
