# SPDX-License-Identifier: GPL-2.0
"""`consolidate record --audit` sets rules, and restores everything however it ends.

The kernel and auditctl are simulated: a command auditctl lists the rules that it was given and
sends records to a socket.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import ROOT
from traces import PYTHON

# Runs consolidate with a socket of the test in place of netlink's.
DRIVER = """
import os, socket, sys
from consolidate.trace import auditing
def listen():
    log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    log.bind(os.environ["STATE"] + "/log")
    return log
auditing.listen = listen
start = auditing.Command.start
def start_and_signal(command):
    start(command)
    if "SIGNAL" in os.environ:
        os.kill(os.getpid(), int(os.environ["SIGNAL"]))
auditing.Command.start = start_and_signal
auditing.os.geteuid = lambda: int(os.environ.get("EUID", "0"))
from consolidate.__main__ import main
sys.exit(main())
"""
AUDITCTL = """#!/bin/sh
echo "$*" >>$STATE/told
case $1 in
-s) cat $STATE/state ;;
-l) cat $STATE/rules ;;
-a) [ ! -e $STATE/refuse ] || { echo "no such field" >&2; exit 255; }
    for last; do :; done
    KEY=$last exec {python} -SE $STATE/kernel.py records ;;
-m) exec {python} -SE $STATE/kernel.py "$2" ;;
esac
"""
KERNEL = """
import os, socket, struct, sys
log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
def send(kind, serial, text):
    text = f"audit(1795176158.000:{serial}): {text}".encode() + b"\\0"
    log.sendto(struct.pack("=IHHII", 16 + len(text), kind, 0, 0, 0) + text,
               os.environ["STATE"] + "/log")
def call(serial, number, key):
    send(1300, serial, f"arch=c000003e syscall={number} success=yes exit=3 a0=3 a1=0 a2=0 a3=0"
         f' items=0 ppid=1 pid=10 comm="cat" key="{key}"')
if sys.argv[1] == "records":
    call(4, 0, os.environ["KEY"])
    call(5, 1, "of somebody else")
    send(1302, 4, 'item=0 name="/x"')
    send(1302, 5, 'item=0 name="/y"')
    send(1320, 4, "")
else:
    send(1005, 9, f"pid=1 msg='{sys.argv[1]}'")
"""
STATE = "enabled {enabled}\nfailure {failure}\npid 0\nrate_limit 0\nbacklog_limit 64\nlost 0\n"


class Machine:
    """A simulated machine's audit system."""

    def __init__(self, place: Path) -> None:
        self.place = place
        auditctl = place / "auditctl"
        auditctl.write_text(AUDITCTL.replace("{python}", str(PYTHON)))
        auditctl.chmod(0o755)
        (place / "kernel.py").write_text(KERNEL)
        (place / "driver.py").write_text(DRIVER)
        (place / "rules").write_text("No rules\n")
        self.output = place / "audit.log"
        self.set()

    def set(self, enabled: int = 0, failure: int = 1) -> None:
        (self.place / "state").write_text(STATE.format(enabled=enabled, failure=failure))

    def start(self, *args: str, **more: str) -> subprocess.Popen[str]:
        env = {**os.environ, "PYTHONPATH": str(ROOT), "STATE": str(self.place), **more}
        env["PATH"] = f"{self.place}:{env['PATH']}"
        command = [PYTHON, self.place / "driver.py", "record", "--audit", "-o", self.output]
        pipe = subprocess.PIPE
        return subprocess.Popen([*command, *args], env=env, stdout=pipe, stderr=pipe, text=True)

    def run(self, *args: str, **more: str) -> tuple[int, str]:
        process = self.start(*args, **more)
        _, stderr = process.communicate(timeout=120)
        return process.returncode, stderr

    def told(self) -> list[str]:
        path = self.place / "told"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line for line in lines if line.split()[0] in ("-a", "-d", "-b", "-e")]

    def undone(self) -> None:
        """Everything that was changed is restored."""
        told = self.told()
        (added,) = (line for line in told if line.startswith("-a"))
        assert told[:3] == ["-b 65536", "-e 1", added]
        assert sorted(told[3:]) == ["-b 64", "-d" + added[2:], "-e 0"]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_command_has_a_session_that_the_rule_is_for(machine: Machine) -> None:
    status, stderr = machine.run("sh", "-c", "cat /proc/self/sessionid >&2; exit 7")
    assert status == 7, stderr
    session = stderr.splitlines()[0].split("consolidate")[0]
    rule = machine.told()[2]
    assert f"-a always,exit -F arch=b64 -S all -F sessionid={session} -k " in rule
    assert session != Path("/proc/self/sessionid").read_text()
    # Only the records of consolidate's own rule.
    lines = machine.output.read_text().splitlines()
    assert [line.split()[0] for line in lines] == ["type=SYSCALL", "type=PATH", "type=EOE"]
    assert 'name="/x"' in lines[1]
    machine.undone()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_end_of_the_recorder_puts_everything_back(machine: Machine, number: int) -> None:
    process = machine.start("sh", "-c", "echo $$; exec sleep 1000")
    command = int(process.stdout.readline())
    process.send_signal(number)
    process.wait()
    if number == signal.SIGKILL:
        # The cleanup process restores the rules; recorded data is kept.
        until(lambda: len(machine.told()) == 6)
        os.kill(command, signal.SIGKILL)
    else:
        assert process.returncode == 128 + signal.SIGTERM
        assert machine.output.stat().st_size
    machine.undone()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_that_come_early_end_it_as_well(machine: Machine, number: int) -> None:
    status, stderr = machine.run("sleep", "1000", SIGNAL=str(int(number)))
    assert status == 128 + signal.SIGTERM, stderr
    machine.undone()


def test_a_rule_that_is_refused_leaves_nothing(machine: Machine) -> None:
    (machine.place / "refuse").touch()
    status, stderr = machine.run("sh", "-c", "echo ran >&2")
    assert status == 1
    assert "no such field" in stderr
    assert "ran" not in stderr.replace("--", "")
    machine.undone()


def test_processes_are_recorded_until_they_end(machine: Machine) -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as watched:
        process = machine.start("-p", str(watched.pid))
        until(lambda: any(line.startswith("-a") for line in machine.told()))
        assert f"-F pid={watched.pid} " in machine.told()[2]
        watched.stdin.close()
    assert process.wait(timeout=60) == 0
    machine.undone()


def test_what_is_set_already_is_not_reset(machine: Machine) -> None:
    machine.set(enabled=1)
    assert machine.run("true")[0] == 0
    assert not any(line.startswith("-e") for line in machine.told())


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ({"EUID": "1000"}, "needs root"),
        ({"enabled": 2}, "locked until the next boot"),
        ({"failure": 2}, "panics when it loses"),
        ({"rules": "-a never,task\n"}, "keeps new processes from being audited"),
        ({"args": ["--stacks"]}, "audit has no stacks"),
    ],
)
def test_where_it_cannot_record(machine: Machine, what: dict, message: str) -> None:
    machine.set(**{key: what[key] for key in ("enabled", "failure") if key in what})
    if "rules" in what:
        (machine.place / "rules").write_text(what["rules"])
    environment = {"EUID": what["EUID"]} if "EUID" in what else {}
    status, stderr = machine.run(*what.get("args", []), "true", **environment)
    assert status == 1
    assert message in stderr
    assert not machine.told()
