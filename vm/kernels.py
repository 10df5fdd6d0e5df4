#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Debian kernels as trees of their own under build/kernels.

A tree has everything to boot a guest and to build a module: image, modules and headers, unpacked
from the distribution's packages. Nothing is installed on this machine.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build"
TREES = BUILD / "kernels"
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")

# Names of the kernels on command lines, and the suite of each; NAME-arm64 is arm64's.
SUITES = {"6.1": "bookworm", "6.12": "trixie", "newest": "sid"}
# Kernels built here from 6.1's source, without modules, and the target that builds each.
BUILT = {"debug": "make debug-kernel", "kasan": "make bench-safety-kasan-icount"}
# Suite names that show that the machine's own package sources are Debian's.
DEBIAN = {"bookworm", "trixie", "forky", "sid", "stable", "testing", "unstable"}
# Packages in a guest of arm64, for vm/inside and the tests.
ROOT_PACKAGES = [
    *("acl", "attr", "bash", "busybox-static", "coreutils", "dash", "diffutils", "findutils"),
    *("grep", "hostname", "iproute2", "iputils-ping", "kmod", "libc-bin", "libpam0g"),
    *("libseccomp2", "mawk", "mount", "nftables", "passwd", "procps", "python3", "sed", "strace"),
    *("tar", "util-linux"),
]
ROOT_PLACES = ["dev", "lib/modules", "proc", "root", "run", "sys", "tmp", "var/tmp"]
ROOT_FILES = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n",
    "etc/group": "root:x:0:\ntty:x:5:\nnogroup:x:65534:\n",
    "etc/fstab": "",
    "etc/hosts": "127.0.0.1 localhost\n",
}
# Links that the packages' own scripts would have made.
ROOT_LINKS = {
    "sbin/poweroff": "../bin/busybox",
    "usr/bin/awk": "mawk",
}
# Compression of kernels, and the program that unpacks it.
PACKERS = {b"\xfd7zXZ\0": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
# The setting in a header package that names the compiler of its kernel.
COMPILER = re.compile(r"^CC = .*\$\(CROSS_COMPILE\)(gcc-\d+)$", re.MULTILINE)


class KernelError(Exception):
    """A kernel is not available; the text says what to do."""


def run(*argv: str | Path, cwd: Path | None = None) -> str:
    """Run a command and return its output; its failure is a KernelError."""
    command = [str(arg) for arg in argv]
    try:
        done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    except FileNotFoundError as missing:
        raise KernelError(f"{command[0]} is missing: run `make deps`") from missing
    if done.returncode:
        raise KernelError(f"`{' '.join(command)}` failed:\n{done.stdout}{done.stderr}")
    return done.stdout


# Machines as packages name them, and the tools to build for them on this one.
AMD64, ARM64 = "amd64", "arm64"
TRIPLETS = {AMD64: "x86_64-linux-gnu", ARM64: "aarch64-linux-gnu"}


def arch_of(kernel: str) -> str:
    """The machine of a kernel's name or release: `6.12-arm64`, `6.1.0-N-arm64`."""
    return ARM64 if kernel.endswith(f"-{ARM64}") else AMD64


@dataclass(frozen=True)
class Suite:
    """A Debian suite for a machine, through a private apt configuration."""

    name: str
    arch: str = AMD64

    @property
    def state(self) -> Path:
        return BUILD / "apt" / (self.name if self.arch == AMD64 else f"{self.name}-{self.arch}")

    def options(self) -> list[str]:
        settings = {
            "Dir::State": self.state / "state",
            "Dir::State::status": "/dev/null",
            "Dir::Cache": self.state / "cache",
            "Dir::Etc::sourcelist": self.state / "sources.list",
            "Dir::Etc::sourceparts": "-",
            "Dir::Etc::preferencesparts": "-",
            "APT::Architecture": self.arch,
            "APT::Architectures": self.arch,
            "APT::Sandbox::User": "",
            "Acquire::Languages": "none",
            "Acquire::Retries": 3,
        }
        return [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]

    def update(self) -> None:
        """Fetch the suite's package lists, once."""
        done = self.state / "updated"
        if done.exists():
            return
        say(f"fetching the package lists of Debian {self.name}")
        (self.state / "state" / "lists" / "partial").mkdir(parents=True, exist_ok=True)
        (self.state / "cache" / "archives" / "partial").mkdir(parents=True, exist_ok=True)
        (self.state / "sources.list").write_text(self.sources())
        run("apt-get", *self.options(), "update")
        done.touch()

    def sources(self) -> str:
        """Source lines for this suite, from the machine's mirrors."""
        archive, security = mirrors()
        option = f"[signed-by={KEYRING}] " if KEYRING.exists() else ""
        lines = [f"deb {option}{archive} {self.name} main"]
        if self.name != "sid":
            lines.append(f"deb {option}{archive} {self.name}-updates main")
            if security:
                lines.append(f"deb {option}{security} {self.name}-security main")
        return "\n".join(lines) + "\n"

    def depends(self, package: str) -> list[str]:
        """The packages that a package depends on, first alternatives only."""
        self.update()
        shown = run("apt-cache", *self.options(), "show", "--no-all-versions", package)
        match = re.search(r"^Depends: (.*)$", shown, re.MULTILINE)
        names = match.group(1).split(",") if match else []
        return [re.split(r"[\s(|:]", name.strip())[0] for name in names]

    def closure(self, *packages: str) -> list[str]:
        """The packages that installing some on an empty machine would install."""
        self.update()
        install = ("install", "-s", "--no-install-recommends")
        plan = run("apt-get", *self.options(), *install, *packages)
        return re.findall(r"^Inst (\S+)", plan, re.MULTILINE)

    def has(self, package: str) -> bool:
        self.update()
        return package in run("apt-cache", *self.options(), "pkgnames", package).split()

    def unpack(self, packages: list[str], tree: Path) -> None:
        """Download packages and unpack them into a tree."""
        self.update()
        say(f"fetching {' '.join(packages)}")
        debs = tree / "debs"
        debs.mkdir(parents=True, exist_ok=True)
        run("apt-get", *self.options(), "download", *packages, cwd=debs)
        for deb in sorted(debs.glob("*.deb")):
            run("dpkg-deb", "-x", deb, tree)
        shutil.rmtree(debs)


def mirrors() -> tuple[str, str | None]:
    """The archive and the security archive that apt is set up to use."""
    listed = run(
        "apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE)", "Created-By: Packages"
    )
    archive = security = None
    for line in listed.splitlines():
        uri, release = line.split()
        if release.endswith("-security"):
            security = security or uri
        elif release in DEBIAN:
            archive = archive or uri
    if archive is None:
        raise KernelError(
            "apt has no Debian archive to fetch kernels from: add one to /etc/apt/sources.list.d"
        )
    return archive, security


def say(text: str) -> None:
    print(f"kernels: {text}", file=sys.stderr, flush=True)


def release_of(name: str) -> str:
    """The kernel release of a name: `6.1` -> `6.1.0-N-amd64`."""
    arch = arch_of(name)
    version = name.removesuffix(f"-{arch}")
    if version not in SUITES:
        return name
    cached = TREES / f"{name}.release"
    if not cached.exists():
        suite = Suite(SUITES[version], arch)
        found = [p for p in suite.depends(f"linux-image-{arch}") if p.startswith("linux-image-")]
        if not found:
            raise KernelError(f"Debian {suite.name} has no kernel image for {arch}")
        TREES.mkdir(parents=True, exist_ok=True)
        cached.write_text(found[0].removeprefix("linux-image-") + "\n")
    return cached.read_text().strip()


def suite_of(release: str) -> Suite:
    """The suite that has a release; tries the likeliest first."""
    for name in sorted(SUITES, key=lambda n: not release.startswith(f"{n}.")):
        suite = Suite(SUITES[name], arch_of(release))
        if suite.has(f"linux-image-{release}"):
            return suite
    raise KernelError(f"no Debian suite has kernel {release}: try one of {', '.join(SUITES)}")


def fetch(release: str) -> Path:
    """The tree of a release, unpacked and ready to use; fetched if needed."""
    tree = TREES / release
    if is_complete(tree):
        return tree
    if release in BUILT:
        raise KernelError(f"the {release} kernel is not built yet: run `{BUILT[release]}`")
    TREES.mkdir(parents=True, exist_ok=True)
    with (TREES / f"{release}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_complete(tree):
            shutil.rmtree(tree, ignore_errors=True)
            suite = suite_of(release)
            packages = kernel_packages(suite, release)
            # Programs that build modules run here, whatever machine the kernel is for.
            tools = [name for name in packages if name.startswith("linux-kbuild-")]
            Suite(suite.name).unpack(tools, tree)
            suite.unpack([name for name in packages if name not in tools], tree)
            arrange(tree, release)
            fit_tools(suite, tree, release)
            (tree / "complete").write_text(f"{tree.resolve()}\n")
    return tree


def is_complete(tree: Path) -> bool:
    """Whether a tree was fetched to its end; a toolchain's programs name the place they are for."""
    done = tree / "complete"
    if not done.exists():
        return False
    return not (tree / "toolchain").exists() or done.read_text() == f"{tree.resolve()}\n"


def kernel_packages(suite: Suite, release: str) -> list[str]:
    """Image, modules, headers and build tools of a release, nothing else."""
    todo, found = [f"linux-image-{release}", f"linux-headers-{release}"], []
    while todo:
        package = todo.pop()
        if package in found:
            continue
        found.append(package)
        for name in suite.depends(package):
            if name.startswith("linux-") and not re.match(r"linux-(compiler|base$)", name):
                todo.append(name)
    return found


def arrange(tree: Path, release: str) -> None:
    """Give every tree the same paths, and headers that work at any place."""
    headers = tree / "usr" / "src" / f"linux-headers-{release}"
    images = [tree / "boot" / f"vmlinuz-{release}", tree / f"usr/lib/modules/{release}/vmlinuz"]
    image = next(path for path in images if path.exists())
    (tree / "vmlinuz").symlink_to(image.relative_to(tree))
    (tree / "headers").symlink_to(headers.relative_to(tree))
    if not (tree / "lib").exists():
        (tree / "lib").symlink_to("usr/lib")
    here = "$(dir $(abspath $(lastword $(MAKEFILE_LIST))))../"
    text = (headers / "Makefile").read_text().replace("/usr/src/", here)
    # := because MAKEFILE_LIST grows.
    (headers / "Makefile").write_text(text.replace("KBUILD_OUTPUT=", "KBUILD_OUTPUT := "))
    # Without vmlinux modules get no BTF, which would need that suite's own pahole.
    (headers / "vmlinux").unlink(missing_ok=True)


def uncompressed(release: str) -> Path | None:
    """A release's uncompressed kernel, for QEMU to start directly (PVH): an emulated CPU takes five
    seconds to uncompress an image. None if its compression is unknown here.

    Its addresses are not randomised: the decompressor would do that.
    """
    tree = fetch(release)
    kernel, packed = tree / "vmlinux", tree / "vmlinuz"
    if kernel.exists() and kernel.stat().st_mtime >= packed.stat().st_mtime:
        return kernel
    image = packed.read_bytes()
    # As in Documentation/arch/x86/boot.rst; the payload ends with 4 bytes of size.
    sectors = image[0x1F1] or 4
    start, length = struct.unpack_from("<II", image, 0x248)
    start += (sectors + 1) * 512
    payload = image[start : start + length - 4]
    tool = next((tool for magic, tool in PACKERS.items() if payload.startswith(magic)), None)
    if not tool:
        return None
    with tempfile.TemporaryDirectory(dir=tree) as place:
        new = Path(place) / "vmlinux"
        (inner := Path(place) / "payload").write_bytes(payload)
        run("sh", "-c", f'exec {tool} -dc <"$1" >"$2"', tool, inner, new)
        return new.rename(kernel)


def fit_tools(suite: Suite, tree: Path, release: str) -> None:
    """Make the tree's build tools run here, with the compiler they ask for.

    A newer suite than this machine's has programs for its own C library and flags for its own
    compiler, so both are installed inside the tree.
    """
    settings = tree / "headers" / ".kernelvariables"
    wanted = COMPILER.search(settings.read_text())
    triplet = TRIPLETS[suite.arch]
    if wanted is None or shutil.which(f"{triplet}-{wanted[1]}"):
        return
    tools = tree / "toolchain"
    suite, package = Suite(suite.name), wanted[1]
    if triplet != TRIPLETS[AMD64]:
        package += f"-{triplet}"
    suite.unpack(suite.closure(package) + suite.closure("libelf1t64")[-1:], tools)
    libraries = tools / "usr/lib/x86_64-linux-gnu"
    places = (tools / "usr/bin", tools / "usr/libexec", tree / "usr/lib")
    for program in (path for place in places for path in place.rglob("*") if is_program(path)):
        run(
            "patchelf",
            *("--set-interpreter", libraries / "ld-linux-x86-64.so.2"),
            *("--force-rpath", "--set-rpath", libraries),
            program,
        )
    compiler = tree / "cc"
    compiler.write_text(
        f'#!/bin/sh\nexec {tools}/usr/bin/{triplet}-{wanted[1]} -B{tools}/usr/bin/ "$@"\n'
    )
    compiler.chmod(0o755)
    text = settings.read_text().replace(wanted[0], f"CC = {compiler}")
    settings.write_text(text)


def is_program(path: Path) -> bool:
    """Whether a file is an ELF executable with an interpreter."""
    if path.is_symlink() or not path.is_file() or not os.access(path, os.X_OK):
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF" and b"/lib64/ld-linux-x86-64.so.2" in file.read(4096)


def compiler_of(tree: Path) -> str:
    """The compiler that builds modules against a tree."""
    if (tree / "cc").exists():
        return str(tree / "cc")
    settings = tree / "headers" / ".kernelvariables"
    wanted = COMPILER.search(settings.read_text()) if settings.exists() else None
    return f"{TRIPLETS[arch_of(tree.name)]}-{wanted[1]}" if wanted else "gcc"


def guest_root() -> Path:
    """The root of arm64's guests, which cannot execute this machine's programs; unpacked if need
    be, and not configured."""
    tree = BUILD / ARM64 / "root"
    if is_complete(tree):
        return tree
    tree.parent.mkdir(parents=True, exist_ok=True)
    with (tree.parent / "root.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_complete(tree):
            shutil.rmtree(tree, ignore_errors=True)
            suite = Suite(SUITES["6.1"], ARM64)
            suite.unpack(suite.closure(*ROOT_PACKAGES), tree)
            for name in ROOT_PLACES:
                (tree / name).mkdir(parents=True, exist_ok=True)
            for name, text in ROOT_FILES.items():
                (tree / name).write_text(text)
            for name, target in ROOT_LINKS.items():
                (tree / name).symlink_to(target)
            (tree / str(ROOT).lstrip("/")).mkdir(parents=True, exist_ok=True)
            (tree / "complete").write_text(f"{tree.resolve()}\n")
    return tree


def source(package: str, tree: Path, arch: str = AMD64) -> None:
    """Unpack a package of 6.1's suite into a tree."""
    Suite(SUITES["6.1"], arch).unpack([package], tree)


def install(packages: list[str], tree: Path) -> None:
    """Unpack packages of 6.1's suite with all that they depend on into a root of their own."""
    suite = Suite(SUITES["6.1"])
    suite.unpack(suite.closure(*packages), tree)


def source_package(release: str) -> str:
    """The package with a release's source: `6.1.0-N-amd64` -> `linux-source-6.1`."""
    return f"linux-source-{'.'.join(release.split('.')[:2])}"


def source_directories(release: str, wanted: list[str]) -> list[Path]:
    """Directories of the kernel's own source, such as fs/ecryptfs; fetched if need be."""
    tree = fetch(release)
    if release in BUILT:
        top = (tree / "headers").resolve()
    else:
        top = tree / "source"
        with (TREES / f"{release}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            unpack_source(release, [d for d in wanted if not (top / d).exists()], top)
    for directory in wanted:
        if not (top / directory).exists():
            raise KernelError(f"the source of kernel {release} has no directory {directory}")
    return [top / directory for directory in wanted]


def unpack_source(release: str, wanted: list[str], top: Path) -> None:
    """Unpack directories of a release's source package."""
    if not wanted:
        return
    package = source_package(release)
    fetched = top / "package"
    shutil.rmtree(fetched, ignore_errors=True)
    suite_of(release).unpack([package], fetched)
    archive = fetched / "usr" / "src" / f"{package}.tar.xz"
    members = [f"{package}/{directory}" for directory in wanted]
    # The caller checks which ones are missing.
    with contextlib.suppress(KernelError):
        run("tar", "-xJf", archive, "--strip-components=1", *members, cwd=top)
    shutil.rmtree(fetched)


def plugin_headers(release: str) -> str:
    """Options that find the headers of the kernel's compiler, for plugins; fetched if needed."""
    tree = fetch(release)
    version = run(compiler_of(tree), "-dumpversion").strip().partition(".")[0]
    top = tree / "plugin"
    with (TREES / f"{release}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (top / "complete").exists():
            shutil.rmtree(top, ignore_errors=True)
            suite = Suite(SUITES["6.1"]) if release in BUILT else suite_of(release)
            libraries = ["libgmp-dev", "libmpfr-dev", "libmpc-dev"]
            suite.unpack([f"gcc-{version}-plugin-dev", *libraries], top)
            (top / "complete").touch()
    triplet = "x86_64-linux-gnu"
    places = (
        f"lib/gcc/{triplet}/{version}/plugin/include",
        f"include/{triplet}",
        "include",
    )
    return " ".join(f"-isystem {top / 'usr' / place}" for place in places)


def answer(what: str, kernel: str) -> str | Path:
    """The command's output."""
    if what == "root":
        return guest_root()
    release = release_of(kernel)
    if what == "release":
        return release
    tree = fetch(release)
    if what == "cc":
        return compiler_of(tree)
    if what == "plugin":
        return plugin_headers(release)
    return {"path": tree, "image": tree / "vmlinuz", "headers": tree / "headers"}[what]


def main() -> int:
    questions = {
        "release": "print the kernel's release",
        "path": "print its tree, fetched if need be",
        "image": "print the image to boot",
        "headers": "print the directory to build modules against",
        "cc": "print the compiler to build modules with",
        "plugin": "print options to compile plugins for that compiler",
    }
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="what", required=True, metavar="COMMAND")
    for name, text in questions.items():
        command = commands.add_parser(name, help=text)
        command.add_argument(
            "kernel", help=f"{', '.join(SUITES)}, {', '.join(BUILT)} or a Debian release"
        )
    commands.add_parser("root", help="print the root of arm64's guests").set_defaults(kernel="")
    command = commands.add_parser("source", help="unpack a package of 6.1's suite")
    command.add_argument("--arch", choices=TRIPLETS, default=AMD64, help="Debian's name of it")
    command.add_argument("package")
    command.add_argument("tree", type=Path)
    command = commands.add_parser("install", help="unpack its packages with what they depend on")
    command.add_argument("tree", type=Path)
    command.add_argument("packages", nargs="+", metavar="package")
    command = commands.add_parser("sources", help="print where directories of its source are")
    command.add_argument(
        "kernel", help=f"{', '.join(SUITES)}, {', '.join(BUILT)} or a Debian release"
    )
    command.add_argument("directory", nargs="+", help="such as fs/ecryptfs")
    args = parser.parse_args()
    try:
        if args.what == "source":
            source(args.package, args.tree, args.arch)
        elif args.what == "install":
            install(args.packages, args.tree)
        elif args.what == "sources":
            print(*source_directories(release_of(args.kernel), args.directory), sep="\n")
        else:
            print(answer(args.what, args.kernel))
    except KernelError as error:
        print(f"kernels: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
