#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A rule of libseccomp for a system call that the machine does not have
#
# Versions:  libseccomp 2.5.4, gcc 12.2
# Guess:     on x86-64 a rule for fcntl64, which only 32-bit machines have, is an error, as one for
#            a misspelled name is; or it is left out.
# Behaviour: the library gives such calls numbers of its own, from -10001 down. seccomp_rule_add()
#            succeeds, with a comparison with that number in the filter that never comes true:
#            numbers so high are taken for x32's before, and kill, also under a filter that allows
#            what it does not name. Only seccomp_rule_add_exact() refuses the rule, with EDOM.
# Seen:      fcntl64 is -10009: added; exactly: EDOM; nosuch: EINVAL; the call: ENOSYS without the
#            filter, SIGSYS under it
# Here:      nothing: core/syscalls.def has numbers of the machine's calls only.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
debian libseccomp-dev 2.5.4-1+deb12u1
debian libseccomp2 2.5.4-1+deb12u1
cat >"$tmp/other.c" <<'C'
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
	int number = seccomp_syscall_resolve_name("fcntl64");
	int unknown = seccomp_syscall_resolve_name("nosuch");
	int exact = seccomp_rule_add_exact(filter, SCMP_ACT_ERRNO(EPERM), number, 0);
	int misspelled = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), unknown, 0);
	int added = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), number, 0);
	int status;

	printf("%d %d %s %s", number, added, strerrorname_np(-exact), strerrorname_np(-misspelled));
	syscall(number);
	printf(" %s", strerrorname_np(errno));
	fflush(stdout);
	if (!fork()) {
		if (!seccomp_load(filter))
			syscall(number);
		_exit(1);
	}
	wait(&status);
	printf(" SIG%s\n", WIFSIGNALED(status) ? sigabbrev_np(WTERMSIG(status)) : "");
	return 0;
}
C
libraries=$tmp/root/usr/lib/x86_64-linux-gnu
gcc -D_GNU_SOURCE -I"$tmp/root/usr/include" -o "$tmp/other" "$tmp/other.c" -L"$libraries" -lseccomp
expect "the number of fcntl64, a rule, an exact one, one for nosuch; the call without it, with it" \
	"-10009 0 EDOM EINVAL ENOSYS SIGSYS" "$(LD_LIBRARY_PATH=$libraries "$tmp/other")"
