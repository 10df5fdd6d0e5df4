#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A process in qemu-user that restricts itself
#
# Versions:  qemu-user 7.2
# Guess:     filters and Landlock work, since the emulator passes system calls on; or a filter
#            with the wrong numbers ends the process.
# Behaviour: prctl() of a filter is EINVAL, seccomp() and Landlock's calls are ENOSYS, as on a
#            kernel that is built without them, while no_new_privs is set.
# Seen:      0 EINVAL ENOSYS ENOSYS
# Here:      the tests of filters and Landlock are not run on A64 in qemu-user, but in guests.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
debian qemu-user 1:7.2+dfsg-7+deb12u18+b3
cat >"$tmp/restrict.c" <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void say(long ret)
{
	printf("%s ", ret < 0 ? strerrorname_np(errno) : "0");
}

int main(void)
{
	struct sock_filter allow = { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW };
	struct sock_fprog filter = { 1, &allow };

	say(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	say(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter));
	say(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter));
	say(syscall(SYS_landlock_create_ruleset, NULL, 0, 1));
	return 0;
}
C
gcc -static -o "$tmp/restrict" "$tmp/restrict.c"
expect "no_new_privs, a filter by prctl and by seccomp, Landlock's version" \
	"0 EINVAL ENOSYS ENOSYS " "$("$tmp/root/usr/bin/qemu-x86_64" "$tmp/restrict")"
