#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The name of a deleted file by `strace -y`
#
# Versions:  strace 6.1
# Guess:     as /proc/PID/fd has it, within the brackets: 3</tmp/file (deleted)>.
# Behaviour: after the brackets, without a space.
# Seen:      write(3</tmp/file>(deleted), "x", 1) = 1
# Here:      consolidate's reader of traces knows both forms (consolidate/trace/values.py).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
debian strace 6.1-0.1
cat >"$tmp/delete.c" <<'C'
#include <fcntl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int fd = open(argv[argc - 1], O_WRONLY | O_CREAT, 0600);

	return unlink(argv[argc - 1]) || write(fd, "x", 1) != 1;
}
C
gcc -o "$tmp/delete" "$tmp/delete.c"
"$tmp/root/usr/bin/strace" -y -e trace=write -o "$tmp/trace" "$tmp/delete" "$tmp/file"
expect "the call" "write(3<$tmp/file>(deleted), \"x\", 1) = 1" "$(head -1 "$tmp/trace")"
