# SPDX-License-Identifier: GPL-2.0
"""What is installed builds where it is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

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


def dkms_tree(at: Path) -> Path:
    done("make", "-s", "install-dkms", f"DESTDIR={at}")
    (tree,) = (at / "usr/src").iterdir()
    return tree


def test_dkms_tree_has_what_a_build_reads(tmp_path: Path) -> None:
    """By the names of the files that compiling the module here has read."""
    built = [*(ROOT / "build").glob("kernel-[0-9]*/module")]
    if not built:
        pytest.skip("no module is built here: run `make module`")
    texts = [path.read_text() for module in built for path in module.rglob(".*.o.cmd")]
    names = {Path(word).name for text in texts for word in re.findall(r"\S+/module/\S+\.\w+", text)}
    read = {name for name in names if name.endswith((".c", ".S", ".h", ".def"))}
    assert len(read) > 80
    there = {path.name for path in dkms_tree(tmp_path).rglob("*")}
    # What compiling makes of others.
    made = {name for name in read if name.endswith(".mod.c")}
    assert read - made <= there


@pytest.mark.long
def test_dkms_tree_builds_by_itself(tmp_path: Path) -> None:
    """Nothing of the repository is near it: a path that leads there by chance does not."""
    kernel = Path(done("vm/kernels.py", "path", "6.1"))
    tree = dkms_tree(tmp_path)
    done("sh", "kernel/build-module", kernel / "headers", "out", "vendor", "gen", cwd=tree)
    assert (tree / "out/syscript.ko").exists()


@pytest.mark.long
def test_safety_kit_builds_by_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As DKMS builds it; then a module with each tool, by what was kept."""
    kernel = Path(done("vm/kernels.py", "path", "6.1"))
    done("make", "-s", "install-safety", f"DESTDIR={tmp_path}", "PREFIX=/usr")
    (tree,) = (tmp_path / "usr/src").iterdir()
    kept = tree / "built" / kernel.name
    monkeypatch.setenv("PLUGIN_HEADERS", done("vm/kernels.py", "plugin", "6.1"))
    done("sh", "build-kit", kernel / "headers", "out", kept, cwd=tree)
    described = (tree / "dkms.conf").read_text()
    names = re.findall(r'^BUILT_MODULE_NAME.*="(.*)"$', described, re.MULTILINE)
    places = re.findall(r'^BUILT_MODULE_LOCATION.*="(.*)"$', described, re.MULTILINE)
    paths = {f"{place}/{name}.ko" for place, name in zip(places, names, strict=True)}
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
