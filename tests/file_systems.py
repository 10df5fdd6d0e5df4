# SPDX-License-Identifier: GPL-2.0
"""File systems that a Debian guest can mount, empty or with what is given.

MADE: by name, what mounts one at a path.  READ_ONLY: the same of a tree that is there.  OWN:
directories of the kernel's own file systems, which are there or are mounted.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 100.0  # s


def run(*command: str | Path) -> None:
    subprocess.run(command, check=True, stdout=sys.stderr, timeout=PATIENCE)


def load(*modules: str) -> None:
    """Modules that this kernel does not have built in; their names include the file system's."""
    known = Path("/proc/filesystems").read_text().split()
    for module in modules:
        if module not in known and not Path("/sys/module", module).exists():
            run("modprobe", module)


@contextmanager
def mounted(kind: str, at: Path, source: str | Path = "none", options: str = "") -> Iterator[Path]:
    at.mkdir(parents=True, exist_ok=True)
    run("mount", "-t", kind, *(["-o", options] if options else []), source, at)
    try:
        yield at
    finally:
        run("umount", at)


@contextmanager
def tmpfs(at: Path) -> Iterator[Path]:
    with mounted("tmpfs", at, options="mode=777") as path:
        yield path


@contextmanager
def image(at: Path, size: str, make: str, *options: str) -> Iterator[Path]:
    """A file with a file system in it."""
    path = at.with_suffix(".image")
    run("truncate", "-s", size, path)
    run(make, *options, path)
    yield path
    path.unlink()


Mount = Callable[[Path], AbstractContextManager[Path]]


def on_image(kind: str, size: str, make: str, *options: str, mount_options: str = "loop") -> Mount:
    """As mkfs makes it, in a file."""

    @contextmanager
    def mount(at: Path) -> Iterator[Path]:
        load("loop", "ext4" if kind == "ext2" else kind)
        with (
            image(at, size, make, *options) as device,
            mounted(kind, at, device, mount_options) as path,
        ):
            path.chmod(0o777)
            yield path

    return mount


def by_process(size: str, make: str, make_options: list[str], *server: str) -> Mount:
    """By a server of FUSE's; the kernel asks it again whether a name is still valid."""

    @contextmanager
    def mount(at: Path) -> Iterator[Path]:
        load("fuse")
        at.mkdir()
        with image(at, size, make, *make_options) as device:
            run(*server, device, at)
            try:
                at.chmod(0o777)
                yield at
            finally:
                run("umount", at)

    return mount


@contextmanager
def overlay(at: Path, fill: Callable[[Path], object] = lambda lower: None) -> Iterator[Path]:
    """Two layers in a tmpfs, of which the lower one is filled before."""
    load("overlay")
    with tmpfs(at.with_suffix(".layers")) as layers:
        lower, upper, work = (layers / name for name in ("lower", "upper", "work"))
        for layer in (lower, upper, work):
            layer.mkdir()
        fill(lower)
        options = f"lowerdir={lower},upperdir={upper},workdir={work}"
        with mounted("overlay", at, options=options) as path:
            path.chmod(0o777)
            yield path


# To the end of an entry of a server's caches.
NEVER = 2**31 - 1
# Of <linux/nfsd/export.h>: ports of any number, no waiting for disks, no checks of subtrees, by
# number.
EXPORTED = 0x2 | 0x10 | 0x400 | 0x2000


def server_writes(name: str, text: str) -> None:
    Path("/proc", name).write_text(f"{text}\n")


@contextmanager
def nfs(at: Path) -> Iterator[Path]:
    """NFS 4.2 of a tmpfs, by the kernel's server.

    Nothing answers its questions about clients and what they may mount: it is told before.
    """
    load("nfsd", "nfsv4")
    run("ip", "link", "set", "lo", "up")
    with ExitStack() as stack:
        exported = stack.enter_context(tmpfs(at.with_suffix(".exported")))
        if not Path("/proc/fs/nfsd/threads").exists():
            stack.enter_context(mounted("nfsd", Path("/proc/fs/nfsd")))
        for name, text in {
            "fs/nfsd/versions": "-2 -3 +4",
            "fs/nfsd/nfsv4leasetime": "10",
            "fs/nfsd/nfsv4gracetime": "10",
            "fs/nfsd/threads": "2",
            "net/rpc/auth.unix.ip/channel": f"nfsd 127.0.0.1 {NEVER} guest",
            "net/rpc/nfsd.export/channel": f"guest {exported} {NEVER} {EXPORTED} 65534 65534 0",
            "net/rpc/nfsd.fh/channel": f"guest 1 \\x00000000 {NEVER} {exported}",
        }.items():
            server_writes(name, text)
        stack.callback(server_writes, "fs/nfsd/threads", "0")
        # Attributes do not age: the guest's clock leaps over waits.
        options = "addr=127.0.0.1,clientaddr=127.0.0.1,vers=4.2,sec=sys,actimeo=3600"
        at.mkdir()
        run("mount", "-i", "-t", "nfs4", "-o", options, "127.0.0.1:/", at)
        stack.callback(run, "umount", at)
        yield at


@contextmanager
def virtiofs(at: Path) -> Iterator[Path]:
    """A directory of the host's, which `vm/guest --virtiofs` shares."""
    load("virtiofs")
    with mounted("virtiofs", at, "shared") as path:
        path.chmod(0o777)
        yield path


@contextmanager
def beside(at: Path) -> Iterator[Path]:
    """In the repository, which the guest has from its host by 9p."""
    with tempfile.TemporaryDirectory(dir=ROOT / "build", prefix=at.name) as path:
        Path(path).chmod(0o755)
        yield Path(path)


MADE: dict[str, Mount] = {
    "tmpfs": tmpfs,
    "ext2": on_image("ext2", "64M", "mkfs.ext2", "-q"),
    "ext2-typeless": on_image("ext2", "64M", "mkfs.ext2", "-q", "-O", "^filetype"),
    "ext4": on_image("ext4", "128M", "mkfs.ext4", "-q"),
    "ext4-inline": on_image("ext4", "128M", "mkfs.ext4", "-q", "-O", "inline_data"),
    "xfs": on_image("xfs", "320M", "mkfs.xfs", "-q"),
    "btrfs": on_image("btrfs", "256M", "mkfs.btrfs", "-q"),
    "f2fs": on_image("f2fs", "128M", "mkfs.f2fs", "-q"),
    # It has no owners and modes: all may write everything.
    "vfat": on_image("vfat", "64M", "mkfs.vfat", mount_options="loop,umask=0"),
    "overlay": overlay,
    "fuse-ext4": by_process(
        "64M",
        "mkfs.ext4",
        ["-q", "-O", "^has_journal"],
        "fuse2fs",
        "-o",
        "allow_other,default_permissions",
    ),
    "fuse-ntfs": by_process("64M", "mkfs.ntfs", ["-qfF"], "ntfs-3g", "-o", "permissions"),
    "nfs": nfs,
    "9p": beside,
    "virtiofs": virtiofs,
}


def packed(kind: str, make: str, *options: str) -> Callable:
    """Of a tree, in a file."""

    @contextmanager
    def mount(at: Path, tree: Path) -> Iterator[Path]:
        load("loop", kind)
        path = at.with_suffix(".image")
        words = [tree, path] if kind == "squashfs" else [path, tree]
        run(make, *words, *options)
        with mounted(kind, at, path, "loop,ro") as top:
            yield top
        path.unlink()

    return mount


READ_ONLY: dict[str, Callable] = {
    "squashfs": packed("squashfs", "mksquashfs", "-quiet", "-no-progress"),
    "erofs": packed("erofs", "mkfs.erofs", "--quiet"),
}

# A mount point, its file system if it may have to be mounted, and a directory below.
OWN: dict[str, tuple[str, str, str]] = {
    "proc": ("/proc", "", "sys"),
    # Not all of /sys/kernel, where tracefs is mounted.
    "sys": ("/sys", "", "kernel/irq"),
    "cgroup2": ("/sys/fs/cgroup", "cgroup2", ""),
    # All of it has 18,000 files.
    "tracefs": ("/sys/kernel/tracing", "tracefs", "events/writeback"),
    "securityfs": ("/sys/kernel/security", "securityfs", ""),
    "9p-root": ("/", "", "usr/share/zoneinfo"),
}


# Why the others are not here.  Modules that this kernel has after all are an error; where the
# module does not matter, another kernel than the one that was tried is.
TRIED = "6.1"
MISSING: dict[str, tuple[str, str]] = {
    "ntfs3": ("ntfs3", "Debian's 6.1 is built without it"),
    "bcachefs": ("bcachefs", "Linux 6.1 does not have it"),
    "cifs": ("", "Linux 6.1's server finds no share of ksmbd-tools 3.4.7 (BAD_NETWORK_NAME)"),
}


@contextmanager
def own(name: str) -> Iterator[Path]:
    where, kind, below = OWN[name]
    if not kind or os.path.ismount(where):
        yield Path(where, below)
        return
    load(kind)
    with mounted(kind, Path(where)) as path:
        yield path / below
