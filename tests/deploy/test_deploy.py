# SPDX-License-Identifier: GPL-2.0
"""Runs what docs/deploy.md says, with its own drop-ins and options.

As root in a guest, by `make test-deploy`.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(Path(__file__).parent), str(ROOT / "bench" / "memcached")]

import seccomp  # noqa: E402
from machine import COMMAND, Machine, doctor  # noqa: E402
from server import MEMCACHED, UDPLOAD, stats_of  # noqa: E402

PAGE = (ROOT / "docs/deploy.md").read_text()
DROP_INS = dict(re.findall(r"^```ini\n# (/\S+)\n(.*?)^```$", PAGE, re.M | re.S))
DROP_IN, FILTER, REDIS, LXC = DROP_INS
COMMANDS = re.findall(r"^```sh\n(.*)\n```$", PAGE, re.M)
PODMAN, ROOTLESS, DOCKER, BUBBLEWRAP = COMMANDS
PORT = 11311
# A drop-in that replaces Debian's program by the one with scripts.
PROGRAM = f"""[Service]
ExecStart=
ExecStart={MEMCACHED} -u memcache -l 127.0.0.1 -p {PORT} -U {PORT} -t 1 -o udp_batch=syscript
"""
DOCTOR = [str(COMMAND), "doctor", "--json"]
HELLO = ROOT / "scripts" / "hello.lua"


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    made = Machine()
    yield made
    made.stop()


# -- systemd ---------------------------------------------------------------------


@pytest.fixture
def unit(machine: Machine) -> Iterator[Machine]:
    """Debian's memcached.service, with our memcached."""
    directory = "/etc/systemd/system/memcached.service.d"
    machine.write(f"{directory}/program.conf", PROGRAM)
    yield machine
    machine.run("systemctl", "stop", "memcached")
    machine.do("rm", "-r", directory)


def served(machine: Machine) -> dict[str, str]:
    """The stats of the unit's memcached after some requests."""
    machine.do("systemctl", "daemon-reload")
    machine.do("systemctl", "restart", "memcached")
    command = ["timeout", "60", "sh", "-c", f"until ss -ltn | grep -q :{PORT}; do sleep 0.2; done"]
    assert subprocess.run(command).returncode == 0, machine.run(
        "systemctl", "status", "memcached"
    ).stdout
    load = [UDPLOAD, "--quiet", "--keys", "100", "--requests", "1000", str(PORT)]
    done = subprocess.run(load, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["get"]["answered"] > 800 and result["wrong"] == 0
    return stats_of("127.0.0.1", PORT)


def in_unit(machine: Machine, *properties: str, command: list[str] = DOCTOR) -> dict:
    """doctor's findings in a similar unit."""
    options = [option for name in properties for option in ("-p", name)]
    return doctor(machine.run("systemd-run", "-q", "--wait", "--pipe", *options, *command))


def settings(text: str) -> list[str]:
    return [line for line in text.splitlines() if re.match(r"^\w+=", line)]


def test_debian_unit_as_it_is(unit: Machine) -> None:
    """Without the device, scripts run in the process, and doctor says why."""
    stats = served(unit)
    assert stats["udp_batch"] == "syscript"
    assert stats["udp_batch_backend"] == "user"
    found = in_unit(unit, "PrivateDevices=yes", "MemoryDenyWriteExecute=yes")
    assert found["backend"] == "user" and found["interpreted"]
    advice = " ".join(step["command"] for step in found["missing"])
    assert "DeviceAllow=/dev/syscript rw" in advice and "SupplementaryGroups=" in advice


def test_drop_in(unit: Machine) -> None:
    unit.write(DROP_IN, DROP_INS[DROP_IN])
    stats = served(unit)
    assert (stats["udp_batch"], stats["udp_batch_backend"]) == ("syscript", "kernel")
    found = in_unit(unit, *settings(DROP_INS[DROP_IN]), "MemoryDenyWriteExecute=yes")
    assert found["watched"]["seccomp"] and found["backend"] == "kernel"
    assert found["missing"] == []


def test_drop_in_with_a_filter(unit: Machine) -> None:
    for path in (DROP_IN, FILTER):
        unit.write(path, DROP_INS[path])
    assert served(unit)["udp_batch_backend"] == "kernel"
    main = unit.do("systemctl", "show", "-P", "MainPID", "memcached").strip()
    filters = unit.do("grep", "Seccomp_filters", f"/proc/{main}/status")
    assert int(filters.split()[1]) > 3


def test_device_policy_without_the_device(machine: Machine) -> None:
    """The node exists and is open to the group; the cgroup denies it, and doctor says why."""
    found = in_unit(machine, "DevicePolicy=closed", "SupplementaryGroups=syscript")
    assert found["backend"] == "user"
    assert "this unit may not use /dev/syscript" in found["missing"][0]["what"]


# Options of systemd.exec(5) that restrict a unit; of these some take the device away.
SANDBOXING = """
    CapabilityBoundingSet= DynamicUser=yes IPAddressDeny=any KeyringMode=private
    LockPersonality=yes MemoryDenyWriteExecute=yes NoNewPrivileges=yes PrivateIPC=yes
    PrivateMounts=yes PrivateNetwork=yes PrivateTmp=yes PrivateUsers=yes ProcSubset=pid
    ProtectClock=yes ProtectControlGroups=yes ProtectHome=yes ProtectHostname=yes
    ProtectKernelLogs=yes ProtectKernelModules=yes ProtectKernelTunables=yes
    ProtectProc=invisible ProtectSystem=strict RemoveIPC=yes RestrictAddressFamilies=AF_UNIX
    RestrictNamespaces=yes RestrictRealtime=yes RestrictSUIDSGID=yes SecureBits=noroot
    SystemCallArchitectures=native SystemCallFilter=@system-service
"""
DEVICES = "/dev/syscript /dev/syscript-luajit"
# Options with paths, and what else they need, a line each.
SANDBOXING_PATHS = f"""
    InaccessiblePaths=/home /srv
    ReadOnlyPaths=/
    NoExecPaths=/; ExecPaths=/usr {COMMAND} {COMMAND.parent}
    TemporaryFileSystem=/dev; BindPaths={DEVICES}
    RootDirectory=/srv/box; BindReadOnlyPaths={ROOT}; MountAPIVFS=yes
"""
WITHOUT_DEVICE = f"""
    DevicePolicy=closed
    DevicePolicy=strict
    InaccessiblePaths={DEVICES}
    PrivateDevices=yes
    TemporaryFileSystem=/dev
"""
# Prints the first backend by which a script gives its result.
TRY = f"""
for backend in kernel ''; do
	export SYSCRIPT_BACKEND=$backend
	if [ "$({COMMAND} run --time-limit 10000 {HELLO} 20 22 | tail -1)" = 42 ]; then
		echo "${{backend:-user}}"
		break
	fi
done
"""


def backend_in_unit(machine: Machine, properties: list[str]) -> str:
    options = [word for name in ["User=member", *properties] for word in ("-p", name)]
    done = machine.run("systemd-run", "-q", "--wait", "--pipe", *options, "sh", "-c", TRY)
    return done.stdout.strip() or done.stderr


def options_of(lines: str) -> list[list[str]]:
    return [line.strip().split("; ") for line in lines.strip().splitlines()]


def test_each_option(machine: Machine, box: str) -> None:
    """A script runs in the kernel, unless an option takes the device away."""
    all_ = [*([option] for option in SANDBOXING.split()), *options_of(SANDBOXING_PATHS)]
    found = {tuple(option): backend_in_unit(machine, option) for option in all_}
    assert {option: backend for option, backend in found.items() if backend != "kernel"} == {}
    without = {tuple(o): backend_in_unit(machine, o) for o in options_of(WITHOUT_DEVICE)}
    assert {option: backend for option, backend in without.items() if backend != "user"} == {}


# Runs doctor in redis-server's unit, under all of the unit's options.
BESIDE_REDIS = f"""[Service]
ExecPaths=/usr/bin {COMMAND}
ExecStartPost=/bin/sh -c '{COMMAND} doctor --json >/run/redis/doctor; exit 0'
ExecStartPost=/bin/sh -c '{COMMAND} run --time-limit 10000 {HELLO} 20 22 >/run/redis/hello'
"""


def beside_redis(machine: Machine, drop_in: str) -> dict[str, Any]:
    """doctor's findings in the unit of a Redis that serves requests."""
    directory = str(Path(REDIS).parent)
    machine.write(f"{directory}/beside.conf", BESIDE_REDIS)
    if drop_in:
        machine.write(REDIS, drop_in)
    machine.do("systemctl", "daemon-reload")
    machine.run("systemctl", "reset-failed", "redis-server")
    try:
        done = machine.run("systemctl", "restart", "redis-server")
        assert done.returncode == 0, machine.run("journalctl", "-u", "redis-server").stdout
        found = json.loads(machine.do("cat", "/run/redis/doctor"))
        assert machine.do("redis-cli", "set", "key", "value") == "OK\n"
        assert machine.do("cat", "/run/redis/hello").endswith("42\n")
        return found
    finally:
        machine.run("systemctl", "stop", "redis-server")
        machine.do("rm", "-r", directory)


def test_redis_unit_as_it_is(machine: Machine) -> None:
    found = beside_redis(machine, "")
    assert found["watched"]["seccomp"] and found["backend"] == "user"
    advice = " ".join(step["command"] for step in found["missing"])
    assert "DeviceAllow=/dev/syscript rw" in advice and "SupplementaryGroups=" in advice


def test_redis_unit(machine: Machine) -> None:
    found = beside_redis(machine, DROP_INS[REDIS])
    assert found["watched"]["seccomp"] and found["backend"] == "kernel"
    assert found["missing"] == []


# -- containers --------------------------------------------------------------------


@pytest.fixture(scope="module")
def box(machine: Machine) -> str:
    """A container's files: the machine's."""
    machine.do(
        *("sh", "-euc"),
        "mkdir -p /srv/box && mount --bind / /srv/box && cd /srv/box && "
        "touch etc/hosts etc/resolv.conf etc/hostname run/.containerenv && "
        f"mkdir -p run/secrets sys dev proc ./{ROOT} && "
        "install -d -o member -g member -m 700 /run/user/1500 && "
        "mount -t tmpfs tmpfs /var/lib/containers && mount -t tmpfs tmpfs /home && "
        "install -d -o member -g member /home/member",
    )
    return "/srv/box"


def podman(options: str, box: str, *command: str) -> list[str]:
    """`podman run OPTIONS IMAGE`, with the box as root file system."""
    found = re.fullmatch(r"podman run (.*) IMAGE", options)
    more = f"--rm --network=host --cgroups=disabled --log-driver=none -v {ROOT}:{ROOT}:ro"
    words = " ".join([*command])
    return ["sh", "-c", f"podman run {more} {found[1]} --rootfs {box} {words}"]


def check_container(machine: Machine, options: str, box: str, user: str, *more: str) -> None:
    run = podman(options, box, *DOCTOR)
    run[-1] = run[-1].replace("--rm", " ".join(["--rm", *more]))
    found = doctor(machine.run(*run, user=user))
    assert found["watched"]["seccomp"], "the default profile is on"
    assert found["missing"] == [] and found["backend"] == "kernel"


def test_podman(machine: Machine, box: str) -> None:
    """As a user other than root in the container."""
    check_container(machine, PODMAN, box, "root", "--user 33:33")


def test_podman_rootless(machine: Machine, box: str) -> None:
    check_container(machine, ROOTLESS, box, "member")


def test_podman_without_the_device(machine: Machine, box: str) -> None:
    found = doctor(machine.run(*podman("podman run --user 33:33 IMAGE", box, *DOCTOR)))
    assert found["backend"] == "user"
    advice = " ".join(step["command"] for step in found["missing"])
    assert "--device /dev/syscript" in advice and "--group-add" in advice


# Files of Docker's image: the machine's are mounted into it.
IMAGE = """
cd /srv && mkdir image && cd image && mkdir -p etc tmp usr
ln -s usr/bin usr/sbin usr/lib usr/lib64 . && cp /etc/passwd /etc/group /etc/nsswitch.conf etc
tar -c . | docker import - box
"""


@pytest.fixture(scope="module")
def docker(machine: Machine) -> str:
    """The image's name. Docker sets up no network: iptables is missing."""
    machine.write(
        "/etc/docker/daemon.json",
        json.dumps({"storage-driver": "vfs", "bridge": "none", "iptables": False}),
    )
    machine.do("systemctl", "start", "docker")
    machine.do("sh", "-euc", IMAGE)
    return "box"


def in_docker(machine: Machine, options: str, image: str) -> dict[str, Any]:
    """doctor's findings in `docker run OPTIONS IMAGE`, as a user other than root."""
    mounts = f"-v /usr:/usr:ro -v {ROOT}:{ROOT}:ro"
    found = re.fullmatch(r"docker run(.*) IMAGE", options)
    words = f"docker run --rm --network=host --user 33:33 {mounts}{found[1]} {image}"
    return doctor(machine.run("sh", "-c", f"{words} {' '.join(DOCTOR)}"))


def test_docker(machine: Machine, docker: str) -> None:
    found = in_docker(machine, DOCKER, docker)
    assert found["watched"]["seccomp"], "the default profile is on"
    assert found["missing"] == [] and found["backend"] == "kernel"


def test_docker_without_the_device(machine: Machine, docker: str) -> None:
    found = in_docker(machine, "docker run IMAGE", docker)
    assert found["backend"] == "user"
    advice = " ".join(step["command"] for step in found["missing"])
    assert "--device /dev/syscript" in advice and "--group-add" in advice


# A container whose root is the machine's user 200000, as `lxc-create` makes them.
CONTAINER = f"""lxc.include = /usr/share/lxc/config/common.conf
lxc.include = /usr/share/lxc/config/userns.conf
lxc.rootfs.path = dir:/srv/box
lxc.uts.name = box
lxc.net.0.type = empty
lxc.apparmor.profile = unconfined
lxc.idmap = u 0 200000 65536
lxc.idmap = g 0 200000 65536
lxc.mount.entry = {ROOT} {str(ROOT)[1:]} none bind,ro 0 0
"""


def in_lxc(machine: Machine, settings: str, group: int) -> dict[str, Any]:
    """doctor's findings in a container, for a user in @group there."""
    machine.do("sh", "-c", "echo root:200000:65536 | tee -a /etc/subuid >>/etc/subgid")
    machine.write("/var/lib/lxc/box/config", CONTAINER + settings)
    become = ["setpriv", "--reuid=33", "--regid=33", f"--groups={group}"]
    start = ["lxc-execute", "-n", "box", "-f", "/var/lib/lxc/box/config", "--"]
    unit = ["systemd-run", "-q", "--wait", "--pipe", "-p", "Delegate=yes"]
    return doctor(machine.run(*unit, *start, *become, *DOCTOR))


def test_lxc(machine: Machine, box: str) -> None:
    gid = machine.do("getent", "group", "syscript").split(":")[2]
    machine.do("sh", "-c", f"echo root:{gid}:1 >>/etc/subgid")
    found = in_lxc(machine, DROP_INS[LXC].replace("GID", gid), 65536)
    assert found["watched"]["seccomp"], "LXC's default filter is on"
    assert found["missing"] == [] and found["backend"] == "kernel"


def test_lxc_without_the_device(machine: Machine, box: str) -> None:
    found = in_lxc(machine, "", 33)
    assert found["backend"] == "user" and found["missing"]


def in_nspawn(machine: Machine, box: str, *options: str) -> dict[str, Any]:
    """doctor's findings in a container of systemd-nspawn, for a user other than root."""
    command = ["systemd-run", "-q", "--wait", "--pipe", "systemd-nspawn", "-q", "--console=pipe"]
    command += ["--link-journal=no", "--user=member", f"--bind-ro={ROOT}", *options, "-D", box]
    return doctor(machine.run(*command, *DOCTOR))


def test_nspawn(machine: Machine, box: str) -> None:
    found = in_nspawn(machine, box, "--bind=/dev/syscript", "--bind=/dev/syscript-luajit")
    assert found["watched"]["seccomp"], "nspawn's default filter is on"
    assert found["backend"] == "kernel"


def test_nspawn_without_the_device(machine: Machine, box: str) -> None:
    assert in_nspawn(machine, box)["backend"] == "user"


# -- sandboxes ---------------------------------------------------------------------


def test_bubblewrap_with_a_filter(machine: Machine) -> None:
    """Under a container runtime's seccomp filter."""
    command = BUBBLEWRAP.replace("COMMAND", f"--seccomp 9 {' '.join(DOCTOR)} 9</tmp/filter")
    machine.write("/tmp/filter.hex", seccomp.container().exported().hex())
    unhex = "print pack('H*', <STDIN>)"
    machine.do("sh", "-c", f'perl -e "{unhex}" </tmp/filter.hex >/tmp/filter')
    found = doctor(machine.run("sh", "-c", command, user="member"))
    assert found["watched"]["seccomp"]
    assert found["missing"] == [] and found["backend"] == "kernel"


def test_user_namespace(machine: Machine) -> None:
    """Root in the namespace is an ordinary user."""
    command = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", *DOCTOR]
    found = doctor(machine.run(*command, user="member"))
    assert found["missing"] == [] and found["backend"] == "kernel"
