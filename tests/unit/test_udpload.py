# SPDX-License-Identifier: GPL-2.0
"""The load generator counts exactly the faults that a reflector causes."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = Path(__file__).resolve().parents[2] / "build" / "bench" / "udpload"
FAULTS = ("misses", "wrong", "lost", "late", "duplicate", "stray", "broken", "unanswered", "unsent")
OK, FAILED, USAGE, REPLIES_WRONG = 0, 1, 2, 3
TIME = 300


@dataclass
class Load:
    """The output of a udpload run."""

    status: int
    result: dict[str, Any]
    errors: str

    def faults(self) -> dict[str, int]:
        return {name: self.result[name] for name in FAULTS if self.result[name]}

    def times(self) -> dict[str, float]:
        """Response times of GETs, in ms."""
        return {name: us / 1000 for name, us in self.result["get"]["us"].items()}


class Reflector:
    """A running reflector, with its counts once it is stopped."""

    def __init__(self, options: list[str]) -> None:
        command = [PROGRAMS / "reflector", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        self.port = self.process.stdout.readline().strip()
        self.did: dict[str, int] = {}

    def has_served(self) -> bool:
        """Whether it has taken some CPU time."""
        words = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return int(words[11]) + int(words[12]) >= 10  # in ticks of 10 ms

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        stdout, _ = self.process.communicate(timeout=TIME)
        self.did = json.loads(stdout)

    def load(self, *options: str) -> Load:
        return udpload(*options, "--keys", "1000", "--quiet", self.port)

    def start_load(self, *options: str) -> subprocess.Popen[str]:
        command = [PROGRAMS / "udpload", *options, "--keys", "1000", "--quiet", self.port]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@contextmanager
def reflector(*options: str) -> Iterator[Reflector]:
    running = Reflector(["--keys", "1000", *options])
    try:
        yield running
    finally:
        running.process.kill()
        running.process.wait()


def udpload(*options: str) -> Load:
    done = subprocess.run(
        [PROGRAMS / "udpload", *options],
        capture_output=True,
        text=True,
        timeout=TIME,
        check=False,
    )
    return Load(done.returncode, json.loads(done.stdout or "{}"), done.stderr)


def run(reflector_options: list[str], options: list[str]) -> tuple[Load, dict[str, int]]:
    """A load, and the reflector's counts."""
    with reflector(*reflector_options) as running:
        load = running.load(*options)
        running.stop()
    return load, running.did


@pytest.mark.parametrize(
    "options",
    [[], ["--no-segments"], ["--ratio", "1:1"], ["--threads", "3", "--ratio", "1:3"]],
    ids=str,
)
def test_nothing_happens(options: list[str]) -> None:
    load, did = run([], ["--requests", "20000", *options])
    assert load.status == OK, load.errors
    assert load.faults() == {}
    assert did["refused"] == 0
    assert load.result["get"]["answered"] == did["gets"]
    assert load.result["set"]["answered"] == did["sets"] - 1000
    assert did["gets"] + did["sets"] == 21000


# -- GETs of several keys: the reflector counts keys ------------------------------


@pytest.mark.parametrize("options", [[], ["--threads", "4"], ["--no-segments"]], ids=str)
def test_keys_per_get(options: list[str]) -> None:
    """Every key has a value; nine of ten keys (not GETs) are stored beforehand."""
    load, did = run([], ["--requests", "3000", "--keys-per-get", "50", *options])
    assert load.status == OK, load.errors
    assert load.faults() == {}
    assert did["refused"] == 0
    assert 50 * load.result["get"]["answered"] == did["gets"]
    assert load.result["set"]["answered"] == did["sets"] - 1000
    assert load.result["get"]["answered"] + load.result["set"]["answered"] == 3000
    assert 0.08 < (did["sets"] - 1000) / (did["gets"] + did["sets"] - 1000) < 0.16


def test_keys_more_than_there_are() -> None:
    """A key requested twice is returned twice."""
    with reflector("--keys", "5") as running:
        options = ["--requests", "500", "--keys-per-get", "20", "--keys", "5", "--quiet"]
        load = udpload(*options, running.port)
        running.stop()
    assert load.status == OK, load.errors
    assert load.faults() == {}


SEVERAL = ["--requests", "500", "--keys-per-get", "20", "--ratio", "1:0", "--outstanding", "8"]


@pytest.mark.parametrize("fault", ["corrupt", "stale"])
def test_wrong_values_of_several(fault: str) -> None:
    load, did = run([f"--{fault}", "70"], SEVERAL)
    assert load.status == REPLIES_WRONG, load.errors
    assert did["corrupted"] + did["staled"] == 500 * 20 // 70
    assert load.faults() == {"wrong": did["corrupted"] + did["staled"]}
    assert load.result["get"]["answered"] == 500


def test_duplicate_values_of_several() -> None:
    load, did = run(["--duplicate", "70"], SEVERAL)
    assert load.status == OK, load.errors
    # A busy machine loses some, which are requested again; replies to the last GETs come too late.
    faults = {name: n for name, n in load.faults().items() if name not in ("late", "lost")}
    assert faults.keys() == {"duplicate"}
    assert did["duplicated"] - 8 <= faults["duplicate"] <= did["duplicated"]
    assert did["duplicated"] >= 500 * 20 // 70


def test_lost_values_of_several() -> None:
    """A value that does not arrive before END is missing; without END all are lost."""
    load, did = run(["--lose", "70"], [*SEVERAL, "--timeout", "0.2"])
    assert load.status == REPLIES_WRONG
    assert load.result["misses"] > 50 < load.result["lost"]
    # Replies late because of a busy machine count as answered.
    faults = {name: n for name, n in load.faults().items() if name != "late"}
    assert faults == {"misses": load.result["misses"], "lost": load.result["lost"]}
    assert load.result["misses"] + load.result["lost"] <= did["lost"]
    assert load.result["get"]["answered"] == 500


def test_filled() -> None:
    """A second run uses the keys that the first one stored."""
    with reflector() as running:
        loads = [
            running.load("--requests", "5000", "--ratio", "1:1", *options)
            for options in ([], ["--filled"], ["--filled"])
        ]
        running.stop()
    for load in loads:
        assert load.status == OK, load.errors
        assert load.faults() == {}
    assert running.did["sets"] == 1000 + sum(load.result["set"]["answered"] for load in loads)


def test_servers_in_turn() -> None:
    """Each server gets its own time, and its own counts."""
    with reflector() as first, reflector("--lose", "50") as second:
        options = ["--seconds", "0.5", "--slice", "0.1", "--warm-up", "0", "--timeout", "0.2"]
        options += ["--keys", "1000", "--ratio", "1:0", "--quiet"]
        began = time.monotonic()
        load = udpload(*options, first.port, second.port)
        took = time.monotonic() - began
        first.stop()
        second.stop()
    assert load.status == OK, load.errors
    results = load.result["servers"]
    assert [str(result["port"]) for result in results] == [first.port, second.port]
    for result, did in zip(results, (first.did, second.did), strict=True):
        assert result["seconds"] >= 0.5
        # On a busy machine some replies are late.
        assert result["lost"] + result["unanswered"] - result["late"] == did["lost"]
        # The others belonged to the warm-up of each slice.
        assert 0 < result["get"]["answered"] < did["gets"] - did["lost"]
    assert sum(result["seconds"] for result in results) < took
    assert first.did["lost"] == 0 < second.did["lost"]


def test_ratio() -> None:
    load, _ = run([], ["--requests", "20000"])
    assert 0.08 < load.result["set"]["answered"] / 20000 < 0.12


def test_lost() -> None:
    load, did = run(["--lose", "70"], ["--requests", "10000", "--timeout", "0.5"])
    assert load.status == OK, load.errors
    assert did["lost"] > 100
    assert load.faults() == {"lost": did["lost"]}
    # Each was sent again; its time counts from the first sending.
    assert load.result["get"]["answered"] == did["gets"] - did["lost"]
    assert load.times()["max"] > 500


def test_duplicate() -> None:
    load, did = run(["--duplicate", "70"], ["--requests", "10000"])
    assert load.status == OK, load.errors
    assert did["duplicated"] > 100
    # On a busy machine the duplicate of a last reply is sent when nobody waits any more.
    assert load.faults().keys() == {"duplicate"}
    assert did["duplicated"] - 1 <= load.faults()["duplicate"] <= did["duplicated"]


def test_late() -> None:
    """A reply after its timeout counts as late, not as a duplicate or an answer."""
    load, did = run(
        ["--stall-at", "2000", "--stall-ms", "1500"],
        ["--requests", "10000", "--outstanding", "32", "--timeout", "1", "--ratio", "1:0"],
    )
    assert load.status == OK, load.errors
    assert load.faults() == {"lost": 32, "late": 32}
    assert did["gets"] == 10032


@pytest.mark.parametrize("fault", ["corrupt", "stale"])
@pytest.mark.parametrize("size", ["8", "64", "5000"])
def test_wrong(fault: str, size: str) -> None:
    """A changed bit anywhere, and replaced values."""
    load, did = run(
        ["--value-size", size, f"--{fault}", "37"],
        ["--requests", "5000", "--value-size", size, "--ratio", "1:0"],
    )
    assert load.status == REPLIES_WRONG, load.errors
    assert did["corrupted"] + did["staled"] > 100
    assert load.faults() == {"wrong": did["corrupted"] + did["staled"]}
    assert "replies were wrong" in load.errors


def test_large_replies() -> None:
    """Replies of several datagrams are reassembled, duplicates included."""
    size = ["--value-size", "20000", "--keys", "10"]
    # Not for the last one: the run would not wait for all its duplicates.
    with reflector(*size, "--duplicate", "9") as running:
        # Few at a time: a socket's default buffer holds no more.
        options = ["--requests", "200", "--outstanding", "2", "--ratio", "1:0", "--quiet"]
        load = udpload(*size, *options, running.port)
        running.stop()
    assert load.status == OK, load.errors
    datagrams = -(-(20000 + 6 + 16 + 10 + 7) // 1392)
    assert running.did["duplicated"] == 22
    assert load.faults() == {"duplicate": 22 * datagrams}


STALL = ["--stall-at", "400", "--stall-ms", "300"]


def test_open_loop_counts_from_intended_time() -> None:
    """Requests due during a stall count as waiting, sent or not."""
    options = ["--rate", "2000", "--seconds", "2", "--warm-up", "0", "--timeout", "2"]
    load, _ = run(STALL, [*options, "--outstanding", "64", "--ratio", "1:0"])
    assert load.status == OK, load.errors
    # A busy machine may be late at the very end.
    assert load.faults().keys() <= {"unsent"}
    # 600 of 4000 were due during the stall and waited for its end: from 300 ms down to none.
    assert load.result["get"]["answered"] + load.result["unsent"] > 3600
    assert load.times()["p99"] > 250
    assert load.times()["p90"] > 60
    assert load.times()["mean"] > 18


def test_closed_loop_waits_for_the_stall() -> None:
    """In a closed loop, only requests in flight when the stall begins are delayed."""
    load, _ = run(STALL, ["--requests", "4000", "--outstanding", "8", "--ratio", "1:0"])
    assert load.status == OK, load.errors
    assert load.times()["max"] > 250
    assert load.times()["p99"] < 100


def test_rate_out_of_reach() -> None:
    """Requests that could not be sent are reported."""
    load, _ = run(
        ["--stall-at", "100", "--stall-ms", "1200"],
        ["--rate", "1000", "--seconds", "1", "--warm-up", "0", "--outstanding", "16"],
    )
    assert load.result["unsent"] > 500
    assert "came due and were not sent" in load.errors


def test_server_dies() -> None:
    with reflector("--stall-at", "3000", "--stall-ms", "60000") as running:
        load = running.load("--seconds", "60", "--timeout", "0.05")
        assert load.status == FAILED
        assert re.search(r"has not answered for 1 s", load.errors), load.errors


@pytest.mark.parametrize("survive", [True, False])
def test_server_comes_back_empty(survive: bool) -> None:
    options = ["--seconds", "1.5", "--timeout", "0.1", *(["--survive"] if survive else [])]
    with reflector() as first:
        process = first.start_load(*options)
        while process.poll() is None and not first.has_served():
            time.sleep(0.02)
        first.process.kill()
    with reflector("--port", first.port) as second:
        stdout, errors = process.communicate(timeout=TIME)
        second.stop()
    assert process.returncode == (OK if survive else FAILED), errors
    if survive:
        result = json.loads(stdout)
        assert (result["wrong"], result["duplicate"], result["stray"]) == (0, 0, 0)
        assert result["misses"] > 100
        assert second.did["gets"] > result["misses"]
        assert second.did["sets"] > 100
    else:
        assert "the server closed a TCP connection" in errors or "nothing listens" in errors


def test_missed() -> None:
    """Missing keys do not count as answered."""
    load, did = run([], ["--filled", "--requests", "2000", "--ratio", "1:0"])
    assert load.status == REPLIES_WRONG
    assert load.faults() == {"misses": did["gets"]}


def test_no_server() -> None:
    with reflector() as running:
        running.stop()
        load = running.load()
    assert load.status == FAILED
    assert "no TCP connection to the server's port" in load.errors


@pytest.mark.parametrize(
    ("options", "status", "message"),
    [
        ("", USAGE, "usage: udpload"),
        ("1 2:x", FAILED, "x is not a number"),
        ("--requests 1 --slice 1 1", FAILED, "--requests has no --slice"),
        ("--no-such-option 1", USAGE, "try udpload --help"),
        ("70000", FAILED, "70000 is not a number from 1 to 65535"),
        ("--value-size 7 1", FAILED, "7 is not a number from 8"),
        ("--value-size 65537 1", FAILED, "65537 is not a number"),
        ("--key-size 251 1", FAILED, "251 is not a number"),
        ("--ratio 9 1", FAILED, "9 is not a ratio"),
        ("--ratio 0:0 1", FAILED, "0:0 is not a ratio"),
        ("--outstanding 0 1", FAILED, "0 is not a number"),
        ("--outstanding 9999 --sockets 1 1", FAILED, "use more --sockets"),
        ("--keys-per-get 65 1", FAILED, "65 is not a number"),
        ("--keys-per-get 60 --key-size 30 1", FAILED, "are more than a datagram"),
        ("--keys-per-get 2 --value-size 1400 1", FAILED, "are more than a datagram"),
        ("--threads 65 1", FAILED, "65 is not a number"),
        ("--threads 4 --outstanding 3 1", FAILED, "3 requests out are too few for 4 threads"),
        ("--threads 4 --requests 3 1", FAILED, "3 requests are too few for 4 threads"),
        ("--rate -1 1", FAILED, "-1 is not a number"),
        ("--host nowhere 1", FAILED, "nowhere is not an IPv4 address"),
        ("--system-calls 1", FAILED, "--system-calls needs PORT:TID"),
    ],
)
def test_usage(options: str, status: int, message: str) -> None:
    load = udpload(*options.split())
    assert load.status == status
    assert message in load.errors
