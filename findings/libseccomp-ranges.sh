#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A range of an argument in a rule of libseccomp
#
# Versions:  libseccomp 2.5.4, gcc 12.2
# Guess:     comparisons of a rule all have to be true: two of one argument, at least 100 and
#            less than 200, are a range.
# Behaviour: a rule has one comparison of each argument; two are EINVAL.  No order of rules helps:
#            of rules with a lower bound each, the one with the higher bound counts.
# Seen:      EINVAL; for at least 100: errno 1, for at least 200: errno 2: close(150), close(250):
#            1, 2 in either order
# Here:      the random filters of tests/vm/test_filters.py compare each argument once in a rule.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
debian libseccomp-dev 2.5.4-1+deb12u1
debian libseccomp2 2.5.4-1+deb12u1
cat >"$tmp/range.c" <<'C'
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int from(scmp_filter_ctx filter, int fd, int errno_)
{
	return seccomp_rule_add(filter, SCMP_ACT_ERRNO(errno_), SCMP_SYS(close), 1,
				SCMP_A0(SCMP_CMP_GE, fd));
}

static int closed(int fd)
{
	return close(fd) ? errno : 0;
}

static void in_order(int first, int second)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

	if (fork()) {
		wait(NULL);
		return;
	}
	if (!from(filter, first, first / 100) && !from(filter, second, second / 100) &&
	    !seccomp_load(filter))
		printf(" %d %d", closed(150), closed(250));
	fflush(stdout);
	_exit(0);
}

int main(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int err = seccomp_rule_add(filter, SCMP_ACT_ERRNO(1), SCMP_SYS(close), 2,
				   SCMP_A0(SCMP_CMP_GE, 100), SCMP_A0(SCMP_CMP_LT, 200));

	printf("%s", strerrorname_np(-err));
	fflush(stdout);
	in_order(100, 200);
	in_order(200, 100);
	return 0;
}
C
libraries=$tmp/root/usr/lib/x86_64-linux-gnu
gcc -D_GNU_SOURCE -I"$tmp/root/usr/include" -o "$tmp/range" "$tmp/range.c" -L"$libraries" -lseccomp
expect "a range in one rule; close(150), close(250) by two rules, in either order" \
	"EINVAL 1 2 1 2" "$(LD_LIBRARY_PATH=$libraries "$tmp/range")"
