#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Which thread a line of `strace -f -z` is of
#
# Versions:  strace 6.1
# Guess:     with -f, once there are two processes each line begins with "[pid N]".
# Behaviour: with -z a call's line is begun when it starts and written when it has succeeded:
#            the call that makes the second process has no "[pid N]", although it stands after
#            "Process N attached".
# Seen:      "strace: Process N attached", then "vfork() = N" without a number before it
# Here:      consolidate gives such lines to the first process (consolidate/trace/reader.py).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
debian strace 6.1-0.1
cat >"$tmp/two.c" <<'C'
#define _GNU_SOURCE
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
	if (!vfork())
		_exit(0);
	return wait(NULL) < 0;
}
C
gcc -o "$tmp/two" "$tmp/two.c"
"$tmp/root/usr/bin/strace" -f -z -e trace=process "$tmp/two" 2>"$tmp/trace" || exit 2
expect "after the second process is attached" "vfork() = N" \
	"$(sed -n '/attached$/,$p' "$tmp/trace" | sed -n 's/^\(vfork()\) *= [0-9]*$/\1 = N/p')"
