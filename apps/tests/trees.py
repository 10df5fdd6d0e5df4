# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Fixtures for tests of programs that read ahead: a tree of files, and a failing library."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import subprocess
from pathlib import Path

import pytest
from compounds import BUILD

# Counts its calls and fails from the nth on; runs AFTER when a directory has been read. The
# attributes UNKNOWN (STATX_*) are nonsense, and say so.
UNRELIABLE = """
#include <dlfcn.h>
#include <errno.h>
#include <linux/stat.h>
#include <linux/syscript_files.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
static int calls;
static void *real(const char *name)
{
	void *library = dlopen(getenv("REAL"), RTLD_NOW);
	return dlsym(library, name);
}
static int fails(void)
{
	return calls++ >= atoi(getenv("GOOD_CALLS"));
}
static void forget(struct syscript_stat *stat)
{
	unsigned unknown = getenv("UNKNOWN") ? strtoul(getenv("UNKNOWN"), NULL, 0) : 0;
	stat->mask &= ~unknown;
	if (unknown & STATX_SIZE)
		stat->size = stat->blocks = 4711;
}
int syscript_probe(int backend) { return 0; }
ssize_t syscript_readdirplus(int fd, void *buf, size_t size, unsigned mask, unsigned flags,
int *end)
{
	ssize_t (*call)(int, void *, size_t, unsigned, unsigned, int *) = real("syscript_readdirplus");
	ssize_t n = fails() ? -ETIME : call(fd, buf, size, mask, flags, end);
	for (ssize_t at = 0; at < n; at += ((struct syscript_dirent *)(buf + at))->reclen)
		forget(&((struct syscript_dirent *)(buf + at))->stat);
	if (n > 0 && getenv("AFTER") && system(getenv("AFTER")))
		abort();
	return n;
}
int syscript_stat_many(int fd, struct syscript_file *files, size_t n, unsigned mask, int flags)
{
	int (*call)(int, void *, size_t, unsigned, int) = real("syscript_stat_many");
	int error = fails() ? -ETIME : call(fd, files, n, mask, flags);
	for (size_t i = 0; !error && i < n; i++)
		if (files[i].result == 0)
			forget((void *)files[i].data);
	return error;
}
__attribute__((destructor)) static void tell(void)
{
	FILE *file = fopen(getenv("COUNT"), "w");
	fprintf(file, "%d", calls);
	fclose(file);
}
"""


# Says of every directory that its file system has the type KIND.
OF_TYPE = """
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
static int tell(struct statfs *fs)
{
	memset(fs, 0, sizeof(*fs));
	fs->f_type = atoi(getenv("KIND"));
	return 0;
}
int statfs64(const char *path, struct statfs *fs) { return tell(fs); }
int fstatfs64(int fd, struct statfs *fs) { return tell(fs); }
int statfs(const char *path, struct statfs *fs) { return tell(fs); }
int fstatfs(int fd, struct statfs *fs) { return tell(fs); }
"""


# A directory with one file whose name is too long for struct dirent.
LONG_NAMES = """
#define _GNU_SOURCE
#include <dirent.h>
#include <linux/syscript_files.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
int syscript_probe(int backend) { return 0; }
int syscript_stat_many(int fd, void *files, size_t n, unsigned mask, int flags) { return -1; }
ssize_t syscript_readdirplus(int fd, void *buf, size_t size, unsigned mask, unsigned flags,
int *end)
{
	struct syscript_dirent *entry = buf;
	static int calls;
	if (calls++)
		return 0;
	memset(entry, 0, sizeof(*entry));
	entry->namelen = LENGTH;
	entry->reclen = sizeof(*entry) + LENGTH / 8 * 8 + 8;
	entry->type = DT_REG;
	entry->stat.mask = STATX_BASIC_STATS;
	entry->stat.mode = S_IFREG | 0644;
	entry->stat.nlink = 1;
	entry->stat.size = 5000;
	entry->stat.blocks = 8;
	memset(entry->name, 'x', LENGTH);
	entry->name[LENGTH] = '\\0';
	return entry->reclen;
}
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Files and directories alternating, and every other type of file."""
    top = tmp_path / "tree"
    top.mkdir()
    for n in range(40):
        (top / f"file{n}").write_bytes(b"x" * (n * 997))
        if n % 5 == 0:
            below = top / f"dir{n}" / "below"
            below.mkdir(parents=True)
            for k in range(n * 10):
                (below / f"{k}").write_bytes(b"y" * k)
    many = top / "many"
    many.mkdir()
    for n in range(1500):
        (many / f"a rather long name, so that there are several parts {n}").touch()
    (top / "empty").mkdir()
    os.link(top / "file7", top / "dir10" / "linked")
    os.link(top / "file8", top / "file8 again")
    (top / "to-dir").symlink_to("dir10")
    (top / "dangling").symlink_to("nowhere")
    (top / "loop").symlink_to("loop")
    os.mkfifo(top / "fifo")
    (top / "odd\nname \x01").write_text("odd")
    with socket.socket(socket.AF_UNIX) as unix:
        unix.bind(str(top / "socket"))
    (top / "file3").chmod(0o4711)
    set_attributes(top)
    return top


# user::rwx, user 1: r, group::r, mask::r, other::-
ACL = b"".join(
    struct.pack("<HHI", tag, rights, who)
    for tag, rights, who in (
        (1, 7, 2**32 - 1),
        (2, 4, 1),
        (4, 4, 2**32 - 1),
        (16, 4, 2**32 - 1),
        (32, 0, 2**32 - 1),
    )
)


def set_attributes(top: Path) -> None:
    """Sets extended attributes, if the file system has them and this user may."""
    version = struct.pack("<I", 2)
    with contextlib.suppress(OSError):
        os.setxattr(top / "file12", "system.posix_acl_access", version + ACL)
        os.setxattr(top / "dir15", "system.posix_acl_default", version + ACL)
    with contextlib.suppress(OSError):
        os.setxattr(top / "file13", "security.selinux", b"a:label\0")
        os.setxattr(top / "dir20", "security.selinux", b"a:label\0")


def make_library(place: Path, source: str, *options: str) -> Path:
    (place / "lib.c").write_text(source)
    library = place / "libsyscript.so.0"
    subprocess.run(
        ["gcc", *options, "-shared", "-fPIC", "-o", library, place / "lib.c"], check=True
    )
    return place


@pytest.fixture(scope="session")
def unreliable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("unreliable")
    return make_library(place, UNRELIABLE, f"-I{BUILD / 'include'}")


@pytest.fixture(scope="session")
def of_type(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("of-type")
    return make_library(place, OF_TYPE) / "libsyscript.so.0"


@pytest.fixture(params=[300, 1024, 4095])
def long_names(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, int]:
    place = tmp_path / "library"
    place.mkdir()
    options = (f"-DLENGTH={request.param}", f"-I{BUILD / 'include'}")
    return make_library(place, LONG_NAMES, *options), request.param
