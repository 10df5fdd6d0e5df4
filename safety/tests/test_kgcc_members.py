# SPDX-License-Identifier: GPL-2.0
"""KGCC's checks of member indexes, and options for code that exceeds members on purpose.

test_kgcc.py tests their reports, with modules/pointers/members.c.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from in_compiler import compiled

SOURCE = """
struct named { int id; char name[16]; int other[4]; };
struct one { int id; union { char name[1]; int number; }; };
struct none { int id; char name[0]; };
struct early { char name[1]; int id; };

int last(struct named *p, long i) { return p->other[i]; }
int middle(struct named *p, long i) { return p->name[i]; }
int early(struct early *p, long i) { return p->name[i]; }
int one(struct one *p, long i) { return p->name[i]; }
int none(struct none *p, long i) { return p->name[i]; }
int known(struct named *p, unsigned long i) { return i < 16 ? p->name[i] : 0; }
int twice(struct named *p, long i) { p->name[i] = 1; return p->name[i]; }
char *address(struct named *p, long i) { return &p->name[i]; }
int loop(struct named *p)
{
	int sum = 0;

	for (int i = 0; i < 16; i++)
		sum += p->name[i];
	return sum;
}
"""
ALL = {"last", "middle", "early", "twice"}


def functions_in(text: str) -> dict[str, str]:
    return dict(re.findall(r"^(\w+):\n(.*?)\.size\s+\1", text, re.DOTALL | re.MULTILINE))


@pytest.mark.parametrize(
    ("option", "functions"),
    [
        ([], ALL),
        (["members=all"], ALL),
        (["members=not-last"], ALL - {"last"}),
        (["members=none"], set()),
        (["rules-only"], set()),
    ],
)
def test_options(option: list[str], functions: set[str], tmp_path: Path) -> None:
    """The functions whose index is checked."""
    done = compiled(SOURCE, tmp_path, *option)
    assert done.returncode == 0, done.stderr
    found = functions_in(done.stdout)
    assert {name for name, code in found.items() if "call kgcc_outside" in code} == functions


def test_the_compiler_asks_once(tmp_path: Path) -> None:
    code = functions_in(compiled(SOURCE, tmp_path).stdout)
    assert re.findall(r"cmp\w*\s+\$15,", code["twice"]) == re.findall(
        r"cmp\w*\s+\$15,", code["middle"]
    )


def test_option_that_is_none(tmp_path: Path) -> None:
    assert "unknown option" in compiled(SOURCE, tmp_path, "members=some").stderr
