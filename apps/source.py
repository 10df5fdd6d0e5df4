#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Fetch a program's source package from the mirror that this machine's apt uses.

The machine need not have source packages enabled: apt looks through a view of
its own, as for kernels.  The upstream archive is pinned by its checksum and is
all that is used, so a security update of the package changes nothing here.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "vm"))

import kernels  # noqa: E402

SUITE = "bookworm"
# By package: the upstream archive, and its SHA-256.
PINNED = {
    "busybox": (
        "busybox_1.35.0.orig.tar.bz2",
        "faeeb244c35a348a334f4a59e44626ee870fb07b6884d68c10ae8bc19f83a694",
    ),
    "cpio": (
        "cpio_2.13+dfsg.orig.tar.bz2",
        "fd1e6fb3c683bf82ae0db237af87376c6a376d1f6bf6564c9b335785e76106a9",
    ),
    # It has a copy of PUC's tests for Lua 5.1.
    "golang-github-yuin-gopher-lua": (
        "golang-github-yuin-gopher-lua_0.0~git20170915.0.eb1c729.orig.tar.xz",
        "4930565f2f9596a0a47bc84b8c4c535655e8c3206b0d8dd8d2728803dab996e7",
    ),
    "memcached": (
        "memcached_1.6.18.orig.tar.xz",
        "35872bd25f8d29d7cc2072d23e74344530891bfd0aa4f4f64184a8ae7291164b",
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

    def download(self, package: str, directory: Path) -> None:
        """Download a source package's upstream archive, its signature checked by apt."""
        # Lists of some time ago may name a revision that is gone.
        (self.state / "updated").unlink(missing_ok=True)
        self.update()
        directory.mkdir(parents=True)
        options = [*self.options(), "--download-only", "--only-source", "--tar-only"]
        kernels.run("apt-get", *options, "source", package, cwd=directory)


def say(text: str) -> None:
    print(f"source: {text}", file=sys.stderr, flush=True)


def fetch(package: str, archive: Path) -> None:
    """Put the pinned archive where it is asked for; one at a time, as apt's lists are shared."""
    suite = Sources(SUITE)
    suite.state.mkdir(parents=True, exist_ok=True)
    with (suite.state / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        fetch_from(suite, package, archive)


def fetch_from(suite: Sources, package: str, archive: Path) -> None:
    name, checksum = PINNED[package]
    directory = suite.state / package
    shutil.rmtree(directory, ignore_errors=True)
    say(f"fetching the source package of {package} from Debian {SUITE}")
    suite.download(package, directory)
    found = directory / name
    if not found.exists():
        names = ", ".join(sorted(path.name for path in directory.iterdir()))
        raise kernels.KernelError(
            f"Debian {SUITE} no longer has {name} but {names}: "
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
    # Apt gives it the mirror's date, with which it would be fetched again each time.
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
