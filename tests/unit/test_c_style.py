# SPDX-License-Identifier: GPL-2.0 OR MIT
"""C code follows the kernel's style, as far as single lines can show."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# C++, and files in the style of LuaJIT, Lua, gnulib or QEMU, to which they belong.
FOREIGN = re.compile(
    r"engine/luajit/(lib_|lint|vm|lj_)|engine/luajit/(shim|user|kernel)/lj_|"
    r"lib/lua-runtime/|safety/kgcc/plugin/|tests/lua/|apps/|vm/profile/"
)
WIDTH = 100

# Rules of checkpatch.pl for lines without comments and strings: description and pattern.
RULES = {
    "a space after if, for, while, switch": r"\b(if|for|while|switch)\(",
    "no space within parentheses": r"\( +[^\s\\]|[^\s;L] +\)",
    "the star stands with the name": r"\b(char|int|long|void|struct \w+)\* +\w",
    "no comment of //": r"//",
    "no typedef of a struct": r"\btypedef (struct|union|enum)\b",
    "return is no function": r"\breturn \([^()]*\);",
    "no assignment in a condition": r"\bif \([^()]*[^=!<>]=[^=]",
    "a space after a comma": r",[^\s)]",
    "a space before a brace": r"\b(if|for|while|switch) \(.*\)\{|\belse\{|\bdo\{",
    "a function's brace stands alone": r"^(?!(struct|union|enum|static const|const|extern|#))"
    r"[a-z_].*\) \{$",
    "sizeof has parentheses": r"\bsizeof [a-z*&]",
}
# Rules for kernel code only.
KERNEL_RULES = {
    "printk with pr_*()": r"\bprintk\(",
    "no BUG()": r"\bBUG(_ON)?\(",
    "a copy with a length": r"\b(strcpy|sprintf|strcat|strncpy)\(",
    "no number without its errors": r"\bsimple_strto",
    "no volatile but in run.h": r"\bvolatile (?!int stop_reason)(?!\()",
}


def sources() -> list[str]:
    """The repository's sources; skips in a release, which has no repository."""
    done = subprocess.run(
        ["git", "ls-files", "*.c", "*.h"], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode:
        pytest.skip("no repository")
    there = [name for name in done.stdout.split() if (ROOT / name).exists()]
    return [name for name in there if not FOREIGN.match(name)]


def blanked(text: str) -> str:
    """Replaces comments and strings by blanks of equal length."""

    def blank(match: re.Match[str]) -> str:
        kept = match[0][0] if match[0][0] in "\"'" else ""
        inner = re.sub(r"[^\n]", "x" if kept else " ", match[0])
        return f"{kept}{inner[1:-1]}{kept}" if kept else inner

    return re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


def in_line(line: str, before: str, wide: bool) -> list[str]:
    """The faults of a line."""
    found = []
    if line != line.rstrip() or " \t" in line:
        found.append("no space at the end, or before a tab")
    # Breaking a macro would not shorten it, and messages must stay searchable.
    wide = wide or line.startswith("#") or '"' in line
    if not wide and len(line.expandtabs(8)) > WIDTH:
        found.append(f"no more than {WIDTH} columns, but for texts")
    if line.startswith(" " * 8):
        found.append("tabs, not spaces")
    if not line and not before:
        found.append("one empty line")
    if line.strip().startswith("else") and before.strip() == "}":
        found.append("else after its brace")
    return found


def broken(name: str, text: str) -> list[str]:
    lines = text.removesuffix("\n").split("\n")
    code = blanked("\n".join(lines)).split("\n")
    rules = RULES | (KERNEL_RULES if name.startswith(("core/kernel/", "kernel/")) else {})
    found = []
    if "SPDX-License-Identifier: " not in lines[0]:
        found.append(f"{name}:1: its licence stands in line 1")
    for i in range(1, len(lines)):
        wrong = in_line(lines[i], lines[i - 1], name.startswith(("bench/", "tests/")))
        if not code[i].lstrip().startswith("#") and not lines[i - 1].endswith("\\"):
            wrong += [rule for rule, pattern in rules.items() if re.search(pattern, code[i])]
        found += [f"{name}:{i + 1}: {rule}" for rule in wrong]
    return found


def test_c_is_in_style() -> None:
    names = sources()
    assert len(names) > 300
    found = [line for name in names for line in broken(name, (ROOT / name).read_text())]
    assert found == []


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("\tif(a)", "a space after if"),
        ("\tf( a);", "no space within"),
        ("\tchar* a;", "the star stands"),
        ("\tint a; // why", "no comment of //"),
        ("\treturn (a);", "return is no function"),
        ("\tif (a = b)", "no assignment"),
        ("\tf(a,b);", "a space after a comma"),
        ("int f(int a) {", "a function's brace"),
        ("\tprintk(x);", "printk"),
        ("        int a;", "tabs"),
        ("\tint a; ", "no space at the end"),
        ("\tint " + "a" * 100 + ";", "no more than"),
    ],
)
def test_what_is_not_is_found(line: str, rule: str) -> None:
    text = f"/* SPDX-License-Identifier: GPL-2.0 */\n{line}\n"
    assert any(rule in found for found in broken("kernel/a.c", text))
    quoted = '/* SPDX-License-Identifier: GPL-2.0 */\n\tf("if(a = b,c) // %s");\n'
    assert broken("kernel/a.c", quoted) == []


def test_includes_point_one_way() -> None:
    """The library includes engines only by core/engine.h, uapi headers include nothing else."""
    included = re.compile(r'^#include ["<]([^">]+)', re.MULTILINE)
    for name in sources():
        found = included.findall((ROOT / name).read_text())
        if name.startswith(("core/", "lib/", "bench/", "kernel/fs/", "kernel/net/")):
            assert not [path for path in found if "engine/luajit/" in path or "cli/" in path], name
        if name.startswith(("core/", "lib/")):
            assert not [path for path in found if "engine/" in path], name
        if name.startswith(("kernel/", "engine/", "include/", "lib/", "cli/")):
            products = ("consolidate/", "apps/", "safety/", "examples/")
            assert not [path for path in found if any(one in path for one in products)], name
        if name.startswith("include/uapi/"):
            assert all(path.startswith("linux/") for path in found), name


CLANG_FORMAT = ROOT / "build/venv/bin/clang-format"
FORMATTED = """\
/* SPDX-License-Identifier: GPL-2.0 */
#define LIMIT\t\t4\t/* as it may stand */

int f(int a, char *b)
{
\tstruct s s = { .a = 1, .b = 2,
\t\t       .c = 3 };

\tif (a == LIMIT)
\t\treturn *b + a *
\t\t       s.a;
\treturn 0;
}
"""


def test_check_format(tmp_path: Path) -> None:
    def check(text: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "a.c").write_text(text)
        command = [ROOT / "tools/check-format", CLANG_FORMAT, tmp_path / "a.c"]
        return subprocess.run(command, capture_output=True, text=True)

    assert check(FORMATTED).stdout == "1 files are formatted\n"
    for line, right, wrong in (
        (4, "char *b", "char * b"),
        (9, "a == LIMIT", "a==LIMIT"),
        (12, "\treturn 0", "\t\treturn 0"),
    ):
        done = check(FORMATTED.replace(right, wrong, 1))
        assert done.returncode == 1 and f"a.c:{line}:\n" in done.stdout
