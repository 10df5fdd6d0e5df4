# SPDX-License-Identifier: GPL-2.0
"""cosy-cc: compounds behave like plain programs; unsupported code is refused with a message."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COSY_CC = ROOT / "build" / "cosy-cc"
TESTS = ROOT / "tests" / "cosy"
PROGRAMS = [*sorted((TESTS / "programs").glob("*.c")), TESTS / "files"]
ENGINES = ("native", "user")


def compile_program(source: Path, program: Path, *options: str) -> Path:
    sources = sorted(source.glob("*.c")) if source.is_dir() else [source]
    subprocess.run([COSY_CC, *options, "-w", "-o", program, *sources], check=True)
    return program


def run(program: Path, engine: str) -> subprocess.CompletedProcess[str]:
    env = os.environ | {"COSY_ENGINE": engine}
    return subprocess.run([program], env=env, capture_output=True, text=True, timeout=60)


@pytest.mark.sample(2)
@pytest.mark.parametrize("level", ["-O0", "-O2"])
@pytest.mark.parametrize("source", PROGRAMS, ids=lambda source: source.stem)
def test_programs(source: Path, level: str, tmp_path: Path) -> None:
    plain = run(compile_program(source, tmp_path / "plain", "--user", level), "native")
    assert plain.returncode == 0
    cosy = compile_program(source, tmp_path / "cosy", level)
    for engine in ENGINES:
        done = run(cosy, engine)
        assert (done.returncode, done.stdout, done.stderr) == (0, plain.stdout, ""), engine


@pytest.mark.parametrize(
    "source", sorted((ROOT / "examples" / "netfilter").glob("*.c")), ids=lambda source: source.stem
)
def test_programs_for_subsystems(source: Path, tmp_path: Path) -> None:
    """The object that clang makes with all the options that a program needs."""
    subprocess.run([COSY_CC, "--program", source, "-o", tmp_path / "cosy.o"], check=True)
    clang = [os.environ.get("COSY_CLANG", "clang-19"), "-target", "bpf", "-mcpu=v4", "-O2"]
    clang += ["-mllvm", "-disable-bpf-peephole"]
    folders = [f"-I{ROOT}/build/include", "-I/usr/include/x86_64-linux-gnu"]
    subprocess.run([*clang, *folders, "-c", source, "-o", tmp_path / "clang.o"], check=True)
    assert (tmp_path / "cosy.o").read_bytes() == (tmp_path / "clang.o").read_bytes()


def test_batches(tmp_path: Path) -> None:
    """Batches in images with numbers out of range, and with records rewritten meanwhile."""
    source = TESTS / "guest" / "batches.c"
    env = os.environ | {"COSY_ENGINE": "user"}
    program = compile_program(source, tmp_path / "batches", "-O2")
    done = subprocess.run([program], env=env, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, source.with_suffix(".txt").read_text())
    for how in ("rewrite", "reopen"):
        for _ in range(8):
            command = [program, how, "300"]
            done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
            if how == "rewrite" or done.returncode != -signal.SIGABRT:
                break
            # The closed number belonged to a descriptor of the library: the compound ends.
            assert "batches.c: compound: " in done.stderr
        assert (done.returncode, done.stdout) == (0, "some were done\n"), (how, done.stderr)


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("COSY_ENGINE", "bogus", "'native', 'user' or 'kernel' expected"),
        ("COSY_ARENA", "64K", "a size in bytes expected, at most 1 GiB"),
        ("COSY_ARENA", "-1", "a size in bytes expected, at most 1 GiB"),
    ],
)
def test_settings_that_are_none(name: str, value: str, told: str, tmp_path: Path) -> None:
    program = compile_program(PROGRAMS[0], tmp_path / "program", "-O2")
    env = os.environ | {"COSY_ENGINE": "user", name: value}
    done = subprocess.run([program], env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (-signal.SIGABRT, f"{name}: compound: {told}\n")


def test_errors() -> None:
    """Each error is reported at its line, and nothing else is."""
    source = TESTS / "errors.c"
    wanted = {
        (number, found[1])
        for number, line in enumerate(source.read_text().splitlines(), 1)
        if (found := re.search(r"/\* ERROR (.*) \*/", line))
    }
    done = subprocess.run(
        [COSY_CC, "-O2", "-ferror-limit=0", "-c", "-o", "/dev/null", source],
        capture_output=True,
        text=True,
    )
    assert done.returncode
    told = {
        (int(found[1]), found[2])
        for line in done.stderr.splitlines()
        if (found := re.match(r".*errors\.c:(\d+):\d+: error: (.*)", line))
    }
    assert len(told) == done.stderr.count("error: "), done.stderr
    for number, text in wanted:
        assert any(n == number and text in t for n, t in told), (number, text, done.stderr)
    for number, text in told:
        assert any(n == number and t in text for n, t in wanted), (number, text)


def test_a_runtime_for_another_machine(tmp_path: Path) -> None:
    """Its numbers of system calls would be wrong."""
    source = tmp_path / "segment.c"
    source.write_text(
        "#include <cosy.h>\nint getppid(void);\n"
        "int f(void)\n{\nint p;\nCOSY_START;\np = getppid();\nCOSY_END;\nreturn p;\n}\n"
    )
    command = [COSY_CC, "--target=aarch64-linux-gnu", "-c", "-o", "/dev/null", source]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "is for x86_64, not for aarch64: use that machine's cosy-cc" in done.stderr


VARIABLES = {
    "V __thread int v;": "v is of one thread, and cannot be shared with segments",
    "V __attribute__((weak)) int v;": "v may be defined more than once, and cannot be shared",
    'V const char *v = 1 + "text";': "v begins with an address, where segments may not reach",
    "extern V int v; int *p = &v;": "v is shared with a segment, and its address is in the initial",
}


@pytest.mark.parametrize("text", VARIABLES)
def test_variables_that_files_cannot_share(text: str, tmp_path: Path) -> None:
    source = tmp_path / "v.c"
    use = 'void f(void) { __asm__("" : : "r"(&v)); }'
    source.write_text(f"#include <cosy.h>\n#define V COSY_VARIABLE\n{text}\n{use}\n")
    command = [COSY_CC, "-O1", "-c", "-o", tmp_path / "v.o", source]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode and done.stderr.count("error: ") == 1, done.stderr
    assert re.search(rf"v\.c:4:\d+: error: {re.escape(VARIABLES[text])}", done.stderr)


def test_errors_of_all_kinds_at_once(tmp_path: Path) -> None:
    """A variable, a mark, a call and a pointer, each with its line."""
    source = tmp_path / "all.c"
    source.write_text(
        "#include <cosy.h>\n#include <stdlib.h>\nextern COSY_VARIABLE __thread int v;\n"
        "int f(void) { return v; }\n"
        "void g(void) { COSY_START; }\n"
        "void h(int *p) {\n COSY_START;\n free(p);\n *p = 1;\n COSY_END; }\n"
    )
    command = [COSY_CC, "-O1", "-c", "-o", tmp_path / "all.o", source]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode
    lines = [int(n) for n in re.findall(r"all\.c:(\d+):\d+: error: ", done.stderr)]
    assert sorted(lines) == [4, 5, 8, 9], done.stderr


def test_number_of_a_call(tmp_path: Path) -> None:
    """Constant or computed: the call is made, or refused with its line or an errno."""
    source, number = tmp_path / "number.c", tmp_path / "number"
    source.write_text(
        "#include <cosy.h>\n#include <errno.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
        "#include <unistd.h>\nstatic long pick(long nr) { return NUMBER; }\n"
        "int main(int argc, char **argv)\n{\n\tlong nr = argc > 1 ? atoi(argv[1]) : 0, n;\n"
        "\tCOSY_START;\n\tn = syscall(pick(nr), 1, -1, 0);\n\tCOSY_END;\n"
        '\tprintf("%ld %d\\n", n, errno);\n\treturn 0;\n}\n'
    )
    for name, calls in {
        "nr": {"8": errno.ESPIPE, "999": errno.ENOSYS},
        "(nr ? 8 : 8)": {"8": errno.ESPIPE},
    }.items():
        program = compile_program(source, number, "-O2", f"-DNUMBER={name}")
        for argument, error in calls.items():
            for engine in ENGINES:
                env = os.environ | {"COSY_ENGINE": engine}
                done = subprocess.run([program, argument], env=env, capture_output=True, text=True)
                assert done.stdout == f"-1 {error}\n", (name, argument, engine)
    command = [COSY_CC, "-O2", "-DNUMBER=57", "-c", "-o", tmp_path / "number.o", source]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode and "number.c:11:6: error: fork(2) in a segment: " in done.stderr


@pytest.mark.parametrize("foreign", ["main", "variables"])
def test_variables_that_a_file_does_not_share(foreign: str, tmp_path: Path) -> None:
    """If files disagree on where a variable is, linking fails."""
    for name in ("main", "variables"):
        compiler = ["gcc", "-I", ROOT / "cosy"] if name == foreign else [COSY_CC]
        source = TESTS / "files" / f"{name}.c"
        subprocess.run([*compiler, "-w", "-c", "-o", tmp_path / f"{name}.o", source], check=True)
    command = [COSY_CC, "-o", tmp_path / "p", tmp_path / "main.o", tmp_path / "variables.o"]
    done = subprocess.run(command, capture_output=True, text=True)
    missing = "count" if foreign == "main" else r"count\.cosy"
    assert done.returncode and re.search(rf"undefined reference to `{missing}'", done.stderr)


FAULTS = {
    "the stack is full": "static int f(int n) { char b[500]; read(0, b, n); return f(n) + *b; }",
    "aborts with -1": "static int f(int n) { if (getpid()) __builtin_trap(); return n; }",
}


@pytest.mark.parametrize("text", FAULTS)
def test_faults_have_a_line(text: str, tmp_path: Path) -> None:
    source = tmp_path / "fault.c"
    source.write_text(
        f"#include <cosy.h>\n#include <unistd.h>\n{FAULTS[text]}\n"
        "int main(void)\n{\n\tint n = 1;\n\tCOSY_START;\n\tn = f(n);\n\tCOSY_END;\n"
        "\treturn n;\n}\n"
    )
    done = run(compile_program(source, tmp_path / "fault", "-O1"), "user")
    assert done.returncode == -signal.SIGABRT
    assert re.fullmatch(rf".*fault\.c:[38]: compound: {text}\n", done.stderr), done.stderr


CHECKED = """\
#include <cosy.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int table[4];
static int pick(int i) { return table[i]; }
int main(int argc, char **argv)
{
	int n = atoi(argv[1]), own[4] = { 0 }, *found = argc > 2 ? own : table;
	COSY_START;
	getppid();
	if (found == own)
		n = own[n];
	else
		n = pick(n);
	COSY_END;
	printf("%d\\n", n);
	return 0;
}
"""


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_checks_of_sanitizers(level: str, tmp_path: Path) -> None:
    """An index outside its array ends a segment, with its line."""
    source = tmp_path / "checked.c"
    source.write_text(CHECKED)
    checked = compile_program(source, tmp_path / "checked", level, "-fsanitize=bounds")
    plain = compile_program(source, tmp_path / "plain", level)
    env = os.environ | {"COSY_ENGINE": "user"}

    def outcome(program: Path, *args: str) -> tuple[int, str, str]:
        done = subprocess.run([program, *args], env=env, capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    for own, line in ([], 6), (["own"], 13):
        assert outcome(checked, "3", *own) == (0, "0\n", "")
        ended = f"{source}:{line}: compound: a check of -fsanitize failed\n"
        assert outcome(checked, "4", *own) == (-signal.SIGABRT, "", ended)
        assert outcome(plain, "4", *own)[0] == 0


def test_is_a_compiler(tmp_path: Path) -> None:
    """As a drop-in compiler: objects, archives, preprocessing, C++."""
    (tmp_path / "a.c").write_text("int f(void) { return 42; }\n")
    (tmp_path / "b.c").write_text("int f(void);\nint main(void) { return f() != 42; }\n")
    (tmp_path / "Makefile").write_text("p: a.o b.o\n\t$(CC) $(LDFLAGS) -o $@ $^\n")
    subprocess.run(["make", "-s", "-C", tmp_path, f"CC={COSY_CC}", "CFLAGS=-O2 -g"], check=True)
    subprocess.run([tmp_path / "p"], check=True)
    done = subprocess.run(
        [COSY_CC, "-E", "-dM", "-x", "c", "/dev/null"], check=True, capture_output=True, text=True
    )
    assert "#define __COSY__ 1" in done.stdout


def loads(tmp_path: Path, *options: str) -> int:
    """Counts byte loads in a short loop and in the runtime's functions."""
    source = tmp_path / "p.c"
    source.write_text(
        "#include <cosy.h>\n"
        "COSY_FUNCTION long f(const unsigned char *p, long n)\n{\n"
        "\tconst unsigned char *q = COSY_SHARED(p);\n\tlong sum = 0;\n"
        "\twhile (n--)\n\t\tsum = sum * 31 ^ *q++;\n"
        "\treturn sum;\n}\n"
    )
    compiled = [COSY_CC, "-O2", *options, "-c", "-o", tmp_path / "p.o", source]
    subprocess.run(compiled, check=True)
    command = [ROOT / "build" / "syscript", "disasm", tmp_path / "p.o"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return text.count("movzx ")


@pytest.mark.parametrize(
    "what",
    [["-O1", PROGRAMS[0]], ["--program", ROOT / "examples" / "netfilter" / "limit.c"]],
    ids=["compound", "program"],
)
def test_peephole_is_off(what: list[str | Path], tmp_path: Path) -> None:
    """LLVM 19's pass removes shifts by 32 that the program needs, or crashes the compiler."""
    command = [COSY_CC, *what, "-mllvm", "-debug-pass=Structure", "-o", tmp_path / "p"]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "-bpf-isel" in done.stderr and "-bpf-mi-zext-elim" not in done.stderr


def test_short_loops_are_unrolled(tmp_path: Path) -> None:
    """Not where unrolling is disabled, as for the library's Lua, which must stay small."""
    assert loads(tmp_path) - loads(tmp_path, "-fno-unroll-loops") >= 3


def test_disassembled(tmp_path: Path) -> None:
    """Source, instructions and machine code, side by side and complete."""
    source = tmp_path / "p.c"
    source.write_text(
        "#include <cosy.h>\n#include <unistd.h>\n"
        "COSY_FUNCTION long f(long n)\n{\n"
        "\twhile (n--)\n\t\tlseek(0, 5, SEEK_SET);\n"
        "\treturn n;\n}\n"
    )
    # The source is reached through a parent directory: debug information splits its name.
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    compiled = [COSY_CC, "-O2", "-c", "-o", tmp_path / "p.o", source]
    subprocess.run(compiled, cwd=elsewhere, check=True)
    command = [ROOT / "build" / "syscript", "disasm"]
    done = subprocess.run([*command, tmp_path / "p.o"], check=True, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    at = next(n for n, line in enumerate(lines) if "  call lseek(2)" in line)
    assert any("p.c:6: lseek(0, 5, SEEK_SET);" in line for line in lines[:at])
    assert "r2 = 5 " in " ".join(lines[at - 6 : at])
    # Around a call, the disassembly shows its arguments and no others.
    number = lines[at].split()[0]
    code = [line[48:].split(maxsplit=1)[1] for line in lines[at : at + 5]]
    assert [re.sub(" +", " ", c) for c in code] == [
        *("push r9", f"mov DWORD PTR [r9+0x3c],{int(number):#x}"),
        *("mov r9,QWORD PTR [r9+0x80]", "call lseek(2)", "pop r9"),
    ]
    assert not any(f"r{n} = 0" in line for n in (4, 5) for line in lines[at - 6 : at])
    numbers = [int(found[1]) for line in lines if (found := re.match(r" {1,5}(\d+)  ", line))]
    assert numbers == sorted(numbers) and numbers[0] == 0
    # All machine code appears, in order.
    matches = [re.match(r" .{47}  +([0-9a-f]+)  [a-z]", line) for line in lines]
    places = [int(found[1], 16) for found in matches if found]
    assert places == sorted(set(places)) and places[0] == 0
    (tmp_path / "none").write_bytes(b"YSOC" + bytes(200))
    for path, text in ((tmp_path / "none", "has no compounds"), (tmp_path, "cannot read")):
        done = subprocess.run([*command, path], capture_output=True, text=True)
        assert done.returncode == 2 and text in done.stderr


# Where the marks begin, their purpose, and the number of files: a file opened repeatedly is kept
# open instead.
ADVISED = {
    "lookup": ("for (int i = 0;", "lseek read", 1),
    "sizes": ("int fd = open(path", "openat newfstatat read close", 4),
}


def advised(name: str, trace: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [COSY_CC, f"--advise={trace}", "-O2", *options, f"{name}.c"]
    return subprocess.run(command, cwd=trace.parent, capture_output=True, text=True)


def traced(program: Path, *args: Path) -> Path:
    trace = program.with_suffix(".log")
    record = [ROOT / "build" / "consolidate", "record", "--stacks", "-o", trace, program, *args]
    subprocess.run(record, check=True, capture_output=True)
    return trace


@pytest.mark.parametrize("name", ADVISED)
def test_advises(name: str, tmp_path: Path) -> None:
    """From a trace of the plain program to marks; the marked program behaves the same."""
    first, sequence, files = ADVISED[name]
    source, plain = tmp_path / f"{name}.c", tmp_path / "plain"
    records = [tmp_path / f"records{n}" for n in range(files)]
    source.write_text((TESTS / "advise" / f"{name}.c").read_text())
    for file in records:
        file.write_bytes(
            b"".join(bytes([i]) + bytes(7) + b"word".ljust(120, b"\0") for i in range(200))
        )
    subprocess.run(["gcc", "-O2", "-g", "-w", "-o", plain, source], check=True)
    want = subprocess.run([plain, *records], check=True, capture_output=True, text=True).stdout
    done = advised(name, traced(plain, *records))
    assert not done.returncode and sequence in done.stderr and "error" not in done.stderr
    subprocess.run(["patch", "-p1"], cwd=tmp_path, input=done.stdout, text=True, check=True)
    lines = source.read_text().splitlines()
    assert lines[lines.index("\tCOSY_START;") + 1].strip().startswith(first)
    assert lines.count("\tCOSY_START;") == lines.count("\tCOSY_END;") == 1
    cosy = compile_program(source, tmp_path / "cosy", "-O2")
    env = os.environ | {"COSY_ENGINE": "user"}
    made = subprocess.run([cosy, *records], env=env, capture_output=True, text=True)
    assert (made.returncode, made.stdout) == (0, want)


def test_advises_nothing(tmp_path: Path) -> None:
    """A trace without sequences, lines or files is reported as such."""
    source, plain = tmp_path / "lookup.c", tmp_path / "plain"
    source.write_text((TESTS / "advise" / "lookup.c").read_text())
    subprocess.run(["gcc", "-O2", "-w", "-o", plain, source], check=True)
    trace = traced(plain, "/dev/zero")
    done = advised("lookup", trace)
    assert (done.returncode, done.stdout) == (1, "")
    assert "does not come from statements of lookup.c" in done.stderr and "with -g" in done.stderr
    done = advised("other", trace)
    assert done.returncode == 1 and "other.c: No such file" in done.stderr
    done = advised("lookup", tmp_path / "none")
    assert done.returncode == 1 and "cannot read" in done.stderr


# -- What gains: cosy-cc --auto ---------------------------------------------------

# Replaces the meter: the environment says what each program took, and what it did.
METER = """#!/usr/bin/env python3
import json, os, sys
programs = sys.argv[sys.argv.index("python3") + 5:]
took, did = (os.environ[name].split() for name in ("TOOK", "DID"))
print(json.dumps({
    "took": {program: [int(n)] * 2 for program, n in zip(programs, took)},
    "did": {program: what.split(",") for program, what in zip(programs, did)},
}))
"""


@pytest.fixture(scope="module")
def looked_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with lookup.c, its trace, its input, and a meter."""
    where = tmp_path_factory.mktemp("auto")
    (where / "lookup.c").write_text((TESTS / "advise" / "lookup.c").read_text())
    (where / "records").write_bytes(b"".join(bytes([i]) + bytes(127) for i in range(200)))
    subprocess.run(["gcc", "-O2", "-g", "-w", "-o", "plain", "lookup.c"], cwd=where, check=True)
    traced(where / "plain", where / "records")
    (where / "meter").write_text(METER)
    (where / "meter").chmod(0o755)
    return where


RUN = '--run="$PROGRAM" records'


def automatic(where: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    trace = [] if "--auto" in words else ["--auto=plain.log"]
    command = [COSY_CC, *trace, "-O2", *words]
    return subprocess.run(
        command,
        cwd=where,
        env=os.environ | {"COSY_METER": "./meter --icount"} | env,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("took", "did", "first", "kept", "said"),
    [
        ("1000 900 850", "a a a", "if (lseek(", 0.85, "0.900 of the instructions, 1000 to 900\n"),
        # A program with other output or another exit status gains nothing.
        ("1000 900 500", "a a b", "for (int i", 0.9, "does not do the same: not kept"),
    ],
)
def test_auto_keeps_what_gains(
    looked_up: Path, tmp_path: Path, took: str, did: str, first: str, kept: float, said: str
) -> None:
    done = automatic(looked_up, RUN, "lookup.c", TOOK=took, DID=did)
    assert not done.returncode, done.stderr
    assert said in done.stderr
    assert f"{kept:.3f} of the instructions" in done.stdout
    source = tmp_path / "lookup.c"
    source.write_text((looked_up / "lookup.c").read_text())
    subprocess.run(["patch", "-p1"], cwd=tmp_path, input=done.stdout, text=True, check=True)
    lines = source.read_text().splitlines()
    marked = next(i for i, line in enumerate(lines) if line.strip() == "COSY_START;")
    assert lines[marked + 1].strip().startswith(first)
    # Only the marks are added, readable, and no temporary file is left.
    assert sum(line.startswith(("+", "-")) for line in done.stdout.splitlines()) == 6
    assert not list(looked_up.glob(".cosy-auto-*"))


def test_auto_has_nothing_to_gain(looked_up: Path) -> None:
    """Measures programs that really run: scripts in the process save no mode switches."""
    done = automatic(looked_up, RUN, "lookup.c", TOOK="1000 990 1200", DID="a a a")
    assert (done.returncode, done.stdout) == (1, "")
    assert "nothing gains: leave the program as it is" in done.stderr
    done = automatic(looked_up, RUN, "lookup.c", COSY_METER="", COSY_ENGINE="user")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count(" of the time: not kept") == 2, done.stderr


@pytest.mark.parametrize(
    ("words", "env", "said"),
    [
        (["lookup.c"], {}, "--run=COMMAND"),
        ([RUN], {}, "takes all C files of a program"),
        ([RUN, "none.c"], {}, "none.c: No such file"),
        ([RUN, "lookup.c", "meter/lookup.c"], {}, "the same name"),
        ([RUN, "-lnone", "lookup.c"], {}, "the program cannot be built"),
        ([RUN, "lookup.c"], {"COSY_METER": "false"}, "measuring failed"),
        ([RUN, "lookup.c"], {"TOOK": "9 8 7", "DID": "a,b a a"}, "not do the same in each run"),
        (["--auto"], {}, "--auto takes a trace"),
        (["--auto=none", RUN, "lookup.c"], {}, "cannot read"),
    ],
)
def test_auto_refuses(looked_up: Path, words: list[str], env: dict[str, str], said: str) -> None:
    done = automatic(looked_up, *words, **env)
    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr
    assert not list(looked_up.glob(".cosy-auto-*"))


def test_auto_takes_all_only_if_that_is_best() -> None:
    """Two segments that gain alone are measured together, too."""
    sys.path.insert(0, str(ROOT / "cosy"))
    import auto

    source = auto.Source(TESTS / "advise" / "lookup.c", "", "", [])
    found = [auto.Candidate(source, auto.Span(n, n + 1), "calls") for n in (1, 4, 5)]

    def chosen(alone: list[int], together: int) -> tuple[list[int], float]:
        def measure(programs: list[list[auto.Candidate]]) -> list[auto.Measured]:
            took = alone if len(programs) > 2 else [together]
            return [auto.Measured([100], [n], same=True) for n in (100, *took)]

        measure.unit = "instructions"
        kept, result = auto.choose(found, lambda marked: marked, measure, 2)
        return [one.span.first for one in kept], result.ratio if result else 1

    assert chosen([90, 80, 70], 60) == ([5, 1], 0.6)
    assert chosen([90, 80, 70], 75) == ([5], 0.7)
    assert chosen([90, 60, 99], 55) == ([4, 1], 0.55)
    assert chosen([99, 99, 99], 10) == ([], 1)
