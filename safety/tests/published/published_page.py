# SPDX-License-Identifier: GPL-2.0
"""Writes safety/docs/modules.md, the tools' reports on published modules, from a run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import kernlog
from judgements import JUDGEMENTS
from published import NOT_EXERCISED, PUBLISHED, Published

PAGE = Path(__file__).resolve().parents[2] / "docs" / "modules.md"
TOOLS = {
    "plain": "no tool",
    "kgcc": "KGCC",
    "evmon": "evmon",
    "kefence": "Kefence",
    "racewatch": "racewatch",
}
# The failure recorded when the guest itself ended.
ENDED = "the guest ended"
Results = dict[str, dict[str, Any]]


def told(result: dict[str, Any]) -> list[str]:
    """All reports on a module: the tool's, and the kernel's complaints."""
    lines = result.get("bad", "").replace("cut here", "").splitlines()
    reports = result.get("reports", [])
    # The kernel may complain of the same fault as the tool; but the end of the guest counts.
    if reports and result["failed"] != ENDED:
        return reports
    bad = [number for number, line in enumerate(lines) if kernlog.is_bad(line, planted=True)]
    return [*reports, *("\n".join(lines[number:]) for number in bad[:1])]


def judgement(one: Published, text: str) -> tuple[str, str]:
    """The manual judgement: ("bug", "false" or "?", explanation)."""
    for name, pattern, kind, meaning in JUDGEMENTS:
        if name == one.name and re.search(pattern, text):
            return kind, meaning
    return "?", text.splitlines()[0]


def cell(one: Published, result: dict[str, Any]) -> str:
    if not result:
        return ""
    if result["failed"].startswith("does not build"):
        return "does not build"
    kinds = [judgement(one, text)[0] for text in told(result)]
    counts = [
        f"{kinds.count(kind)} {text}"
        for kind, text in (("bug", "of bugs"), ("false", "false"), ("?", "not judged"))
        if kind in kinds
    ]
    failed = "" if not result["failed"] else "ends early"
    return ", ".join(filter(None, [*counts, failed])) or "clean"


def is_clean(one: Published, results: dict[str, Any]) -> bool:
    return all(cell(one, results.get(tool, {})) == "clean" for tool in TOOLS)


def row(one: Published, results: dict[str, Any]) -> str:
    does = (one.exercise.__doc__ or "").strip().rstrip(".")
    cells = [one.name, one.source, does, *(cell(one, results.get(tool, {})) for tool in TOOLS)]
    return "| " + " | ".join(cells) + " |"


def findings(results: Results) -> list[str]:
    """Each distinct report, with the tools that reported it."""
    found: dict[tuple[str, str, str], set[str]] = {}
    for one in PUBLISHED:
        for tool, title in TOOLS.items():
            for report in told(results[one.name].get(tool, {})):
                kind, text = judgement(one, report)
                found.setdefault((one.name, kind, text), set()).add(title)
    words = {"bug": "a bug", "false": "**false**", "?": "not judged"}
    return [
        f"- {name}, {' and '.join(sorted(tools))}, {words[kind]}: {text}"
        for (name, kind, text), tools in found.items()
    ]


def failures(results: Results) -> list[str]:
    """Modules that do not build or run; one line for tools with the same reason."""
    found: dict[tuple[str, str], list[str]] = {}
    for one in PUBLISHED:
        for tool, title in TOOLS.items():
            failed = results[one.name].get(tool, {}).get("failed")
            if failed:
                reason = re.sub(r"\S*/(?=[^/\s]+:\d+)", "", failed)[:160].replace("|", "\\|")
                found.setdefault((one.name, reason), []).append(title)
    return [f"- {name} ({', '.join(tools)}): {why}" for (name, why), tools in found.items()]


def page(results: Results, kernel: str) -> str:
    kinds = [
        judgement(one, report)[0]
        for one in PUBLISHED
        for tool in TOOLS
        for report in told(results[one.name].get(tool, {}))
    ]
    ran = {
        one.name
        for one in PUBLISHED
        if any("reports" in results[one.name].get(tool, {}) for tool in TOOLS if tool != "plain")
    }
    clean = [one.name for one in PUBLISHED if is_clean(one, results[one.name])]
    text = (Path(__file__).parent / "page.template").read_text()
    return text.format(
        kernel=kernel,
        modules=len(ran),
        debian=sum(one.name in ran and not one.is_kernel for one in PUBLISHED),
        own=sum(one.name in ran and one.is_kernel for one in PUBLISHED),
        false=kinds.count("false"),
        bugs=kinds.count("bug"),
        unjudged=kinds.count("?"),
        clean=", ".join(clean) or "none",
        rows="\n".join(row(one, results[one.name]) for one in PUBLISHED if one.name not in clean),
        findings="\n".join(findings(results)) or "None.",
        failures="\n".join(failures(results)) or "None.",
        others=", ".join(NOT_EXERCISED),
    )


def write_page(results: Results, kernel: str) -> None:
    PAGE.write_text(page(results, kernel))
    print(f"written to {PAGE}")
