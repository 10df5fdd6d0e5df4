#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Fetch a program's source package from the mirror that this machine's apt uses.

The machine need not have source packages enabled: apt uses a private configuration, as for kernels.
Only the upstream archive is used, pinned by its checksum, so a security update of the package
changes nothing: of several versions the one with that archive is fetched.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import re
import shutil
import sys
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "vm"))

import kernels  # noqa: E402


class Archive(NamedTuple):
    """An upstream archive: its name, its SHA-256, the suite that has it."""

    name: str
    sha256: str
    suite: str = "bookworm"


# By package.
PINNED = {
    "busybox": Archive(
        "busybox_1.35.0.orig.tar.bz2",
        "faeeb244c35a348a334f4a59e44626ee870fb07b6884d68c10ae8bc19f83a694",
    ),
    "cpio": Archive(
        "cpio_2.13+dfsg.orig.tar.bz2",
        "fd1e6fb3c683bf82ae0db237af87376c6a376d1f6bf6564c9b335785e76106a9",
    ),
    "coreutils": Archive(
        "coreutils_9.1.orig.tar.xz",
        "61a1f410d78ba7e7f37a5a4f50e6d1320aca33375484a3255eddf17a38580423",
    ),
    "findutils": Archive(
        "findutils_4.9.0.orig.tar.xz",
        "a2bfb8c09d436770edc59f50fa483e785b161a3b7b9d547573cb08065fd462fe",
    ),
    # It contains a copy of PUC's tests for Lua 5.1.
    "golang-github-yuin-gopher-lua": Archive(
        "golang-github-yuin-gopher-lua_0.0~git20170915.0.eb1c729.orig.tar.xz",
        "4930565f2f9596a0a47bc84b8c4c535655e8c3206b0d8dd8d2728803dab996e7",
    ),
    "memcached": Archive(
        "memcached_1.6.18.orig.tar.xz",
        "35872bd25f8d29d7cc2072d23e74344530891bfd0aa4f4f64184a8ae7291164b",
    ),
    "ninja-build": Archive(
        "ninja-build_1.11.1.orig.tar.gz",
        "31747ae633213f1eda3842686f83c2aa1412e0f5691d1c14dbbcc67fe7400cea",
    ),
    "nsd": Archive(
        "nsd_4.12.0.orig.tar.gz",
        "f9ecc2cf79ba50580f2df62918efc440084c5bf11057db44c19aa9643cd4b5e8",
        suite="trixie",
    ),
    "rsync": Archive(
        "rsync_3.2.7.orig.tar.gz",
        "4e7d9d3f6ed10878c58c5fb724a67dacf4b6aac7340b13e488fb2dc41346f2bb",
    ),
}


class Sources(kernels.Suite):
    """A suite's source packages."""

    @property
    def state(self) -> Path:
        return kernels.BUILD / "apt" / f"{self.name}-source"

    def sources(self) -> str:
        lines = super().sources().splitlines(keepends=True)
        return "".join("deb-src" + line.removeprefix("deb") for line in lines)

    def version_with(self, package: str, name: str) -> str:
        """The version of a package that contains a file of this name."""
        shown = kernels.run("apt-cache", *self.options(), "showsrc", package)
        for paragraph in shown.split("\n\n"):
            version = re.search(r"^Version: (.*)$", paragraph, re.MULTILINE)
            if version and f" {name}\n" in paragraph + "\n":
                return f"{package}={version.group(1)}"
        return package

    def download(self, package: str, name: str, directory: Path) -> None:
        """Download a source package's upstream archive, its signature checked by apt."""
        # Old package lists may name a revision that is gone.
        (self.state / "updated").unlink(missing_ok=True)
        self.update()
        directory.mkdir(parents=True)
        options = [*self.options(), "--download-only", "--only-source", "--tar-only"]
        wanted = self.version_with(package, name)
        kernels.run("apt-get", *options, "source", wanted, cwd=directory)


def say(text: str) -> None:
    print(f"source: {text}", file=sys.stderr, flush=True)


def fetch(package: str, archive: Path) -> None:
    """Put the pinned archive at its place; one at a time, as apt's lists are shared."""
    suite = Sources(PINNED[package].suite)
    suite.state.mkdir(parents=True, exist_ok=True)
    with (suite.state / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        fetch_from(suite, package, archive)


def fetch_from(suite: Sources, package: str, archive: Path) -> None:
    name, checksum, _ = PINNED[package]
    directory = suite.state / package
    shutil.rmtree(directory, ignore_errors=True)
    say(f"fetching the source package of {package} from Debian {suite.name}")
    suite.download(package, name, directory)
    found = directory / name
    if not found.exists():
        names = ", ".join(sorted(path.name for path in directory.iterdir()))
        raise kernels.KernelError(
            f"Debian {suite.name} no longer has {name} but {names}: "
            "move the patch series to that version"
        )
    digest = hashlib.sha256(found.read_bytes()).hexdigest()
    if digest != checksum:
        raise kernels.KernelError(
            f"{found} has the checksum {digest}, not {checksum}: it is not the file "
            "that was pinned; use another mirror"
        )
    archive.parent.mkdir(parents=True, exist_ok=True)
    found.replace(archive)
    # apt sets the mirror's date, which would make it be fetched again each time.
    archive.touch()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("package", choices=PINNED)
    parser.add_argument("archive", type=Path, help="where to put the upstream archive")
    args = parser.parse_args()
    try:
        fetch(args.package, args.archive)
    except kernels.KernelError as error:
        say(str(error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
