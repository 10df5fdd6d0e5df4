#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# How a static program reads the clock
#
# Versions:  glibc 2.36, strace 6.1
# Guess:     by a system call: the vDSO is a shared object, which only the dynamic loader finds.
# Behaviour: by the vDSO, as since glibc 2.31; clocks of processor time are system calls.
# Seen:      1,000 times CLOCK_MONOTONIC: no call; CLOCK_THREAD_CPUTIME_ID: one for each
# Here:      time limits in a static program cost what they cost elsewhere.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
debian strace 6.1-0.1
cat >"$tmp/clock.c" <<'C'
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
	struct timespec now;
	int i;

	for (i = 0; i < 1000; i++)
		clock_gettime(atoi(argv[argc - 1]), &now);
	return 0;
}
C
gcc -static -o "$tmp/clock" "$tmp/clock.c"
calls() {
	"$tmp/root/usr/bin/strace" -o "$tmp/trace" -e trace=clock_gettime "$tmp/clock" "$1"
	grep -c '^clock_gettime(' "$tmp/trace" || true
}
expect "calls for CLOCK_MONOTONIC" 0 "$(calls 1)"
expect "calls for CLOCK_THREAD_CPUTIME_ID" 1000 "$(calls 3)"
