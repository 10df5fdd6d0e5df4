#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# mmap() with MAP_FIXED_NOREPLACE in qemu-user
#
# Versions:  qemu-user 7.2, Linux 6.18
# Guess:     an address that is taken is EEXIST, as in the kernel.
# Behaviour: the flag is taken for a wish: the mapping is made at another address.
# Seen:      EEXIST outside, "elsewhere" inside
# Here:      the library compares the address with the one that it asked for (core/user/arena.c).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
debian qemu-user 1:7.2+dfsg-7+deb12u18+b3
cat >"$tmp/map.c" <<'C'
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>

static void *map(void *at, int flags)
{
	return mmap(at, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

int main(void)
{
	void *taken = map(NULL, 0), *made = map(taken, MAP_FIXED_NOREPLACE);

	if (made == MAP_FAILED)
		perror("mmap");
	else
		puts(made == taken ? "replaced" : "elsewhere");
	return 0;
}
C
gcc -static -o "$tmp/map" "$tmp/map.c"
expect "taken address, in the kernel" "mmap: File exists" "$("$tmp/map" 2>&1)"
expect "taken address, in qemu-user" "elsewhere" "$("$tmp/root/usr/bin/qemu-x86_64" "$tmp/map" 2>&1)"
