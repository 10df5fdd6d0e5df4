#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The buffers of musl's streams
#
# Versions:  musl 1.2.3, glibc 2.36, strace 6.1
# Guess:     4,096 bytes or st_blksize, by read() and write().
# Behaviour: 1,024 bytes; written by writev(), of what is in the buffer and what comes; read by
#            readv() where more than the buffer is wanted.
# Seen:      3,890 bytes: 4 calls of writev, and 1 of write; 64 KiB by fgets(): 65 of read, 17
# Here:      consolidate counts readv and writev of streams among reads and writes; programs under
#            musl make four times as many (consolidate/calltable.py).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
debian musl-dev 1.2.3-1
debian strace 6.1-0.1
cat >"$tmp/copy.c" <<'C'
#include <stdio.h>

int main(int argc, char **argv)
{
	FILE *in = fopen(argv[argc - 1], "r"), *out = fopen("/dev/null", "w");
	char line[100];
	int i;

	while (fgets(line, sizeof(line), in))
		;
	for (i = 0; i < 1000; i++)
		fprintf(out, "%d\n", i);
	return fclose(in) || fclose(out);
}
C
seq 1000000 1008191 >"$tmp/text"
musl=$tmp/root/usr/lib/x86_64-linux-musl
gcc -o "$tmp/glibc" "$tmp/copy.c"
gcc -static -nostdinc -isystem "$tmp/root/usr/include/x86_64-linux-musl" -nostdlib \
	-o "$tmp/musl" "$tmp/copy.c" "$musl/crt1.o" "$musl/libc.a" -lgcc

# calls PROGRAM: on the two files, by name.
calls() {
	"$tmp/root/usr/bin/strace" -y -o "$tmp/trace" -e trace=read,readv,write,writev "$1" "$tmp/text"
	sed -n 's/^\([a-z]*\)([34]<\(.*\/text\|\/dev\/null\)[<>].*/\1/p' "$tmp/trace" |
		sort | uniq -c | awk '{ print $2, $1 }' | xargs
}
expect "calls by musl" "read 65 writev 4" "$(calls "$tmp/musl")"
expect "calls by glibc" "read 17 write 1" "$(calls "$tmp/glibc")"
