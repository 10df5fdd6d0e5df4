#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# How many entries readdir() of musl takes at once
#
# Versions:  musl 1.2.3, glibc 2.36, strace 6.1
# Guess:     a directory is read by as many calls under musl as under glibc.
# Behaviour: musl's buffer has 2,048 bytes, glibc's 32,768.
# Seen:      1,000 names of 3 digits and fewer: 13 calls of getdents64 and 2
# Here:      what walks save is more for programs of Alpine and static binaries of musl.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
debian musl-dev 1.2.3-1
debian strace 6.1-0.1
cat >"$tmp/list.c" <<'C'
#include <dirent.h>

int main(int argc, char **argv)
{
	DIR *directory = opendir(argv[argc - 1]);

	while (readdir(directory))
		;
	return closedir(directory);
}
C
mkdir "$tmp/full"
(cd "$tmp/full" && seq 1000 | xargs touch)
musl=$tmp/root/usr/lib/x86_64-linux-musl
gcc -o "$tmp/glibc" "$tmp/list.c"
gcc -static -nostdinc -isystem "$tmp/root/usr/include/x86_64-linux-musl" -nostdlib \
	-o "$tmp/musl" "$tmp/list.c" "$musl/crt1.o" "$musl/libc.a" -lgcc

# calls PROGRAM: how often it calls getdents64.
calls() {
	"$tmp/root/usr/bin/strace" -o "$tmp/trace" -e trace=getdents64 "$1" "$tmp/full"
	grep -c '^getdents64(' "$tmp/trace"
}
expect "calls by musl" 13 "$(calls "$tmp/musl")"
expect "calls by glibc" 2 "$(calls "$tmp/glibc")"
