# SPDX-License-Identifier: GPL-2.0
"""What is installed builds where it is installed."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from links import dead_links
from traces import Writer

ROOT = Path(__file__).resolve().parents[2]
VERSION = ".".join(
    re.findall(r"define SYSCRIPT_VERSION_[A-Z]+\s+(\d+)", (ROOT / "lib/syscript.h").read_text())
)

MODULE = """
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>
static DEFINE_MUTEX(lock);
static int __init mine_init(void)
{
	char *p = kmalloc(10, GFP_KERNEL);
	mutex_lock(&lock);
	if (p)
		p[module_refcount(THIS_MODULE) & 7] = 1;
	mutex_unlock(&lock);
	kfree(p);
	return 0;
}
module_init(mine_init);
MODULE_LICENSE("GPL");
"""


def done(*argv: str | Path, cwd: Path = ROOT) -> str:
    ended = subprocess.run(argv, cwd=cwd, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout.strip()


# What installs the source of which module.
MODULES = {"install-dkms": "syscript", "install-luajit": "syscript_luajit"}


def dkms_tree(at: Path, target: str = "install-luajit") -> Path:
    done("make", "-s", target, f"DESTDIR={at}")
    (tree,) = (at / "usr/src").iterdir()
    return tree


def is_current(command: Path) -> bool:
    stem = command.name.removeprefix(".").removesuffix(".o.cmd")
    return any(command.with_name(stem + suffix).exists() for suffix in (".c", ".S"))


def test_dkms_tree_has_what_a_build_reads(tmp_path: Path) -> None:
    """By the names of the files that compiling the module here has read."""
    built = [*(ROOT / "build").glob("kernel-[0-9]*/module")]
    if not built:
        pytest.skip("no module is built here: run `make module`")
    commands = [path for module in built for path in module.rglob(".*.o.cmd")]
    # A tree that was built before has those of sources that are gone.
    texts = [path.read_text() for path in commands if is_current(path)]
    names = {Path(word).name for text in texts for word in re.findall(r"\S+/module/\S+\.\w+", text)}
    read = {name for name in names if name.endswith((".c", ".S", ".h", ".def"))}
    assert len(read) > 80
    there = {path.name for path in dkms_tree(tmp_path).rglob("*")}
    # What compiling makes of others.
    made = {name for name in read if name.endswith(".mod.c")}
    assert read - made <= there


def installed(at: Path, prefix: str) -> set[str]:
    # As if it had been built for there.
    built = f"LIBDIR_BUILT={prefix}/lib"
    done("make", "-s", "install", f"DESTDIR={at}", f"PREFIX={prefix}", built)
    return {f"/{path.relative_to(at)}" for path in at.rglob("*") if not path.is_dir()}


def test_prefix_of_ones_own(tmp_path: Path) -> None:
    """Nothing is written outside of it, and the machine gets no group."""
    paths = installed(tmp_path, "/home/me/syscript")
    assert all(path.startswith("/home/me/syscript/") for path in paths)
    # DKMS, udev and systemd do not look there either.
    assert not [path for path in paths if re.search(r"dkms\.conf|udev/|sysusers\.d", path)]
    # No loader looks there by itself.
    flags = (tmp_path / "home/me/syscript/lib/pkgconfig/libsyscript.pc").read_text()
    assert "Libs: -L${libdir} -Wl,-rpath,${libdir} -lsyscript\n" in flags
    rules = done("make", "-n", "install", "PREFIX=/home/me/syscript")
    assert "packaging/activate" not in rules
    assert "packaging/activate" in done("make", "-n", "install", "PREFIX=/usr/local")


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("prefix", "left"),
    [("/home/me/syscript", set()), ("/usr/local", {"bin", "include", "lib", "share", "share/man"})],
)
def test_uninstall_leaves_no_directory(tmp_path: Path, prefix: str, left: set[str]) -> None:
    """Except directories that a system has in /usr/local anyway."""
    installed(tmp_path, prefix)
    mine = tmp_path / prefix.strip("/") / "bin/mine"
    mine.touch()
    options = [f"DESTDIR={tmp_path}", f"PREFIX={prefix}", f"LIBDIR_BUILT={prefix}/lib"]
    done("make", "-s", "uninstall", *options)
    mine.unlink()
    at = tmp_path / prefix.strip("/")
    assert {str(path.relative_to(at)) for path in at.rglob("*")} <= left | {"bin"}
    assert not list((tmp_path / "usr").glob("src/*"))


def test_manual_pages_are_of_what_is_installed(tmp_path: Path) -> None:
    paths = installed(tmp_path, "/usr/local")
    assert f"/usr/src/syscript-{VERSION}/dkms.conf" in paths
    pages = {Path(path).stem for path in paths if "/man/man1/" in path}
    assert {"syscript", "consolidate"} <= pages
    assert pages <= {Path(path).name for path in paths if "/bin/" in path}
    # Without the command there is no page of it.
    plan = done("make", "-n", "install-cli", "install-lib", "PREFIX=/usr/local")
    assert "man/syscript.1" in plan and "man/consolidate.1" not in plan


def test_debian_packages_have_what_is_installed(tmp_path: Path) -> None:
    """Each file is in a package, and each line of theirs names a file."""
    options = ["PREFIX=/usr", "LIBDIR=/usr/lib/any", "CONSOLIDATE_LIBRARIES="]
    options += ["LIBDIR_BUILT=/usr/lib/any"]
    done("make", "-s", "install", "install-luajit", f"DESTDIR={tmp_path}", *options)
    packed: set[Path] = set()
    lists = [
        *(ROOT / "packaging/debian").glob("*.install"),
        ROOT / "packaging/debian/not-installed",
    ]
    for line in (line for path in lists for line in path.read_text().splitlines()):
        named = list(tmp_path.glob(line))
        # What debian/rules copies by itself.
        assert named or line == "usr/lib/python3", line
        packed |= {file for path in named for file in (path, *path.rglob("*"))}
    # cosy-cc, where it is built, is in none.
    left = {path for path in tmp_path.rglob("*") if not path.is_dir()} - packed
    assert {path for path in left if "cosy" not in str(path)} == set()


@pytest.mark.parametrize("target", MODULES)
def test_dkms_tree_is_of_one_module(tmp_path: Path, target: str) -> None:
    tree = dkms_tree(tmp_path, target)
    text = (tree / "dkms.conf").read_text()
    assert modules_described(text) == {f"out/{MODULES[target]}.ko"}
    assert f'PACKAGE_NAME="{tree.name.removesuffix("-" + VERSION)}"' in text
    assert (tree / "engine/luajit").exists() == (target == "install-luajit")


@pytest.mark.long
@pytest.mark.parametrize("target", MODULES)
def test_dkms_tree_builds_by_itself(tmp_path: Path, target: str) -> None:
    """Nothing of the repository is near it: a path that leads there by chance does not."""
    kernel = Path(done("vm/kernels.py", "path", "6.1"))
    tree = dkms_tree(tmp_path, target)
    make = re.search(r'^MAKE\[0\]="(.*)"$', (tree / "dkms.conf").read_text(), re.MULTILINE)[1]
    done(*make.replace("$kernel_source_dir", str(kernel / "headers")).split(), cwd=tree)
    assert (tree / f"out/{MODULES[target]}.ko").exists()


def modules_described(text: str) -> set[str]:
    """The modules that DKMS installs by such a dkms.conf."""
    names = re.findall(r'^BUILT_MODULE_NAME.*="(.*)"$', text, re.MULTILINE)
    places = re.findall(r'^BUILT_MODULE_LOCATION.*="(.*)"$', text, re.MULTILINE)
    return {f"{place}/{name}.ko" for place, name in zip(places, names, strict=True)}


def test_dkms_installs_each_module_of_the_safety_kit() -> None:
    built = {
        f"out/{kbuild.parent.name}/{name}.ko"
        for kbuild in (ROOT / "safety").glob("*/Kbuild")
        for name in re.findall(r"^obj-m [:+]= (\w+)\.o", kbuild.read_text(), re.MULTILINE)
    }
    assert modules_described((ROOT / "safety/dkms.conf").read_text()) == built


@pytest.mark.long
def test_safety_kit_builds_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As DKMS builds it; then a module with each tool, by what was kept."""
    kernel = Path(done("vm/kernels.py", "path", "6.1"))
    done("make", "-s", "install-safety", f"DESTDIR={tmp_path}", "PREFIX=/usr")
    (tree,) = (tmp_path / "usr/src").iterdir()
    kept = tree / "built" / kernel.name
    monkeypatch.setenv("PLUGIN_HEADERS", done("vm/kernels.py", "plugin", "6.1"))
    done("sh", "build-kit", kernel / "headers", "out", kept, cwd=tree)
    paths = modules_described((tree / "dkms.conf").read_text())
    assert paths == {str(path.relative_to(tree)) for path in tree.glob("out/*/*.ko")}
    shutil.rmtree(tree / "out")

    module = tmp_path / "mine"
    module.mkdir()
    (module / "mine.c").write_text(MODULE)
    (module / "Kbuild").write_text(f"obj-m := mine.o\ninclude {tree}/safety.mk\n")
    for tool in ("kefence", "evmon", "kgcc"):
        options = [f"SAFETY={tool}", "CONFIG_DEBUG_INFO_BTF_MODULES="]
        done("make", "-s", "-C", kernel / "headers", f"M={module}", *options, "clean", "modules")
        assert tool in done("modinfo", "-F", "depends", module / "mine.ko").split(",")


def test_safety_kit_is_uninstalled(tmp_path: Path) -> None:
    done("make", "-s", "install-safety", f"DESTDIR={tmp_path}")
    assert (tmp_path / "usr/local/sbin/kefence").readlink().name == "kefence"
    done("make", "-s", "uninstall-safety", f"DESTDIR={tmp_path}")
    assert [path for path in tmp_path.rglob("*") if not path.is_dir()] == []


@pytest.fixture
def kit(tmp_path: Path) -> Path:
    """The safety kit's tarball, unpacked: `make test-safety-dist` builds it, too."""
    tarball = tmp_path / "kit.tar.xz"
    done("make", "-s", "safety-dist", f"SAFETY_DIST={tarball}", f"SAFETY_TOP={tmp_path / 'stage'}")
    done("tar", "-xf", tarball, "-C", tmp_path)
    return tmp_path / f"safety-kit-{VERSION}"


def test_safety_kit_is_taken_away(kit: Path, tmp_path: Path) -> None:
    """The kit contains what it needs: its Makefile's version, its tests, what it installs."""
    assert f"\nVERSION := {VERSION}\n" in (kit / "Makefile").read_text()
    python = [ROOT / "build" / "venv" / "bin" / "python", "-m", "pytest", "-p", "no:cacheprovider"]
    assert "passed" in done(*python, "-q", "tests/test_reports.py", cwd=kit)
    assert " error" not in done(*python, "-q", "--collect-only", "tests", cwd=kit)
    done("make", "-s", "install", f"DESTDIR={tmp_path}/root", "PREFIX=/usr", cwd=kit)
    assert (tmp_path / "root/usr/sbin/evmon").is_symlink()
    assert (tmp_path / f"root/usr/src/syscript-safety-{VERSION}/core/registry.c").exists()


def dead(pages: list[Path]) -> dict[str, list[str]]:
    found = {str(page): dead_links(page) for page in pages}
    return {name: links for name, links in found.items() if links}


def test_links_of_the_safety_kit_lead_somewhere(kit: Path) -> None:
    assert dead([*kit.rglob("*.md")]) == {}


@pytest.mark.parametrize("goal", ["install", "install-safety"])
def test_links_of_installed_documents_lead_somewhere(goal: str, tmp_path: Path) -> None:
    done("make", "-s", goal, f"DESTDIR={tmp_path}", "PREFIX=/usr/local")
    pages = [*tmp_path.rglob("*.md")]
    assert {"install": 30, "install-safety": 5}[goal] <= len(pages)
    assert dead(pages) == {}
    # The manual's pages are not where they were in the source.
    assert [page.name for page in pages if re.search(r"`man \S*/", page.read_text())] == []


def test_installed_consolidate_measures(tmp_path: Path) -> None:
    """By the library that was installed with it, without the source tree."""
    prefix = tmp_path / "prefix"
    goals = ("install-lib", "install-cli", "install-consolidate")
    done("make", "-s", *goals, f"PREFIX={prefix}", f"LIBDIR_BUILT={prefix}/lib")
    trace = Writer(1)
    for i in range(40):
        trace.read_file(f"/d/{i}")
    trace.write(tmp_path / "t")
    options = ["--here", "--backend", "user", "--rounds", "2", "--json"]
    found = done(prefix / "bin/consolidate", "measure", "1", "t", *options, cwd=tmp_path)
    assert json.loads(found)["calls_per_iteration"] == 4
    (prefix / "lib/libsyscript.a").unlink()
    command = [str(prefix / "bin/consolidate"), "measure", "1", "t", *options]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 1
    assert "libsyscript.a" in ended.stderr and "make install" in ended.stderr
