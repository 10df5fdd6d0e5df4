# SPDX-License-Identifier: GPL-2.0
"""kernel/sys/usermode.h lists what a return to user mode does, as in each kernel whose headers

are here: a kernel that does more fails this test first.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = (ROOT / "kernel/sys/usermode.h").read_text()


def headers() -> dict[str, Path]:
    """include/linux of each kernel that was fetched or built."""
    found = {}
    for kernel in sorted((ROOT / "build" / "kernels").glob("*/")):
        places = [*kernel.glob("usr/src/linux-headers-*-common"), kernel / "headers"]
        for place in places:
            if (place / "include" / "linux" / "entry-common.h").exists():
                found.setdefault(kernel.name, place / "include" / "linux")
    return found


KERNELS = headers()


def uncommented(text: str) -> str:
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)


def listed(heading: str) -> set[str]:
    """The first words of each line of the table under @heading."""
    table = HERE.partition(heading)[2].partition("\n *\n")[2].partition("\n *\n")[0]
    return set(re.findall(r"^ \*   (\w+)", table, re.M)) - {"flag"}


def macro(text: str, name: str) -> str:
    (body,) = re.findall(rf"^#define {name}\b((?:.*\\\n)*.*)", uncommented(text), re.M)
    return body


def test_kernels_are_here() -> None:
    assert KERNELS, "make module fetches one"


@pytest.mark.parametrize("kernel", KERNELS)
def test_flags(kernel: str) -> None:
    text = "".join(
        path.read_text()
        for name in ("entry-common.h", "irq-entry-common.h")
        if (path := KERNELS[kernel] / name).exists()
    )
    flags = set(re.findall(r"\b(?:_TIF|ARCH)_\w+", macro(text, "EXIT_TO_USER_MODE_WORK")))
    flags.remove("ARCH_EXIT_TO_USER_MODE_WORK")
    assert len(flags) >= 6
    assert flags <= listed("exit_to_user_mode_loop()")


@pytest.mark.parametrize("kernel", KERNELS)
def test_no_flags_of_the_architecture(kernel: str) -> None:
    for path in (KERNELS[kernel].parents[1] / "arch" / "x86" / "include" / "asm").glob("*.h"):
        assert "define ARCH_EXIT_TO_USER_MODE_WORK" not in path.read_text(errors="replace")


@pytest.mark.parametrize("kernel", KERNELS)
def test_functions(kernel: str) -> None:
    text = uncommented((KERNELS[kernel] / "resume_user_mode.h").read_text())
    body = text.partition("static inline void resume_user_mode_work(")[2].partition("\n}\n")[0]
    calls = set(re.findall(r"\b(\w+)\(", body))
    # Conditions around the calls, and the flag that summarises them.
    calls -= {"if", "unlikely", "clear_thread_flag", "smp_mb__after_atomic", "task_work_pending"}
    assert len(calls) >= 4
    assert calls <= listed("resume_user_mode_work() calls:")


def test_flags_have_their_place() -> None:
    """Each listed flag is in one of the three sets, or ends a run by its absence from them."""
    sets = " ".join(macro(HERE, f"USERMODE_{name}") for name in ("RESCHED", "WAITS", "UNKNOWN"))
    assert set(re.findall(r"_TIF_\w+", sets)) == listed("exit_to_user_mode_loop()")
