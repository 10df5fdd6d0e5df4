# SPDX-License-Identifier: GPL-2.0 OR MIT
"""docs/fleet.md: module packages, manifests, the dashboard."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import BUILD, ROOT

FLEET = (ROOT / "docs/fleet.md").read_text()
MANIFESTS = ROOT / "packaging/kubernetes"
VALIDATOR = "kubernetes-validate==1.37.0"
METRIC = re.compile(r"\bsyscript_[a-z_]+\b")


def run(*argv: str | Path) -> str:
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def metrics() -> set[str]:
    """The metrics that `syscript list --prometheus` prints."""
    listed = (ROOT / "cli/list.c").read_text()
    counters = (ROOT / "cli/counters.c").read_text()
    named = re.findall(r'COUNTER\(\w+, "[^"]*", \d+, "(\w+)"', counters)
    assert len(named) == counters.count("\tCOUNTER(") > 5
    return {f"syscript_{name}" for name in named} | set(METRIC.findall(listed))


def test_dashboard_shows_metrics_that_there_are() -> None:
    board = json.loads((ROOT / "packaging/prometheus/dashboard.json").read_text())
    shown = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    assert len(shown) >= 7
    used = {name for expression in shown for name in METRIC.findall(expression)}
    assert used <= metrics() and len(used) >= 7
    ids = [panel["id"] for panel in board["panels"]]
    assert len(set(ids)) == len(ids)
    # Panels do not overlap.
    cells = [
        (x, y)
        for at in (panel["gridPos"] for panel in board["panels"])
        for x in range(at["x"], at["x"] + at["w"])
        for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(set(cells)) == len(cells) and max(x for x, _ in cells) == 23


def test_page_names_metrics_that_there_are() -> None:
    named = set(METRIC.findall(FLEET.partition("## Counters")[2]))
    assert named <= metrics() and len(named) >= 4


def test_manifests_agree() -> None:
    """The device is the module's, and the pod requests the resource that the plugin offers."""
    plugin = (MANIFESTS / "device-plugin.yaml").read_text()
    pod = (MANIFESTS / "pod.yaml").read_text()
    (device,) = re.findall(r"- path: (/dev/\S+)", plugin)
    (name,) = re.findall(r"^ +name: (\w+)\n +groups:", plugin, re.M)
    rules = (ROOT / "packaging/60-syscript.rules").read_text()
    assert f'KERNEL=="{device.removeprefix("/dev/")}"' in rules
    assert f"squat.ai/{name}: 1" in pod and f"`squat.ai/{name}`" in FLEET
    script = re.search(r"/usr/share/syscript/(scripts/\w+\.lua)", pod)[1]
    assert (ROOT / script).exists()
    assert "privileged" not in pod


@pytest.mark.long
def test_manifests_are_kubernetes_own(tmp_path: Path) -> None:
    """Valid by Kubernetes' schemas, strictly, without unknown fields. Downloads the schemas."""
    run(sys.executable, "-m", "venv", tmp_path)
    run(tmp_path / "bin/pip", "install", "-q", VALIDATOR)
    files = sorted(MANIFESTS.glob("*.yaml"))
    assert len(files) == 2
    run(tmp_path / "bin/kubernetes-validate", "--strict", *files)
    broken = tmp_path / "broken.yaml"
    broken.write_text(files[1].read_text().replace("restartPolicy", "restartPolity"))
    done = subprocess.run([tmp_path / "bin/kubernetes-validate", "--strict", broken])
    assert done.returncode != 0


@pytest.fixture(params=["syscript", "syscript_luajit"])
def module(request: pytest.FixtureRequest) -> Path:
    found = sorted(BUILD.glob(f"kernel-[0-9]*[0-9a-z]/{request.param}.ko"))
    if not found or not shutil.which("openssl") or not shutil.which("dpkg-deb"):
        pytest.skip("needs a module (make module), openssl and dpkg-deb")
    return found[0]


def package(module: Path) -> str:
    return module.stem.replace("_", "-") + "-module"


def test_module_package(module: Path, tmp_path: Path) -> None:
    release = run("modinfo", "-F", "vermagic", module).split()[0]
    headers = BUILD / "kernels" / release / "headers"
    if not headers.exists():
        pytest.skip(f"no headers of {release} here")
    key, certificate = tmp_path / "keys/mok.key", tmp_path / "keys/mok.der"
    key.parent.mkdir()
    command = re.search(r"^openssl (.*)$", FLEET, re.M)[1].replace(
        '"/CN=syscript modules/"', "/CN=x/"
    )
    words = [str(tmp_path / word) if word.startswith("keys/") else word for word in command.split()]
    run("openssl", *words)
    made = run("packaging/module-deb", module, headers, "1.2", tmp_path, key, certificate).strip()
    run("dpkg-deb", "-x", made, tmp_path / "root")
    run("dpkg-deb", "-e", made, tmp_path / "root/DEBIAN")
    packed = tmp_path / "root/lib/modules" / release / "updates" / module.name
    assert run("modinfo", "-F", "signer", packed) == "x\n"
    assert run("modinfo", "-F", "vermagic", packed).split()[0] == release
    assert packed.stat().st_size < module.stat().st_size / 3
    assert (
        f"Package: {package(module)}-{release}\nVersion: 1.2\n"
        in (tmp_path / "root/DEBIAN/control").read_text()
    )
    run("sh", "-n", tmp_path / "root/DEBIAN/postinst")
    # Without a key the module is not signed.
    plain = run("packaging/module-deb", module, headers, "1.3", tmp_path).strip()
    run("dpkg-deb", "-x", plain, tmp_path / "plain")
    unsigned = tmp_path / "plain/lib/modules" / release / "updates" / module.name
    assert run("modinfo", "-F", "signer", unsigned).strip() == ""


def test_module_package_with_a_short_path(module: Path, tmp_path: Path) -> None:
    """With an ordinary user's PATH, without /sbin. A file that is not a module is refused."""
    path = {"PATH": "/usr/bin:/bin"}
    command = [ROOT / "packaging/module-deb", module, tmp_path, "1.2", tmp_path / "out"]
    done = subprocess.run(command, env=path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    release = run("modinfo", "-F", "vermagic", module).split()[0]
    assert done.stdout.strip().endswith(f"{package(module)}-{release}_1.2_amd64.deb")
    command[1] = ROOT / "README.md"
    done = subprocess.run(command, env=path, capture_output=True, text=True)
    assert done.returncode == 1 and "is no kernel module" in done.stderr
