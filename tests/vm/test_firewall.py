# SPDX-License-Identifier: GPL-2.0
"""docs/firewall*.md: each command, as an ordinary user, and its effect."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import firewall_page
import pytest
from runner import COMMAND, HANG, account
from test_programs import BALANCE, PRELUDE, in_own_namespace

CHECKS = """
def wire(name):
    return b"".join(bytes([len(x)]) + x.encode() for x in name.split(".")) + b"\\0"

def question(name, questions=1, end=b"\\0\\1\\0\\1", port=53):
    "An error of a DNS question, or whether it arrives."
    name = name if isinstance(name, bytes) else wire(name)
    with socket.socket(*UDP) as to, socket.socket(*UDP) as s:
        to.bind(("127.0.0.1", port))
        to.settimeout(5)
        s.connect(("127.0.0.1", port))
        try:
            header = bytes([0, 7, 1, 0, 0, questions, 0, 0, 0, 0, 0, 0])
            s.send(header + name + end)
            return len(to.recv(600)) > 12
        except OSError as error:
            return type(error).__name__

def connects(port, timeout):
    with socket.socket() as to, socket.socket() as s:
        to.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        to.bind(("127.0.0.1", port))
        to.listen()
        s.settimeout(timeout)
        try:
            s.connect(("127.0.0.1", port))
            return True
        except (TimeoutError, PermissionError, ConnectionRefusedError):
            return False

def knock(*ports):
    with socket.socket(*UDP) as s:
        for port in ports:
            s.sendto(b"", ("127.0.0.1", port))

def sources():
    "Each sender has ten in each of its seconds; two may have begun, and more on a busy machine."
    for family in socket.AF_INET, socket.AF_INET6:
        since = time.monotonic()
        got = arrives(4000, family, 30)
        most = 10 * (2 + int(time.monotonic() - since))
        if not 10 <= got <= most:
            return [family, got, most]
    return arrives(4001, n=30) == 30

def limit():
    "All senders share ten a second."
    since = time.monotonic()
    got = [arrives(4000, n=30), arrives(4000, socket.AF_INET6, 30)]
    most = min(10 + 10 * (time.monotonic() - since), 50)
    return 10 <= got[0] <= sum(got) <= most and arrives(4001, n=30) == 30 or [got, most]

def dns():
    long = ".".join(["a" * 40] * 5)
    let = [f"{long}.example.org", "notexample.net", "example.net.org", "xample.net", "net",
           "0." * 32 + "ip6.arpa", "example.net" + "x" * 10, "", wire("example") + wire("net")]
    refuse = ["example.net", "www.EXAMPLE.net", "eXaMpLe.NeT", f"{long}.example.net",
              "a." * 20 + "example.net", "a." * 121 + "example.net", "x" * 63 + ".example.net"]
    # No name, or longer than one may be; a pointer, a label of an unknown kind, at both ends.
    broken = [".".join(["a" * 63] * 4), wire("www.example")[:-1] + b"\\xc0\\x0c", b"\\xc0\\x0c",
              b"\\x40a\\0", b"\\x80" + wire("example.net"), wire("example.net")[:-1]]
    counts = [question("example.org", n) for n in (0, 2, 255)]
    ends = [question(b"", 1, b""), question(wire("example.org")[:-1], 1, b"")]
    refused = ("PermissionError", "ConnectionRefusedError")
    seen = [question(name) for name in let] + [question(name, end=b"") for name in let]
    got = [question(name) for name in refuse + broken] + counts + ends
    tcp = connects(53, 0.3)
    return (all(x is True for x in seen) and all(x in refused for x in got) and not tcp
            or [seen, got, tcp])

def knocks():
    shut = connects(2200, 0.3)
    knock(7001, 7003, 7002)
    wrong = connects(2200, 0.3)
    knock(7001, 7002, 7003)
    # SYNs are sent anew after a second: the next one finds the door open.
    return [shut, wrong, connects(2200, 3), connects(2201, 1)] == [False, False, True, True]

def syn():
    since = time.monotonic()
    first = connects(5000, 5)
    took = time.monotonic() - since
    return first and took > 0.9 and connects(5001, 0.8)

def sample():
    "Packets with the mark reach a program that drops them."
    code = (i.load(2, 1, 8, 4) + i.jump_ifi("eq", 2, 0x5a, 2)
            + i.movi(0, 1) + i.EXIT + i.movi(0, 0) + i.EXIT)
    assert p.load(p.image([code]), name="marked", where="inet input 5") == (0, "")
    got = sum(arrives(4001, n=50) for _ in range(4))
    p.unload("marked")
    return got == 198 or got

def balance():
    right = [["question", "b'answer'", "('10.0.0.9', 4000)"]] * 3
    return udp() == right

def answers():
    "Packets to an open port, unasked ones, and those to a socket that has sent first."
    with socket.socket(*UDP) as a, socket.socket(*UDP) as b, socket.socket(*UDP) as c:
        for s in (a, b, c):
            s.bind(("127.0.0.1", 0))
            s.settimeout(0.3)
        at = [s.getsockname() for s in (a, b, c)]
        def comes(to, k):
            try:
                return to.recvfrom(10)[1] == at[k]
            except TimeoutError:
                return False
        b.sendto(b"unasked", at[0])
        first = comes(a, 1)
        a.sendto(b"answer", at[1])
        second = comes(b, 0)
        c.sendto(b"answer?", at[1])
        third = comes(b, 2)
        got = [first, second, third, arrives(4000), connects(5000, 0.3)]
        got += [arrives(22), connects(22, 2)]
        six = [arrives(4000, socket.AF_INET6), arrives(22, socket.AF_INET6)]
    return [got, six] == [[False, True, False, 0, False, 1, True], [0, 1]] or [got, six]

checks = {"sources": sources, "dns": dns, "knock": knocks, "syn": syn, "sample": sample,
          "balance": balance}
"""
IN_LUA = 'checks["answers"] = answers\n'


RUN = """
for text in blocks:
    done = subprocess.run(["bash", "-euc", text], capture_output=True, text=True)
    assert not done.returncode, (text, done.stderr)
    first = text.startswith("syscript load ")  # not functions for processes
    lines = [line.split() for line in text.splitlines() if first]
    loaded = [words[2] for words in lines if words[:2] == ["syscript", "load"]]
    if loaded:
        result[loaded[0]] = checks.pop(loaded[0])()
        result[loaded[0], "errors"] = sum(one(name).errors for name in loaded)
        # One at a time, but for the page's own unload.
        loaded == ["sources"] or [p.unload(name) for name in loaded]
result = {str(k): v for k, v in result.items()}
result["unchecked"] = list(checks)
result["left"] = len(p.programs())
"""


@pytest.mark.parametrize(
    "page", [firewall_page.PAGE, pytest.param(firewall_page.LUA_PAGE, marks=pytest.mark.long)]
)
def test_page(page: Path) -> None:
    own, up = firewall_page.blocks(page)[0].splitlines()
    assert own.endswith(" bash")
    blocks = [up, *(b for b in firewall_page.blocks(page)[1:] if not firewall_page.compiles(b))]
    more = IN_LUA if page == firewall_page.LUA_PAGE else ""
    body = PRELUDE + f"\nblocks = {blocks!r}\n" + BALANCE + CHECKS + more + RUN
    done = subprocess.run(
        [*own.split()[:-1], sys.executable, "-c", body + "\nprint(json.dumps(result))"],
        **account("outsider")
        | {
            "cwd": firewall_page.PLACE,
            "env": {**os.environ, "PATH": f"{COMMAND.parent}:{os.environ['PATH']}"},
        },
        capture_output=True,
        text=True,
        timeout=HANG,
    )
    assert not done.returncode, done.stderr
    result = json.loads(done.stdout)
    assert result.pop("unchecked") == [] and result.pop("left") == 0
    errors = {k: v for k, v in result.items() if "errors" in k}
    assert len(errors) == 6 + bool(more) and not any(errors.values())
    assert all(v is True for k, v in result.items() if k not in errors), result


OTHERS = firewall_page.ROOT / "examples" / "netfilter" / "others"
# Examples that nftables can express; its balancing gives each client another server.
SAME = ("sources", "knock", "syn", "sample")


@pytest.mark.long  # others/, compared with the examples, changes together with them
def test_nftables_does_the_same() -> None:
    """The nftables rules next to the examples pass the same checks."""
    result = in_own_namespace(
        BALANCE
        + CHECKS
        + f"""
checks["limit"] = limit
for name in {SAME + ("limit",)!r}:
    subprocess.run(["nft", "-f", f"{OTHERS}/{{name}}.nft"], check=True)
    result[name] = checks[name]()
    subprocess.run(["nft", "flush", "ruleset"], check=True)
for line in ("add table ip balance", "flush ruleset"):
    subprocess.run(["nft", line], check=True)
result["balance"] = subprocess.run(["nft", "-c", "-f", "{OTHERS}/balance.nft"]).returncode == 0
"""
    )
    assert all(v is True for v in result.values()), result
