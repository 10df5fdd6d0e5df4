# SPDX-License-Identifier: GPL-2.0
"""The safety kit's commands on a kernel log, and the scripts that build modules with its tools."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

# In the standalone kit the tests are below it.
HERE = Path(__file__).resolve().parent
SAFETY = next(p for p in (HERE.parent, HERE.parents[1] / "safety") if (p / "safety.mk").exists())
sys.path.insert(0, str(SAFETY))

from reports import reports  # noqa: E402
from symbols import Modules  # noqa: E402

LOG = """\
[    1.0] kgcc: violation: overrun by 4 bytes: write of 4 bytes at offset 40 [1]
[    1.0] kgcc: [1] at main.c:7, broken+0x{offset:x}/0x{size:x} [mine], in task, process 8 (sh)
[    1.0] evmon: violation: order: not of this tool [1]
[    2.0] kgcc: version 0.1.0 loaded
[    3.0] kgcc: violation: double free: object of 40 bytes [1]
[    3.0] kgcc: [1] at main.c:9, gone+0x1/0x2 [other], in task, process 9 (sh)
"""


@pytest.fixture
def module(tmp_path: Path) -> tuple[Path, int]:
    """A module's file with one function, and the function's length."""
    source, path = tmp_path / "mine.c", tmp_path / "mine.ko"
    nops = '\tasm volatile("nop");\n' * 2
    source.write_text(f"int broken(int *p)\n{{\n{nops}\treturn *p;\n}}\n")
    subprocess.run(["gcc", "-g", "-O1", "-c", source, "-o", path], check=True)
    listed = subprocess.run(["nm", "-S", path], capture_output=True, text=True, check=True)
    return path, int(listed.stdout.split()[1], 16)


def test_reports_of_two_loads(module) -> None:
    path, size = module
    modules = Modules("none", [path])
    first, second = reports("kgcc", LOG.format(offset=1, size=size), modules)
    assert (first.number, second.number) == (1, 1)
    assert first.what.startswith("overrun") and second.what.startswith("double free")
    assert first.places[0].lines and "mine.c:" in first.places[0].lines[0]
    assert [problem.split(" was")[0] for problem in modules.problems] == ["no file of module other"]


@pytest.mark.parametrize(
    ("tool", "what", "line"),
    [
        ("kefence", "overrun by 1 byte: write, object of 16 bytes", 4),
        ("kefence", "use after free: read at offset 3, object of 16 bytes", 4),
        ("kefence", "overrun by 1 byte: write, seen when it is freed, object of 16 bytes", 3),
        ("kefence", "double free: object of 16 bytes", 3),
        ("kgcc", "overrun by 4 bytes: write of 4 bytes at offset 16, object of 16 bytes", 3),
        ("kgcc", "overrun: write at index 6, member tags[6] of note", 3),
    ],
)
def test_line_of_a_call(tool: str, what: str, line: int, module) -> None:
    """A return address may belong to the next line; a faulting address does not."""
    path, size = module
    place = f"broken+0x1/0x{size:x} [mine]"
    log = f"{tool}: violation: {what} [1]\n{tool}: [1] at {place}, in task, process 8 (sh)\n"
    log += f"{tool}: [1]   {place}\n{tool}: [1] freed by process 8, 0.100 s ago, at {place}\n"
    (report,) = reports(tool, log, Modules("none", [path]))
    lines = [int(place.lines[0].rpartition(":")[2]) for place in report.places]
    assert lines == [line, 3, 3]


def test_another_build_is_said(module) -> None:
    path, size = module
    modules = Modules("none", [path])
    reports("kgcc", LOG.format(offset=1, size=size - 1), modules)
    assert any("another build" in problem and str(path) in problem for problem in modules.problems)


@pytest.mark.parametrize("tool", ["kefence", "kgcc"])
def test_report_command(tool: str, module, tmp_path: Path) -> None:
    path, size = module
    log = tmp_path / "log"
    log.write_text(
        LOG.format(offset=1, size=size).replace("kgcc:", f"{tool}:")
        + f"[    3.0] {tool}: [1]   died+0x1/0x2 [{tool}_part]\n"
    )
    command = [SAFETY / tool / tool, "report", "-m", path, "-r", "none", log]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    assert "mine.c:" in done.stdout and "double free" in done.stdout
    # The message does not name the tool's own files.
    assert done.stderr.startswith(f"{tool}: no file of module other")
    assert len(done.stderr.splitlines()) == 1


# -- build-module --------------------------------------------------------------------

# A minimal makefile of a kernel.
KBUILD = """\
src := $(M)
obj := $(M)
include $(M)/Kbuild
modules: $(patsubst %,$(M)/%,$(obj-m))
$(M)/%.o: $(M)/%.c
\t@echo $(notdir $@) $(KBUILD_CFLAGS)
"""


def build(tmp_path: Path, kbuild: str, **sources: str) -> str:
    source, kernel = tmp_path / "source", tmp_path / "kernel"
    source.mkdir()
    kernel.mkdir()
    (kernel / "Makefile").write_text(KBUILD)
    (source / "Kbuild").write_text(kbuild)
    for name, text in sources.items():
        (source / f"{name}.c").write_text(text)
    command = [SAFETY / "build-module", kernel, tmp_path / "out", source]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


def test_module_that_includes_by_a_pattern(tmp_path: Path) -> None:
    """As xtables-addons do: the generated file would include itself for ever."""
    kbuild = "obj-m += mine.o\n-include ${M}/*.Kbuild\n-include ${M}/Kbuild.*\n"
    assert build(tmp_path, kbuild, mine="").split() == ["mine.o"]


def test_own_message_format_is_known(tmp_path: Path) -> None:
    own = "#define pr_fmt(fmt) KBUILD_MODNAME fmt\n"
    spaced = "# define pr_fmt(fmt) fmt\n"
    # As null_blk does: pr_fmt is defined after headers that need it.
    late = f"#undef pr_fmt\n{own}"
    kbuild = "obj-m += own.o spaced.o none.o late.o\n"
    told = build(tmp_path, kbuild, own=own, spaced=spaced, none="", late=late)
    assert sorted(told.splitlines()) == [
        "late.o",
        "none.o",
        "own.o -DSAFETY_OWN_PR_FMT",
        "spaced.o -DSAFETY_OWN_PR_FMT",
    ]


def test_build_module_names_what_is_missing(tmp_path: Path) -> None:
    kernel, out = tmp_path / "kernel", tmp_path / "out"
    kernel.mkdir()

    def told(*arguments: Path) -> str:
        command = [SAFETY / "build-module", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode
        return done.stderr

    assert told().startswith("usage: build-module KDIR OUT SOURCE")
    assert f"no kernel headers in {kernel}" in told(kernel, out, tmp_path)
    (kernel / "Makefile").touch()
    assert f"no directory {tmp_path}/none" in told(kernel, out, tmp_path / "none")
    assert f"no Kbuild or Makefile in {tmp_path}" in told(kernel, out, tmp_path)
    assert not out.exists()


# -- build-kit -----------------------------------------------------------------------


def test_missing_headers_are_named(tmp_path: Path) -> None:
    command = [SAFETY / "build-kit", tmp_path / "none", tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith(f"build-kit: no kernel headers in {tmp_path}/none: install")
