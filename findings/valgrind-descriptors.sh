#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Descriptors and newer calls under Valgrind
#
# Versions:  Valgrind 3.19.0
# Guess:     a program has the shell's limit of descriptors, and system calls that its kernel
#            has and that do nothing to memory are passed on.
# Behaviour: twelve descriptors are kept back, from the limits, too.  A call that Valgrind does
#            not know fails with ENOSYS and a warning, whatever it does.
# Seen:      256 is 244, dup2() to 250 is EBADF; openat2() is ENOSYS, and has been in Linux since 5.6
# Here:      under Valgrind scripts run in the process, and their openat2() fails as well; the
#            programs' 32 free descriptors are twelve fewer.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
debian valgrind 1:3.19.0-1
cat >"$tmp/limits.c" <<'C'
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define SYS_OPENAT2	437

int main(void)
{
	struct rlimit limit;
	unsigned long how[3] = { O_RDONLY };
	long fd = syscall(SYS_OPENAT2, AT_FDCWD, "/", how, sizeof(how));
	int missing = fd < 0 && errno == ENOSYS;

	getrlimit(RLIMIT_NOFILE, &limit);
	printf("%lu %lu", (unsigned long)limit.rlim_cur, (unsigned long)limit.rlim_max);
	printf(" %d %s\n", dup2(1, 250), missing ? "ENOSYS" : "openat2");
	return 0;
}
C
gcc -D_GNU_SOURCE -o "$tmp/limits" "$tmp/limits.c"
ulimit -n 256
expect "limits, a descriptor, a call, without Valgrind" "256 256 250 openat2" "$("$tmp/limits")"
export VALGRIND_LIB=$tmp/root/usr/libexec/valgrind
expect "the same under Valgrind" "244 244 -1 ENOSYS" \
	"$("$tmp/root/usr/bin/valgrind.bin" -q "$tmp/limits" 2>"$tmp/said")"
