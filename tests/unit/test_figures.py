# SPDX-License-Identifier: GPL-2.0
"""Figures are on generated pages only: docs/figures.md and safety/docs/figures.md."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
import xml.dom.minidom
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "bench"))

import connections  # noqa: E402
import daemons  # noqa: E402
import figures  # noqa: E402
import files  # noqa: E402
import frames  # noqa: E402
import hooks  # noqa: E402
import model  # noqa: E402
import udp  # noqa: E402
import walks  # noqa: E402

REQUESTS = {
    "holds": True,
    "label": "modelled",
    "ratios": [
        {"script": script, "over": "epoll_mmsg", "icount": 0.9, "confined": 0.95}
        | {"interval": [0.894, 1.16]}
        for script in ("combined", "compound")
    ],
    "errors": {"echo_mmsg": -0.02, "io_uring": 0.1},
    "instructions_of": "6.1",
    "machine": "a CPU",
    "kernel": "7.0",
    "busy": True,
}
CALLS = {
    "clock": "instructions",
    "kernel": "6.1",
    "calls": {
        name: {
            "outside": {"median": 1234.0},
            "ratio_jit": {"median": 0.5},
            "ratio_compound": {"median": 0.4},
        }
        for name in figures.CALLS
    },
    "geometric_mean": {"median": 0.75},
    "empty_call": {"median": 1204.0},
    "empty_compound_over_getppid": {"median": 2.5},
}
OLD = "".join(
    f"before {name}\n<!-- {name}: make figures -->\nold\n<!-- end of {name} -->\nafter {name}\n"
    for name in ("requests", "calls")
)


def run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, page: str, **found: dict
) -> tuple[int, str, dict]:
    path, data = tmp_path / "figures.md", tmp_path / "figures.json"
    path.write_text(page)
    if not data.exists():
        data.write_text("{}")
    argv = ["figures", "--root", str(tmp_path)]
    for name, result in found.items():
        (tmp_path / name).write_text(json.dumps(result))
        argv += [f"--{name}", str(tmp_path / name)]
    monkeypatch.setattr(sys, "argv", argv)
    status = figures.main(figures.SUBJECTS, path.name, drawn=True)
    return status, path.read_text(), json.loads(data.read_text())


def test_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, text, data = run(tmp_path, monkeypatch, OLD, requests=REQUESTS, calls=CALLS)
    assert status == 0
    assert "old" not in text
    assert f"| {figures.PLAIN['epoll_mmsg']} | 0.90 | 0.95 | 0.89 to 1.16 |" in text
    assert f"| {figures.PLAIN['epoll_mmsg']} |  | 0.95 | 0.89 to 1.16 |" in text
    assert "busy" in text
    assert "| lseek | 1,234 | 0.50 | 0.40 |" in text
    assert data["calls"]["kernel"] == "6.1" and data["calls"]["commit"] in text
    for name in data:
        assert f"before {name}\n" in text
        assert f"after {name}\n" in text


def test_one_table_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    status, text, _ = run(tmp_path, monkeypatch, OLD, calls=CALLS)
    assert status == 0
    assert text.count("old") == 1
    # Updating another subject leaves this one's figures unchanged.
    status, again, data = run(tmp_path, monkeypatch, text, requests=REQUESTS)
    assert status == 0 and "old" not in again
    assert "| lseek | 1,234 | 0.50 | 0.40 |" in again and set(data) == {"calls", "requests"}


def test_tables_that_a_bench_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wires = {name: {way: {"median": 2000.0} for way in ("mmsg", "frames")} for name in frames.WIRES}
    ratios = {name: {"median": 0.5} for name in [*frames.WIRES, *frames.TAKEN]}
    result = {"clock": "one ns per instruction", "kernel": "6.1", "accel": "tcg", "machine": ""}
    result |= {"per_request": wires | {"client": {"median": 700.0}}, **ratios}
    page = OLD + "<!-- frames: make figures -->\n<!-- end of frames -->\n"
    status, text, data = run(tmp_path, monkeypatch, page, frames=result, calls=CALLS)
    assert status == 0
    assert "| a tap, memcached | 2000 | 2000 | 0.500 |" in text
    assert len(data["frames"]["tables"]) == 2


def median(value: float) -> dict:
    return {"median": value, "min": value, "max": value}


def of_a_guest(**more: object) -> dict:
    return {"clock": "instructions", "kernel": "6.1", "accel": "tcg", "machine": "", **more}


def test_what_a_compound_could_save_of_daemons() -> None:
    functions = {"[user space]": 6000, "do_syscall_64": 900, "entry_SYSCALL_64": 100, "other": 3000}
    calls = {"entry_SYSCALL_64": 10, "__x64_sys_fsync": 2, "other": 7}
    found = daemons.count_of(functions, calls, own=2, times=2)
    # Of ten system calls two are the client's.
    assert found == daemons.Count(all=5000, user=3000, gate=400, calls=4, disk=1)
    time = 0.33 * 5000 + 455 * 4
    assert found.at_best() == pytest.approx((0.94, 1 - (0.33 * 300 + 455 * 3) / time))
    of_ways = dict.fromkeys(daemons.WAYS, found._asdict())
    table = figures.as_shown("daemons")({"kernel": "6.1", "ways": of_ways})["tables"][0]
    assert table["rows"][0][1:] == ["5,000", "3,000", "4.0", "1", "400", "0.94", "0.58"]


def test_servers() -> None:
    names = {name for server in udp.SERVERS for name in (server.ours, server.theirs)}
    costs = {name: median(2000.0) for name in names}
    places = {place: costs | {"statsd": median(1000.0 * i)} for i, place in enumerate(udp.PLACES)}
    found = of_a_guest(costs=places)
    [table] = figures.servers({"servers_icount": found})["tables"]
    assert table["header"][2:] == list(udp.PLACES)
    assert ["statsd", "2,000", "0.00", "0.50", "1.00"] in table["rows"]


def test_compounds() -> None:
    found = {"plain": median(2000.0), "compound": median(1500.0)}
    found["compound_over_plain"] = median(0.75)
    result = of_a_guest(applications={"copy": found})
    shown = figures.compounds(result)
    assert shown["tables"][0]["rows"] == [["copy", "2,000", "1,500", "0.75"]]


def test_readdirplus() -> None:
    plain = {"elapsed": 4000.0, "system": 3000.0, "user": 1000.0}
    half = {mode: value / 2 for mode, value in plain.items()}
    ways = {"plain": plain, "luajit": half, "confined": plain}
    rows = figures.readdirplus(of_a_guest(files={"ext4": {"1000": ways}}))["tables"][0]["rows"]
    assert rows == [["ext4, 1,000", "4,000, 3,000, 1,000", "0.50, 0.50, 0.50", "1.00, 1.00, 1.00"]]


def test_arm64(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the single calls those that the other table of calls has, by the same names."""
    shown = {"kernel": "6.12", "tables": [{}, {"rows": [["getppid", "0.2"], ["pipe", "0.7"]]}]}
    monkeypatch.setattr(figures, "as_shown", lambda module: lambda result: shown)
    assert figures.arm64({})["tables"][1]["rows"] == [["getppid", "0.2"]]


def test_files() -> None:
    place = {key: median(0.25) | {"confined": 0.5} for key in files.RATIOS}
    rows = figures.files(of_a_guest(**place, ext4=place))["tables"][0]["rows"]
    assert ["open, fstat; 100 paths", "0.25", "0.50", "0.25", "0.50"] in rows
    assert not [row for row in rows if "readdirplus" in row[0]]


def test_connections() -> None:
    names = ["accept plain", "accept accept_batch"]
    result = of_a_guest(
        ratios={"accept accept_batch": median(0.75)},
        per_connection={name: median(9000.0) for name in names},
    )
    rows = figures.SUBJECTS["connections"].tables(result)["tables"][0]["rows"]
    assert rows[0][0] == connections.PLAIN["accept"]
    assert rows[1][:3] == ["syscript_accept_batch", "9000", "0.75"]


def test_programs() -> None:
    assert {*walks.CASES, "nsd"} == set(figures.PROGRAMS)
    assert set(figures.RIVALS) == set(walks.RIVALS)
    cases = {name: {"ratio": median(0.5)} for name in figures.PROGRAMS}
    cases["du"] |= {"threads": {"ratio": 1.0}, "uring": {"ratio": 1.25}}
    rows = figures.programs(of_a_guest(cases=cases))["tables"][0]["rows"]
    assert rows[0] == [figures.PROGRAMS["du"], "0.50", "1.00", "1.25"]
    assert rows[-1] == [figures.PROGRAMS["nsd"], "0.50", "", ""]


def test_hooks() -> None:
    ways = {way: median(150.0) for way in hooks.WAYS}
    calls = {when: median(90.0) for when in ("without", "loaded", "after")}
    result = of_a_guest(**ways, script_getppid=calls, nothing=median(5000.0))
    rows = figures.SUBJECTS["hooks"].tables(result | {"kernel": "6.1.0"})["tables"][0]["rows"]
    assert rows[0] == ["confined, does nothing", "150", "160", "within"]
    assert len(rows) == len(hooks.WAYS)


def test_picture_shows_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path, monkeypatch, OLD, calls=CALLS)
    svg = xml.dom.minidom.parse(str(tmp_path / "figures.svg"))
    words = [text.firstChild.data for text in svg.getElementsByTagName("text")]
    assert words.count("0.50") == words.count("0.40") == len(figures.CALLS)
    assert set(figures.CALLS.values()) <= set(words)


@pytest.mark.parametrize(
    ("page", "found", "said"),
    [
        (OLD, {"requests": REQUESTS | {"holds": False}}, "does not hold"),
        (OLD, {"calls": CALLS | {"clock": "time"}}, "make bench-inner-icount"),
        ("no place", {"calls": CALLS}, "no place"),
        (OLD, {}, "no table of calls"),
    ],
)
def test_writes_nothing_that_is_not_right(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    page: str,
    found: dict,
    said: str,
) -> None:
    status, text, data = run(tmp_path, monkeypatch, page, **found)
    assert status == 1
    assert text == page and data == {}
    assert not (tmp_path / "figures.svg").exists()
    assert said in capsys.readouterr().err


def test_names_what_is_measured() -> None:
    probes = re.findall(r"^PROBE\((\w+),", (ROOT / "bench/inner.def").read_text(), re.MULTILINE)
    assert set(figures.CALLS) <= set(probes)
    assert {script for script, _ in model.RATIOS} <= set(figures.SCRIPTS)
    assert {rival for _, rival in model.RATIOS} <= set(figures.PLAIN)


sys.path.insert(0, str(ROOT / "safety/bench"))


def of_the_kit() -> object:
    """safety/bench/figures.py, which has the name of bench/figures.py."""
    path = ROOT / "safety/bench/figures.py"
    spec = importlib.util.spec_from_file_location("safety_figures", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


KIT = of_the_kit()
SUBJECTS = {"docs": figures.SUBJECTS, "safety/docs": KIT.SUBJECTS}
PAGES = {place: (ROOT / place / "figures.md").read_text() for place in SUBJECTS}
DATA = {place: json.loads((ROOT / place / "figures.json").read_text()) for place in SUBJECTS}


@pytest.mark.parametrize("place", SUBJECTS)
def test_page_is_generated(place: str) -> None:
    """The page is generated: figures copied by hand go stale."""
    assert figures.page(PAGES[place], DATA[place]) == PAGES[place]
    assert set(DATA[place]) == set(SUBJECTS[place])
    outside = PAGES[place]
    for name in DATA[place]:
        assert outside.count(f"<!-- {name}: make figures -->") == 1
        outside = figures.put(outside, name, [])
    assert "|---" not in outside


@pytest.mark.parametrize("place", SUBJECTS)
def test_a_line_for_each_row(place: str) -> None:
    text = (ROOT / place / "figures.json").read_text()
    assert figures.as_text(DATA[place]) == text
    for found in DATA[place].values():
        assert all(json.dumps(row) in text for table in found["tables"] for row in table["rows"])


def test_picture_is_generated() -> None:
    assert (ROOT / "docs/figures.svg").read_text() == figures.picture(PAGES["docs"])


@pytest.mark.parametrize(
    ("place", "name"), [(place, name) for place, data in DATA.items() for name in data]
)
def test_figures_say_where_they_are_from(place: str, name: str) -> None:
    found = DATA[place][name]
    assert found["command"] == SUBJECTS[place][name].command
    assert re.fullmatch(r"\d+\.\d+\b.*", found["kernel"])
    assert re.fullmatch(r"[0-9a-f]{12}\+?", found["commit"])
    assert all(table["rows"] for table in found["tables"])


def test_costs_of_the_kit() -> None:
    old = {"kernel": "6.1", "kgcc.mix.system": median(1.25), "evmon.mix": median(1.02)}
    new = {"kernel": "7.2", "kgcc.mix.system": median(1.5)}
    [table] = KIT.costs("kgcc")(old, new)["tables"]
    assert table["header"][-3:] == ["6.1", "7.2", "at most"]
    where = ["KGCC", "PostMark over eCryptfs", "all but the processes'"]
    assert table["rows"] == [[*where, "1.250", "1.500", "2.5"]]
    assert KIT.costs("evmon")(old, new)["tables"][0]["rows"][0][3:] == ["1.020", "", "1.025"]


def test_other_tables_of_the_kit() -> None:
    kasan = KIT.kasan({"kernel": "6.1", "kasan.compile": median(1.5), "kasan.mix": median(8.0)})
    assert kasan["tables"][0]["rows"][1] == ["PostMark over eCryptfs", "8.00"]
    counts = {name: 1000 * i for i, name in enumerate(KIT.user.VARIANTS, 1)}
    shown = KIT.in_user_space({"kernel": "6.1", "instructions": counts, "bytes": counts})
    assert shown["tables"][0]["rows"][1] == ["-fsanitize=address", "2,000", "2.00", "2.00"]


def test_rows_of_the_picture() -> None:
    assert len(DATA["docs"]["requests"]["tables"][0]["rows"]) == len(model.RATIOS)
    assert len(DATA["docs"]["calls"]["tables"][0]["rows"]) == len(figures.CALLS)


# Pages whose figures are not typed: they are generated, or `make papers` compares them with what it
# measures. The log of changes speaks of its day.
GENERATED = ["docs/figures.md", "safety/docs/figures.md", "safety/docs/detection.md"]
PAPERS = ["docs/papers.md", "safety/docs/papers.md"]
LOG = ["CHANGELOG.md"]
NUMBER = r"(?<![\w.,/-])\d[\d,]*(?:\.\d+)?"
WORD = r"\b(?:two|three|four|five|ten|twenty|fifty|hundred|thousand)"
# A ratio of two decimals, a percentage, a count or a time too short for a limit, and factors.
# Limits and defaults are in ms and KiB: they are not measured.
FIGURE = re.compile(
    r"(?<![\w.,/-])\d+\.\d{2,}(?![\w.])"
    rf"|{NUMBER} ?%"
    rf"|{NUMBER} (?:million |thousand )?(?:instructions|ns|us|cycles|times(?! in ))\b"
    rf"|(?:{NUMBER}|{WORD}) times (?:as|cheaper|faster|slower|more|less|too)\b"
    r"|\b(?:half|a (?:third|quarter|fifth|tenth)) of (?:the|their|its) (?:cost|instructions|work)\b"
    r"|\b(?:million|thousand|hundred) instructions\b"
)
VERSIONS = {"6.12", "6.13", "1.19", "1.21", "2.36", "3.11", "3.19", "4.13", "20.10"}
# What is no measurement of ours, by page and line.
NOT_OURS = {
    ("docs/compare.md", "AnyCall"): "published by others",
    ("docs/tutorial.md", "repeated 200 times"): "the tutorial's own trace, which its test compares",
    ("findings/README.md", "CPU clock of 1 ns"): "a setting",
    ("safety/README.md", "64 times"): "a quoted message",
}


def prose(text: str) -> list[str]:
    """Lines outside code."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    return [re.sub(r"`[^`]*`|\]\([^)]*\)", "", line) for line in text.splitlines()]


def typed(text: str) -> list[str]:
    return [
        f"{found.group()}: {line}"
        for line in prose(text)
        for found in FIGURE.finditer(line)
        if found.group() not in VERSIONS
    ]


@pytest.mark.parametrize(
    "text",
    [
        "takes 0.47 of plain",
        "saves 12 %",
        "some 1,200 instructions",
        "ten times as much",
        "22 times",
    ],
)
def test_typed_figures_are_seen(text: str) -> None:
    assert typed(f"A call\n| {text} | and more |\n")
    assert not typed(f"`{text}`, Linux 6.12, 100 ms, 64 KiB\n```\n{text}\n```\n")


TRACKED = subprocess.run(
    ["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True
).stdout.split()


@pytest.mark.parametrize("name", sorted({*TRACKED} - {*GENERATED, *PAPERS, *LOG}))
def test_no_figure_is_typed(name: str) -> None:
    """Pages give reasons, and link to the generated tables."""
    found = typed((ROOT / name).read_text())
    allowed = [words for page, words in NOT_OURS if page == name]
    assert not [line for line in found if not any(words in line for words in allowed)]


def test_exceptions_are_needed() -> None:
    for name, words in NOT_OURS:
        assert any(words in line for line in typed((ROOT / name).read_text()))
