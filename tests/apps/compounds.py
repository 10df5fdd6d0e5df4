# SPDX-License-Identifier: GPL-2.0 OR MIT
"""What the tests of programs with compounds share."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

BUILD = Path(__file__).resolve().parents[2] / "build"
# The segments run natively and by the engine in the process, or as COSY_ENGINE says.
ENGINES = [os.environ["COSY_ENGINE"]] if "COSY_ENGINE" in os.environ else ["native", "user"]

# Loaded before the C library: files of which a third came later, and an archive that takes
# half of what it is given and then is interrupted, with each write.
DIFFICULT = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>
ssize_t write(int fd, const void *from, size_t n)
{
	static ssize_t (*real)(int, const void *, size_t);
	static unsigned int calls;
	if (!real)
		real = dlsym(RTLD_NEXT, "write");
	if (fd != 1 || calls++ % 2 == 0)
		return real(fd, from, fd == 1 && n > 1 ? n / 2 : n);
	errno = EINTR;
	return -1;
}
int lstat(const char *name, struct stat *st)
{
	int (*real)(const char *, struct stat *) = dlsym(RTLD_NEXT, "lstat");
	int status = real(name, st);
	st->st_size -= st->st_size / 3;
	return status;
}
"""


def difficult(directory: Path) -> str:
    """A library to preload."""
    source, library = directory / "difficult.c", directory / "difficult.so"
    source.write_text(DIFFICULT)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
    return str(library)
