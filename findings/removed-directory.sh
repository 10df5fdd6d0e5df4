#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Reading a directory that was removed after it was opened
#
# Versions:  Linux 6.18, glibc 2.36, Python 3.11.2, Go 1.19.8
# Guess:     it is empty: the call returns 0, and every language reads no names.
# Behaviour: getdents64() fails with ENOENT. readdir() of C turns that into the end, and so does
#            what is built on it, as Python's os.listdir(); Go makes the call itself, and hands
#            the error on.
# Seen:      getdents64: ENOENT; readdir: end; os.listdir: []; Go's Readdirnames: an error
# Here:      a row of docs/surprises.md: syscript_readdirplus() and scripts get the call's ENOENT
#            (tests/unit/test_lib_readdirplus.c); the patched programs go on with readdir().

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
debian golang-1.19-go 1.19.8-2
debian golang-1.19-src 1.19.8-2
cat >"$tmp/removed.c" <<'C'
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int fd = open(argv[argc - 1], O_RDONLY);
	DIR *dir = fdopendir(fd);
	char buf[1000];

	rmdir(argv[argc - 1]);
	printf("%s", syscall(SYS_getdents64, fd, buf, sizeof(buf)) < 0 ? strerrorname_np(errno) : "0");
	errno = 0;
	printf(" %s\n", readdir(dir) ? "a name" : errno ? "an error" : "end");
	return 0;
}
C
cat >"$tmp/removed.py" <<'PY'
import os, sys

fd = os.open(sys.argv[1], os.O_RDONLY)
os.rmdir(sys.argv[1])
print(os.listdir(fd))
PY
cat >"$tmp/removed.go" <<'GO'
package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

func main() {
	directory, _ := os.Open(os.Args[1])
	os.Remove(os.Args[1])
	names, err := directory.Readdirnames(-1)
	fmt.Println(len(names), errors.Is(err, syscall.ENOENT))
}
GO
gcc -D_GNU_SOURCE -o "$tmp/removed" "$tmp/removed.c"
GOROOT=$tmp/root/usr/lib/go-1.19 GOCACHE=$tmp/cache GOFLAGS=-mod=mod \
	"$tmp/root/usr/lib/go-1.19/bin/go" build -o "$tmp/removed-go" "$tmp/removed.go"
mkdir "$tmp"/gone-{c,python,go}
expect "getdents64, readdir" "ENOENT end" "$("$tmp/removed" "$tmp/gone-c")"
expect "os.listdir" "[]" "$(python3 "$tmp/removed.py" "$tmp/gone-python")"
expect "names that Go reads, whether it says ENOENT" "0 true" "$("$tmp/removed-go" "$tmp/gone-go")"
