#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A rule of libseccomp for AT_FDCWD
#
# Versions:  libseccomp 2.5.4, gcc 12.2, glibc 2.36
# Guess:     SCMP_A0(SCMP_CMP_EQ, AT_FDCWD) matches openat(AT_FDCWD, ...).
# Behaviour: rules compare 64 bits, and a C program passes -100 in 32: open(), openat() and
#            syscall() with an int never match.  SCMP_A0_32() matches these, and not a caller that
#            passes the sign, like syscall() with a long.  Neither finds both: only a comparison
#            under a mask of 32 bits does.
# Seen:      errno of open, openat, syscall, syscall with a long: 0 0 0 25; 25 25 25 0; 25 25 25 25
# Here:      scripts pass integers with their sign (core/syscalls.def), as syscall() with a long
#            (tests/vm/test_filters.py).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
debian libseccomp-dev 2.5.4-1+deb12u1
debian libseccomp2 2.5.4-1+deb12u1
cat >"$tmp/rules.c" <<'C'
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const char path[] = "/dev/null";

static void under(struct scmp_arg_cmp rule)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int seen[4];

	if (seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOTTY), SCMP_SYS(openat), 1, rule) ||
	    seccomp_load(filter))
		exit(1);
	seen[0] = open(path, O_RDONLY) < 0 ? errno : 0;
	seen[1] = openat(AT_FDCWD, path, O_RDONLY) < 0 ? errno : 0;
	seen[2] = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY) < 0 ? errno : 0;
	seen[3] = syscall(SYS_openat, (long)AT_FDCWD, path, O_RDONLY) < 0 ? errno : 0;
	printf("%d %d %d %d\n", seen[0], seen[1], seen[2], seen[3]);
	exit(0);
}

int main(void)
{
	const struct scmp_arg_cmp rules[] = {
		SCMP_A0(SCMP_CMP_EQ, AT_FDCWD),
		SCMP_A0_32(SCMP_CMP_EQ, AT_FDCWD),
		SCMP_A0_64(SCMP_CMP_MASKED_EQ, 0xffffffff, (unsigned)AT_FDCWD),
	};

	for (int i = 0; i < 3; i++) {
		if (!fork())
			under(rules[i]);
		wait(NULL);
	}
	return 0;
}
C
libraries=$tmp/root/usr/lib/x86_64-linux-gnu
gcc -I"$tmp/root/usr/include" -o "$tmp/rules" "$tmp/rules.c" -L"$libraries" -lseccomp
expect "SCMP_A0, SCMP_A0_32, 32 bits under a mask" "0 0 0 25,25 25 25 0,25 25 25 25" \
	"$(LD_LIBRARY_PATH=$libraries "$tmp/rules" | paste -sd,)"
