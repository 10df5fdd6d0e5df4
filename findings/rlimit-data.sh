#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What counts for `ulimit -d`
#
# Versions:  Linux 6.1.0-57 of Debian, 6.18
# Guess:     the heap that brk() makes; mmap() is not limited by it.
# Behaviour: since Linux 4.7 all private memory that can be written, whether it is in use or not,
#            and when mprotect() makes it so, too.  Reserved addresses and shared memory do not
#            count.
# Seen:      under 4 MiB: 64 MiB reserved, ENOMEM when 16 of them become writable, 16 shared
# Here:      arenas are reserved, and become writable later: that is where ENOMEM is found
#            (core/user/arena.c).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
cat >"$tmp/data.c" <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define MIB (1UL << 20)

static void *map(size_t size, int access, int flags)
{
	return mmap(NULL, size, access, MAP_ANONYMOUS | flags, -1, 0);
}

static const char *said(int failed)
{
	return failed ? strerrorname_np(errno) : "0";
}

int main(void)
{
	const struct rlimit limit = { 4 * MIB, 4 * MIB };
	void *reserved;

	setrlimit(RLIMIT_DATA, &limit);
	reserved = map(64 * MIB, PROT_NONE, MAP_PRIVATE | MAP_NORESERVE);
	printf("%s ", said(reserved == MAP_FAILED));
	printf("%s ", said(mprotect(reserved, 16 * MIB, PROT_READ | PROT_WRITE)));
	printf("%s ", said(map(16 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE) == MAP_FAILED));
	printf("%s\n", said(map(16 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED) == MAP_FAILED));
	return 0;
}
C
gcc -o "$tmp/data" "$tmp/data.c"
expect "reserved, made writable, private, shared" "0 ENOMEM ENOMEM 0" "$("$tmp/data")"
