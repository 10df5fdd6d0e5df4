# SPDX-License-Identifier: GPL-2.0 OR MIT
"""Shared by the tests of programs with compounds."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

BUILD = Path(__file__).resolve().parents[2] / "build"
# Run segments natively and on the engine in the process, or as COSY_ENGINE says.
ENGINES = [os.environ["COSY_ENGINE"]] if "COSY_ENGINE" in os.environ else ["native", "user"]

# A preloaded library: a third of a file's bytes arrive later, and writes to an archive take half of
# the data and are then interrupted.
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
    """Compile a library to preload."""
    source, library = directory / "difficult.c", directory / "difficult.so"
    source.write_text(DIFFICULT)
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", library, source], check=True)
    return str(library)
