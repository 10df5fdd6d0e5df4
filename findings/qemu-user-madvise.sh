#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# madvise() in qemu-user
#
# Versions:  qemu-user 7.2, Linux 6.18
# Guess:     advice that it does not know is EINVAL, as in the kernel; memory that is not there
#            is ENOMEM.
# Behaviour: both are 0, and nothing is done.  So MADV_POPULATE_WRITE seems to be there.
# Seen:      EINVAL, ENOMEM outside; 0, 0 inside
# Here:      where the library allocates pages before they are written, that has no effect
#            there: a test of failing memory does not run in qemu-user.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
debian qemu-user 1:7.2+dfsg-7+deb12u18+b3
cat >"$tmp/advise.c" <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

int main(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	printf("%s", madvise(p, 4096, 12345) ? strerrorname_np(errno) : "0");
	munmap(p, 4096);
	printf(" %s\n", madvise(p, 4096, MADV_POPULATE_WRITE) ? strerrorname_np(errno) : "0");
	return 0;
}
C
gcc -static -o "$tmp/advise" "$tmp/advise.c"
expect "unknown advice, missing memory, in the kernel" "EINVAL ENOMEM" "$("$tmp/advise")"
expect "the same in qemu-user" "0 0" "$("$tmp/root/usr/bin/qemu-x86_64" "$tmp/advise")"
