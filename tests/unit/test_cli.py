# SPDX-License-Identifier: GPL-2.0 OR MIT
"""syscript(1): output, exit status, messages."""

import errno
import json
import os
import platform
import pty
import pwd
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SYSCRIPT = ROOT / "build" / "syscript"
DEVICE = Path("/dev/syscript")


def syscript(*args: str | Path, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SYSCRIPT, *args],
        input=stdin,
        env={**os.environ, "SYSCRIPT_BACKEND": "user", **env},
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.fixture
def script(tmp_path: Path):
    def write(text: str, name: str = "a.lua") -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_run_prints_output_then_results(script) -> None:
    path = script("function run(a, b) print('sum', a + b) return a + b, -1 end")
    done = syscript("run", path, "3", "-5")
    assert (done.returncode, done.stdout) == (0, "sum\t-2\n-2\t-1\n")
    # For the user; programs read standard output.
    assert done.stderr.splitlines() == [
        "syscript: -2 is -ENOENT: No such file or directory",
        "syscript: -1 is -EPERM: Operation not permitted",
    ]


def test_run_names_no_other_numbers(script) -> None:
    path = script("function run() return 2, -4096, 0, -1000 end")
    done = syscript("run", path)
    assert (done.stdout, done.stderr) == ("2\t-4096\t0\t-1000\n", "")


def test_run_from_stdin() -> None:
    done = syscript("run", "-", stdin="function run() return 0x10 end")
    assert (done.returncode, done.stdout) == (0, "16\n")
    done = syscript("run", "-", stdin="function run(")
    assert done.returncode == 1 and done.stderr.startswith("stdin:1: ")


def test_no_result_prints_nothing(script) -> None:
    done = syscript("run", script("function run() end"))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_script_error(script) -> None:
    path = script("function run()\n  print('first')\n  error('no luck')\nend", "bad.lua")
    done = syscript("run", path)
    assert (done.returncode, done.stdout) == (1, "first\n")
    assert done.stderr == f"{path}:3: no luck\n"


TRACED = """\
local function inner(what)
  if what == 1 then return syscall.close(undefined) end
  if what == 2 then while true do end end
  local n = inner(what)
  return n
end
local function outer(what) local n = inner(what) return n end
function run(what)
  if what == 4 then print(pcall(outer, 1)) error("later") end
  local n = outer(what)
  return n
end
"""


@pytest.mark.parametrize("jit", [[], ["--no-jit"]], ids=["jit", "interp"])
def test_traceback(script, jit: list[str]) -> None:
    """The active functions at the error, innermost first."""
    path = script(TRACED)
    done = syscript("run", *jit, path, "1")
    assert done.stderr.splitlines() == [
        f"{path}:2: bad argument #1 to 'close' (number expected, got nil)",
        "stack traceback:",
        f"\t{path}:2: in function 'inner'",
        f"\t{path}:7: in function 'outer'",
        f"\t{path}:10: in function <{path}:8>",
    ]
    done = syscript("run", *jit, path, "2")
    assert f"{path}:3: over the time limit of 100 ms: raise" in done.stderr
    assert "--time-limit\nstack traceback:\n" in done.stderr
    assert done.stderr.endswith(f"{path}:10: in function <{path}:8>\n")
    deep = syscript("run", *jit, path, "3").stderr.splitlines()
    assert deep[0].endswith("stack overflow") and deep[-1] == "\t..." and len(deep) == 15
    # An error caught by pcall() does not appear in the traceback.
    assert syscript("run", *jit, path, "4").stderr == f"{path}:9: later\n"


def test_traceback_of_the_top_level() -> None:
    done = syscript("run", "-", stdin="local function f() error('top') end\nf()")
    assert done.stderr.splitlines() == [
        "stdin:1: top",
        "stack traceback:",
        "\tstdin:1: in function 'f'",
        "\tstdin:2: in main chunk",
    ]


def test_output_that_is_cut_says_so(script) -> None:
    path = script("function run(n) for i = 1, n do print(('x'):rep(99)) end end")
    whole = syscript("run", path, "163").stdout
    assert whole == ("x" * 99 + "\n") * 163
    cut = syscript("run", path, "164").stdout
    assert len(cut) == 16384 and cut.startswith(whole)
    assert cut.endswith("\n[output cut here: 16 KiB wait to be read]\n")


def test_limits(script) -> None:
    loop = script("function run() while true do end end")
    done = syscript("run", "--time-limit", "20", loop)
    assert done.returncode == 1
    assert done.stderr == f"{loop}:1: over the time limit of 20 ms: raise it with --time-limit\n"
    done = syscript("run", "--kill", "--time-limit", "20", loop)
    assert done.returncode == -signal.SIGKILL
    hog = script("function run() local s = 'x' while true do s = s .. s end end")
    done = syscript("run", "--memory-limit", "200", hog)
    assert done.returncode == 1
    assert "over the memory limit of 200 KiB: raise it with --memory-limit\n" in done.stderr
    calls = script("function run() while true do syscall.getppid() end end")
    done = syscript("run", "--time-limit", "10s", "--wall-limit", "50ms", calls)
    assert "over the wall-clock limit of 50 ms: raise it with --wall-limit\n" in done.stderr
    for engine in ("luajit", "confined"):
        limits = ("--time-limit", "10s", "--wall-limit", "50ms")
        done = syscript("run", "--engine", engine, *limits, loop)
        assert done.stderr.startswith(f"{loop}:1: over the wall-clock limit of 50 ms: ")
    # Interpreted, where the run is left through Lua's own handlers.
    words = ["run", "--engine", "confined", "--time-limit", "10s"]
    inner = script(
        "local function f()\nwhile true do\nend\nend\nfunction run()\nwhile pcall(f) do end\nend"
    )
    done = syscript(*words, "--wall-limit", "50ms", inner, SYSCRIPT_LUA_COMPILE="no")
    assert done.stderr.startswith(f"{inner}:2: over the wall-clock limit of 50 ms: ")
    tables = script("function run()\nlocal t = {}\nfor i = 1, 1e8 do\nt[i] = {}\nend\nend")
    done = syscript(*words, tables, SYSCRIPT_LUA_COMPILE="no")
    assert done.stderr.startswith(f"{tables}:4: over the memory limit of 1024 KiB: ")
    # An error at the top level fails registration, which has a time limit of its own.
    done = syscript("run", "--time-limit", "20", "-", stdin="while true do end")
    assert done.stderr == "stdin:1: over the time limit of 1000 ms: raise it with --time-limit\n"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("syscall.opne", "syscall.open"),
        ("syscall.reaad", "syscall.read"),
        ("syscall.writ", "syscall.write"),
        ("syscall.getpit", "syscall.getpid"),
        ("syscall.recv", "syscall.recvfrom"),
        ("const.O_RDONYL", "const.O_RDONLY"),
        ("const.EAGAIN", "errno.EAGAIN"),
        ("errno.SIGKILL", "const.SIGKILL"),
        ("errno.EAGIAN", "errno.EAGAIN"),
    ],
)
@pytest.mark.parametrize("command", ["run", "check"])
def test_misspelt_names(command: str, name: str, meant: str) -> None:
    done = syscript(command, "-e", f"return {name}")
    assert done.returncode == 1
    assert done.stderr.endswith(f"'{name.partition('.')[2]}': did you mean {meant}?\n")


@pytest.mark.parametrize(
    ("code", "meant"),
    [
        ("util.peak(1)", "util.peek"),
        ("net.recvv(1)", "net.recv"),
        ("string.fromat('x')", "string.format"),
        ("pritn(1)", "print"),
        ("sycall.getpid()", "syscall"),
    ],
)
@pytest.mark.parametrize("command", ["run", "check"])
def test_misspelt_functions(command: str, code: str, meant: str) -> None:
    done = syscript(command, "-e", f"return {code}")
    assert done.stderr.endswith(f": did you mean {meant}?\n")


@pytest.mark.parametrize("code", ["os.exit()", "io.write('x')"])
@pytest.mark.parametrize("command", ["run", "check"])
def test_libraries_that_scripts_lack(command: str, code: str) -> None:
    done = syscript(command, "-e", code)
    assert done.returncode == 1
    assert done.stderr.endswith(": scripts have none, see syscript(7)\n")


def test_modules_need_a_folder(tmp_path: Path) -> None:
    (tmp_path / "x.lua").write_text("return 42")
    code = ("-e", "return require('x')")
    for command in ("run", "check"):
        assert syscript(command, *code).stderr.endswith("modules: --modules FOLDER\n")
    assert syscript("run", "--modules", tmp_path, *code).stdout == "42\n"
    assert syscript("check", "--modules", tmp_path, *code).returncode == 0


def test_strange_names_are_left_alone() -> None:
    done = syscript("run", "-e", "return syscall.frobnicate")
    assert done.stderr == "-e:1: no system call 'frobnicate'\n"
    # Other lines stay unchanged.
    assert syscript("run", "-e", "error('a\\n\\nb')").stderr == "-e:1: a\n\nb\n"


@pytest.mark.parametrize(
    ("run", "args", "hint"),
    [
        ("function run(fd, n)", [], "run(fd, n) takes 2 arguments, got 0"),
        ("function run(fd, n)", ["1"], "run(fd, n) takes 2 arguments, got 1"),
        ("run = function(fd)", [], "run(fd) takes 1 argument, got 0"),
        ("function run(fd, ...)", [], "run(fd, ...) takes 1 argument, got 0"),
        ("function run(fd)", ["-1"], None),
        ("function run(...)", [], None),
        ("function run()", [], None),
    ],
)
def test_missing_arguments(script, run: str, args: list[str], hint: str | None) -> None:
    """Missing arguments are named only after a failure: they may be optional."""
    path = script(f"{run} return syscall.lseek(fd, n, 0) end")
    done = syscript("run", path, *args)
    said = [x for x in done.stderr.splitlines() if x.startswith("syscript: ")]
    assert said == ([f"syscript: {hint}"] if hint else [])
    assert syscript("run", script(f"{run} return 1 end")).stderr == ""


def test_no_jit(script) -> None:
    path = script("function run() local s = 0 for i = 1, 1e6 do s = s + i end return s end")
    with_jit = syscript("run", "-i", "--time-limit", "5000", path)
    without = syscript("run", "-i", "--no-jit", "--time-limit", "5000", path)
    assert with_jit.stdout == without.stdout == "500000500000\n"
    assert ", 0 traces" in without.stderr
    assert ", 0 traces" not in with_jit.stderr


SLURP = """\
#!/usr/bin/env -S syscript run
function run(path, buf, size)
  local fd = syscall.openat(const.AT_FDCWD, path, const.O_RDONLY)
  if fd < 0 then return fd end
  local n = syscall.read(fd, buf, size)
  syscall.close(fd)
  return n
end
"""


def test_strings_and_buffers(script, tmp_path: Path) -> None:
    path = script(SLURP)
    text = tmp_path / "text"
    text.write_text("three\nlines\n")
    assert syscript("run", path, text, "out:4K", "4096").stdout == "three\nlines\n"
    assert syscript("run", path, f"str:{text}", "out:4", "4").stdout == "thre"
    assert syscript("run", path, text, "buf:4096", "4096").stdout == "12\n"
    # An error prints a number, not the buffer.
    assert syscript("run", path, "/no/such/file", "out:9", "9").stdout == "-2\n"
    code = "return util.str_in((...), 3) == '4x\\0'"
    assert syscript("run", "-e", code, "str:4x").stdout == "1\n"


def test_shebang(script, tmp_path: Path) -> None:
    path = script(SLURP)
    path.chmod(0o755)
    env = {**os.environ, "PATH": f"{SYSCRIPT.parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        [path, "/proc/self/comm", "out:99", "99"], env=env, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "syscript\n")


def test_code_on_the_command_line() -> None:
    done = syscript("run", "-e", "print('hello') return select('#', ...), (...)", "7", "8")
    assert (done.returncode, done.stdout) == (0, "hello\n2\t7\n")
    done = syscript("run", "-e", "error('here')")
    assert (done.returncode, done.stderr) == (1, "-e:1: here\n")


@pytest.mark.parametrize(
    ("limit", "text"), [("20", "20 ms"), ("20ms", "20 ms"), ("20000us", "20 ms"), ("1s", "1000 ms")]
)
def test_time_limit_units(limit: str, text: str) -> None:
    limits = ["--time-limit", limit, "--wall-limit", "600s"]
    done = syscript("run", *limits, "-e", "while true do end")
    assert f"over the time limit of {text}" in done.stderr


@pytest.mark.parametrize(("limit", "kib"), [("200", 200), ("256K", 256), ("1M", 1024)])
def test_memory_limit_units(limit: str, kib: int) -> None:
    code = "local s = 'x' while true do s = s .. s end"
    done = syscript("run", "--memory-limit", limit, "-e", code)
    assert f"over the memory limit of {kib} KiB" in done.stderr


def test_repl() -> None:
    lines = [
        "x = 5",
        "x, {} ~= nil, 'text'",
        "for i = 1, 2 do",
        "  print(i)",
        "end",
        "1 +",
        "2",
        "error('again')",
        "= =",
        "x",
    ]
    done = syscript("repl", stdin="\n".join(lines))
    assert done.returncode == 0
    out = ["5\ttrue\ttext", "1", "2", "3", "stdin:1: unexpected symbol near '='", "5"]
    assert done.stdout.splitlines() == out
    assert done.stderr.startswith("stdin:1: again\n")


@pytest.mark.parametrize("engine", ["luajit", "confined"])
def test_repl_helps(engine: str) -> None:
    lines = ["help", "help fs", "syscall.close(-1)", "-2.5", "help nonesuch", "help = 7", "help"]
    done = syscript("repl", stdin="\n".join(lines), SYSCRIPT_ENGINE=engine)
    said = done.stdout.splitlines()
    assert said[0].startswith("A line is an expression")
    assert any(line.startswith("fs.") and "fs.stat" in line for line in said)
    assert "-9 (-EBADF)" in said and "-2.5" in said
    assert done.stdout.count("A line is an expression") == 2
    assert said[-1] == "7"


def test_repl_says_how_to_leave_it() -> None:
    terminal, stdin = pty.openpty()
    os.write(terminal, b"\x04")
    done = subprocess.run(
        [SYSCRIPT, "repl", "--backend", "user"],
        stdin=stdin,
        capture_output=True,
        text=True,
        timeout=60,
    )
    os.close(stdin)
    os.close(terminal)
    assert done.returncode == 0 and "Ctrl-D ends" in done.stdout


def test_repl_goes_on_with_a_new_script() -> None:
    done = syscript("repl", "--time-limit", "20ms", stdin="x = 1\nwhile true do end\nx\n2")
    assert done.stdout == "nil\n2\n"
    assert "the script was terminated" in done.stderr


def check(source: str) -> list[str]:
    """check's output without the file's name."""
    done = syscript("check", "-", stdin=source)
    assert done.returncode == (1 if done.stderr else 0)
    return [line.removeprefix("stdin:") for line in done.stderr.splitlines()]


def test_check(script) -> None:
    good = script("function run() error('is not run') end")
    done = syscript("check", good)
    assert (done.returncode, done.stdout) == (0, f"{good}: no mistakes found\n")
    path = script("function run()\n  x = = 1\nend")
    done = syscript("check", path)
    assert done.returncode == 1 and done.stderr.startswith(f"{path}:2: ")


def test_check_of_several_files(script) -> None:
    """Errors of each file, with the paths as typed."""
    good, bad = script("function run() end", "good.lua"), script("function run()", "bad.lua")
    done = syscript("check", bad, good, bad)
    assert done.returncode == 1
    assert [line.partition(":")[0] for line in done.stderr.splitlines()] == [str(bad)] * 2
    done = syscript("check", good, "/no/such.lua", good)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


@pytest.mark.parametrize(
    ("code", "finding"),
    [
        ("syscall.opnat(1)", "no system call 'opnat'"),
        ("syscall.fork()", "scripts cannot call 'fork'"),
        ("local e = -errno.EAGIAN return e", "no constant 'EAGIAN'"),
        ("return const.O_RDONYL", "no constant 'O_RDONYL'"),
        ("util.bufer(1)", "util has no member 'bufer'"),
        ("return ('x'):rep(2), string.fmt('x')", "string has no member 'fmt'"),
        ("return n_list", "global 'n_list' is never assigned"),
        ("count = 1", "'count' is a global: declare it local"),
        ("syscall.close(nil)", "argument 1 of close is nil"),
        ("local fd syscall.close(fd)", "argument 1 of close is nil"),
        ("syscall.close()", "close lacks argument 1"),
        ("syscall.close(1, 2)", "close takes 1 argument, not 2"),
        ("syscall.write(1, 5)", "write lacks argument 3, a length"),
        ("syscall.read(1, 'x', 1)", "argument 2 of read is a string, not a number"),
        ("syscall.close(syscall)", "argument 1 of close is not a number"),
        ("return syscall.openat(1, 'x')", "openat lacks argument 3"),
        ("syscall.dup(1)", "the descriptor that dup returns is lost"),
        ("local fd = syscall.dup(1)", "the descriptor that dup returns is never used"),
        ("if syscall.dup(1) < 0 then return 1 end", "dup returns is never used"),
        ("return 1, 2, 3, 4, 5, 6, 7, 8, 9", "run returns 9 results: the caller gets 8"),
    ],
)
def test_check_finds(code: str, finding: str) -> None:
    found = check(f"local close = syscall.close\nfunction run(...)\n{code}\nend")
    assert len(found) == 1 and found[0].startswith("3: ") and finding in found[0]


def test_check_finds_through_names_and_upvalues() -> None:
    source = """\
local sys, write = syscall, syscall.write
local function inner(fd) return write(fd, fd) end
function run(fd) return inner(fd) + sys.colse(fd) + sys.write(1, nil) end
"""
    assert [line.partition(": ")[0] for line in check(source)] == ["3", "3"]
    (found,) = check("x = 1")
    assert found == " no function named run: define it, as a global: function run(...)"


@pytest.mark.parametrize(
    "body",
    [
        "local fd if ... then fd = syscall.dup(1) else fd = syscall.dup(2) end syscall.close(fd)",
        "local fd = syscall.dup(1) while true do syscall.close(fd) break end",
        "local fd = syscall.dup(1) return function() return fd end ~= nil",
        "local fd = syscall.dup(1) known.fd = fd",
        "local n local function set() n = 1 end set() syscall.close(n)",
        "local n if ... then n = 1 end if n then syscall.close(n) end",
        "known.x = undefined_is_fine and 1 _G.made = 1 return made",
        "syscall.write(1, 'x') syscall.sendto(1, 'x') return syscall.openat(1, 'x', 0)",
        "syscall.write(1, tostring(1)) syscall.write(1, ...)",
        "known.x = 1 for i = 1, 2 do local fd = syscall.dup(i) syscall.close(fd) end",
        "string.mine = 1 return string.mine",
        "local a, b = pcall(syscall.close, nil) return a",
    ],
)
def test_check_does_not_find(body: str) -> None:
    assert check(f"known = {{}}\nfunction run(...) {body} end") == []


@pytest.mark.parametrize("path", sorted((ROOT / "scripts").glob("*.lua")), ids=lambda p: p.stem)
def test_scripts_of_the_library_are_clean(path: Path) -> None:
    done = syscript("check", path)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], ""),
        (["frobnicate"], "unknown command 'frobnicate': see"),
        (["rnu", "x.lua"], "did you mean 'run'?"),
        ([str(ROOT / "README.md")], f"did you mean 'syscript run {ROOT}/README.md'?"),
        (["run"], "no FILE"),
        (["run", "--frob"], "see 'syscript run --help'"),
        (["run", "--backend", "moon", "x.lua"], "backend 'moon'"),
        (["run", "--time-limit", "-1", "x.lua"], "time limit '-1'"),
        (["run", "--memory-limit", "much", "x.lua"], "memory limit 'much'"),
        (["run", "x.lua", "1.5"], "'1.5' is not an integer"),
        (["run", "x.lua", "buf:many"], "'buf:many': no such size"),
        (["run", "--time-limit", "5min", "x.lua"], "time limit '5min'"),
        (["run", "x.lua", *"123456789"], "at most 8"),
        (["run", "/no/such/file.lua"], "cannot open /no/such/file.lua"),
        (["check", "-e", "return 1", "b.lua"], "unexpected argument 'b.lua'"),
        (["run", "--memry-limit", "1M", "x.lua"], "did you mean --memory-limit?"),
        (["run", "--memry-limit=1M", "x.lua"], "did you mean --memory-limit?"),
        (["run", "--time-limit"], "--time-limit needs a value"),
        (["run", "--time-limit", "100s", "x.lua"], "cannot open x.lua"),
        (["list", "now"], "unexpected argument 'now'"),
        (["doctor", "--frob"], "see 'syscript doctor --help'"),
        (["allow", "--frob"], "see 'syscript allow --help'"),
        (["allow", "--user"], "'--user' needs a name"),
        (["allow", "--all", "--none"], "one of --all, --group, --user, --none"),
        (["allow", "all"], "unexpected argument 'all'"),
        (["allow", "--group", "no such group"], "no group 'no such group': see 'getent group'"),
        (["allow", "--user", "no such user"], "no user 'no such user': see 'getent passwd'"),
        (["top", "--rounds", "few"], "rounds 'few'"),
        (["top", "--delay", "soon"], "delay 'soon'"),
    ],
)
def test_usage(args: list[str], message: str) -> None:
    done = syscript(*args)
    assert done.returncode == 2
    assert message in done.stderr


def test_unknown_backend_in_environment(script) -> None:
    done = syscript("run", script("function run() end"), SYSCRIPT_BACKEND="moon")
    assert done.returncode == 2 and "auto, kernel or user" in done.stderr
    done = syscript("doctor", SYSCRIPT_BACKEND="moon")
    assert done.returncode == 1 and "backend: none" in done.stdout
    assert "unset SYSCRIPT_BACKEND" in done.stdout


def test_full_disk_is_an_error(script) -> None:
    path = script("function run() print('x') end")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [SYSCRIPT, "run", "--backend", "user", path],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 2 and "standard output" in done.stderr


@pytest.mark.parametrize("command", [[], *([c] for c in ("run", "check", "list", "net"))])
def test_help(command: list[str]) -> None:
    done = syscript(*command, "--help")
    assert done.returncode == 0 and done.stdout.startswith("Usage: syscript")
    assert syscript("help", *command).stdout == done.stdout


OVERRUN = """
function run(buffer, n)
  local fd = syscall.openat(const.AT_FDCWD, "/dev/zero", const.O_RDONLY)
  return syscall.read(fd, buffer, n), syscall.read(fd, buffer + 4096, 1)
end
"""


def test_buffer_smaller_than_the_size_passed(script) -> None:
    """The script gets an error, and the command's memory is not overwritten."""
    done = syscript("run", script(OVERRUN), "buf:100", "300000")
    first, second = map(int, done.stdout.split())
    assert (done.returncode, second) == (0, -errno.EFAULT)
    assert first == -errno.EFAULT or 100 <= first < 116


def test_load_takes_one_place() -> None:
    """Two attach points are an error, and a long one is not truncated."""
    done = syscript("load", "x", "x.o", "--at", "inet input", "--at", "inet output")
    assert done.returncode == 2 and "load the program once for each attach point" in done.stderr
    done = syscript("load", "x", "x.o", "--for", "timer", "--for", "files")
    assert done.returncode == 2 and "--for twice" in done.stderr
    done = syscript("load", "x", "x.o", "--at", "x" * 64)
    assert done.returncode == 2 and "the attach point is too long" in done.stderr


def test_help_of_nothing() -> None:
    done = syscript("help", "frobnicate")
    assert done.returncode == 2 and "unknown command 'frobnicate'" in done.stderr


def test_version() -> None:
    assert syscript("--version").stdout.startswith("syscript 0.")


@pytest.mark.skipif(DEVICE.exists(), reason="for machines without the device")
def test_without_device(script) -> None:
    path = script("function run() return 1 end")
    assert syscript("run", path, SYSCRIPT_BACKEND="auto").stdout == "1\n"
    done = syscript("run", "--backend", "kernel", path)
    assert done.returncode == 2 and "modprobe syscript" in done.stderr
    done = syscript("list")
    assert done.returncode == 2 and "modprobe syscript" in done.stderr
    done = syscript("doctor")
    assert done.returncode == 1
    assert done.stdout.startswith("scripts run in the kernel for you: no: ")
    assert "backend: user" in done.stdout
    assert "backend: none" in syscript("doctor", SYSCRIPT_BACKEND="kernel").stdout
    # Lists everything that is missing, in order; on a machine that cannot load modules, no more.
    missing = done.stdout.partition("What is missing")[2]
    assert ("loads no modules" in missing) != Path("/proc/modules").exists()
    steps = [step for step in ("dkms install", "modprobe") if step in missing]
    assert steps == (["dkms install", "modprobe"] if Path("/proc/modules").exists() else [])
    assert [missing.index(step) for step in steps] == sorted(map(missing.index, steps))
    if not Path("/proc/modules").exists():
        alone = syscript("doctor", SYSCRIPT_LUA_IMAGE="").stdout.partition("What is missing")[2]
        assert "\n 1. " in alone and "\n 2. " not in alone


@pytest.mark.skipif(DEVICE.exists(), reason="would change who may open the device")
@pytest.mark.skipif(
    os.geteuid() != 0 or not Path("/etc/udev").exists(), reason="mounts where rules are written"
)
def test_allow_writes_a_rule() -> None:
    """The rule applies to a device that does not exist yet; the last one wins."""
    rule = "/etc/udev/rules.d/61-syscript.rules"
    lines = [
        "mount -t tmpfs none /etc/udev",
        *(f"{SYSCRIPT} allow {who}" for who in ("--none", "--group daemon", "--user daemon")),
        f"cat {rule}; ls /etc/udev/rules.d",
    ]
    argv = ["unshare", "-m", "sh", "-ec", "\n".join(lines)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    *said, comment, line, listed = done.stdout.splitlines()
    assert "There is no /dev/syscript now" in said[0] and done.stderr == ""
    assert comment == "# Written by 'syscript allow --user daemon'."
    daemon = pwd.getpwnam("daemon").pw_uid
    assert (
        f'KERNEL=="syscript", SUBSYSTEM=="misc", OWNER="{daemon}", GROUP="0", MODE="0600"' in line
    )
    assert listed == "61-syscript.rules"


# In a mount namespace: files that make doctor believe that the kernel loads modules.
LOADS_MODULES = """\
mount -t tmpfs none /mnt
mkdir /mnt/.proc
mount --rbind /proc /mnt/.proc
for path in /proc/[a-z]*; do ln -s "/proc/.proc/${path#/proc/}" /mnt; done
rm -f /mnt/modules
touch /mnt/modules
mount --rbind /mnt /proc"""


def doctor_where_modules_load(*steps: str) -> dict:
    """doctor's findings there, after some shell commands."""
    lines = [LOADS_MODULES, *steps, f"{SYSCRIPT} doctor --json || [ $? = 1 ]"]
    argv = ["unshare", "-m", "sh", "-ec", "\n".join(lines)]
    return json.loads(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)


HEADERS = Path("/lib/modules", platform.release(), "build/Makefile")


@pytest.mark.skipif(
    DEVICE.exists() or HEADERS.exists() or bool(shutil.which("dkms", path="/usr/sbin:/usr/bin")),
    reason="for machines with neither dkms nor headers",
)
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts what doctor looks at")
def test_doctor_has_a_line_for_all_packages() -> None:
    found = doctor_where_modules_load()
    (install,) = [m["command"] for m in found["missing"] if "are not installed" in m["what"]]
    assert "install dkms " in install and install.endswith(f"-{platform.release()}")


@pytest.mark.skipif(
    DEVICE.exists() or Path("/usr/local/lib/syscript/lua.image").exists(),
    reason="for machines where nothing is installed",
)
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts what doctor looks at")
def test_doctor_names_the_lua_of_its_build() -> None:
    """The library looks for it nowhere."""
    found = doctor_where_modules_load("export SYSCRIPT_LUA_IMAGE=")
    image = ROOT / "build" / "lua-runtime" / "lua.image"
    assert f"export SYSCRIPT_LUA_IMAGE={image}" in [m["command"] for m in found["missing"]]


@pytest.mark.skipif(DEVICE.exists(), reason="for machines without the device")
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts what doctor looks at")
def test_doctor_says_what_a_sandbox_hides() -> None:
    """As firejail does with --private-dev: the module may be loaded."""
    found = doctor_where_modules_load("mount -t tmpfs none /sys/module")
    (missing,) = found["missing"]
    assert "hides /sys/module" in missing["what"]
    assert "modprobe" not in missing["command"]


@pytest.mark.skipif(DEVICE.exists(), reason="for machines without the device")
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts what doctor looks at")
@pytest.mark.parametrize("signed", [False, True])
def test_doctor_knows_secure_boot(tmp_path: Path, signed: bool) -> None:
    release = platform.release()
    (tmp_path / release).mkdir()
    (tmp_path / release / "modules.dep").write_text("updates/dkms/syscript.ko:\n")
    (tmp_path / release / "updates/dkms").mkdir(parents=True)
    end = b"~Module signature appended~\n" if signed else b"no such thing"
    (tmp_path / release / "updates/dkms/syscript.ko").write_bytes(b"\x7fELF" + bytes(100) + end)
    fake = "/sys/module/module/parameters"
    found = doctor_where_modules_load(
        f"mkdir -p /lib/modules && mount --bind {tmp_path} /lib/modules",
        f"mount -t tmpfs none /sys/module && mkdir -p {fake} && echo Y >{fake}/sig_enforce",
    )
    assert found["module"]["must_be_signed"]
    assert found["module"]["signed"] == signed
    commands = "\n".join(m["command"] for m in found["missing"])
    assert ("dkms install --force" in commands) == (not signed)
    assert commands.index("mokutil --import") < commands.index("modprobe")


def test_doctor_tells_a_kernel_that_is_too_new(tmp_path: Path) -> None:
    """The module's build refuses such a kernel as well, before it compiles."""
    tested = (ROOT / "kernel/tested").read_text().strip()
    assert json.loads(syscript("doctor", "--json").stdout)["newest_tested"] == tested
    config = tmp_path / "include/config"
    config.mkdir(parents=True)
    (config / "auto.conf").write_text("")
    for release, warns in ((f"{tested}.9-amd64", False), ("6.1.0-1", False), ("99.1.0-x", True)):
        (config / "kernel.release").write_text(release + "\n")
        argv = ["sh", ROOT / "kernel/build-module", tmp_path, tmp_path / "out", ".", "."]
        done = subprocess.run(argv, capture_output=True, text=True, env={"PATH": "/bin:/usr/bin"})
        assert ("newest that this version" in done.stderr) == warns, done.stderr


def test_doctor_leaves_audit_alone() -> None:
    """doctor never advises removing audit rules."""
    sources = "".join(path.read_text() for path in (ROOT / "cli").glob("*.c"))
    assert "auditctl" not in sources and "audit rules" in sources


def test_doctor_json() -> None:
    done = syscript("doctor", "--json")
    found = json.loads(done.stdout)
    assert found["kernel"] == platform.release()
    assert found["backends"]["user"] == 0
    assert found["backend"] == "user"
    assert found["device"]["present"] == DEVICE.exists()
    assert found["environment"] == "user"
    assert done.returncode == (1 if found["missing"] else 0)
    assert all(m["what"] and m["command"] for m in found["missing"])


def test_scripts_of_the_library(tmp_path: Path) -> None:
    """Each script compiles, and hello.lua prints its text."""
    for path in (ROOT / "scripts").glob("*.lua"):
        assert syscript("check", path).returncode == 0, path
    done = syscript("run", ROOT / "scripts" / "hello.lua", "20", "22")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "42"


COMPLETE = """
source {completions}/syscript.bash
COMP_WORDS=({words} "$1") COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_syscript
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize(
    ("words", "word", "found"),
    [
        ("syscript", "r", {"run", "runtime", "repl"}),
        ("syscript help", "r", {"run", "runtime", "repl"}),
        ("syscript run", "--m", {"--memory-limit", "--modules"}),
        ("syscript run --backend", "", {"auto", "kernel", "user"}),
        ("syscript top", "-", {"--delay", "--rounds", "--batch", "--help"}),
        ("syscript check", str(ROOT / "scripts/hel"), {str(ROOT / "scripts/hello.lua")}),
    ],
)
def test_bash_completion(words: str, word: str, found: set[str]) -> None:
    code = COMPLETE.format(completions=ROOT / "cli/completions", words=words)
    env = {**os.environ, "PATH": f"{SYSCRIPT.parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", code, "bash", word], env=env, capture_output=True, text=True
    )
    assert (set(done.stdout.split()), done.stderr) == (found, "")


@pytest.mark.skipif(not shutil.which("fish"), reason="no fish here")
def test_fish_completion() -> None:
    code = f"source {ROOT}/cli/completions/syscript.fish; complete -C 'syscript run --me'"
    env = {**os.environ, "PATH": f"{SYSCRIPT.parent}:{os.environ['PATH']}"}
    done = subprocess.run(["fish", "-c", code], env=env, capture_output=True, text=True)
    assert done.stdout.startswith("--memory-limit\t1M (default)")


@pytest.mark.skipif(not shutil.which("zsh"), reason="no zsh here")
def test_zsh_completion_is_zsh() -> None:
    subprocess.run(["zsh", "-n", ROOT / "cli/completions/_syscript"], check=True)


def test_closed_standard_descriptors(tmp_path: Path) -> None:
    """No file that the command opens gets these numbers, and output to them is lost."""
    script = tmp_path / "script.lua"
    script.write_text("function run() print('x') return syscall.write(1, 'x', 1) end")
    closed = ["sh", "-c", 'exec "$@" <&- >&-', "sh", SYSCRIPT, "run"]
    done = subprocess.run([*closed, script], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "syscript: -9 is -EBADF: Bad file descriptor",
        "syscript: cannot write to standard output",
    ]
    done = subprocess.run([*closed, "-"], capture_output=True, text=True)
    assert done.stderr == "syscript: cannot read standard input: Bad file descriptor\n"
