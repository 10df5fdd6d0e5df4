#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Times that statx() was not asked for
#
# Versions:  Linux 6.18; 6.1 does as guessed
# Guess:     what a file system has at hand it gives, asked or not: a call that asks for the size
#            returns the times as well, as stat() does.
# Behaviour: on tmpfs, ext4, xfs and btrfs, whose times are as fine as readers ask for, those of
#            contents and status are 0 unless one of the two is asked for, and their bits are
#            missing; on proc they are there.  One that is asked for brings both.
# Seen:      tmpfs, asked for STATX_SIZE: mask 0x173f, seconds 0 0; for STATX_MTIME: both
# Here:      a batch's mask is the file system's: who needs times has to ask for them.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
if ! printf '%s\n' 6.13 "$(uname -r)" | sort -VC; then
	echo "Linux 6.13 or newer is needed" >&2
	exit 2
fi
cat >"$tmp/ask.c" <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

static void ask(const char *path, unsigned int mask)
{
	struct statx seen = { 0 };

	statx(AT_FDCWD, path, 0, mask, &seen);
	printf("%s%s%s ", seen.stx_mask & STATX_SIZE ? "s" : "", seen.stx_mask & STATX_MTIME ? "m" : "",
	       seen.stx_mask & STATX_CTIME ? "c" : "");
	printf("%d%d;", !!seen.stx_mtime.tv_sec, !!seen.stx_ctime.tv_sec);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		ask(argv[i], STATX_SIZE);
		ask(argv[i], STATX_MTIME);
		ask(argv[i], STATX_BASIC_STATS);
	}
	return 0;
}
C
gcc -o "$tmp/ask" "$tmp/ask.c"
file=$(mktemp -p /dev/shm)
trap 'rm -rf "$tmp" "$file"' EXIT
expect "tmpfs: asked for the size, the time of contents, all" "s 00;smc 11;smc 11;" \
	"$("$tmp/ask" "$file")"
expect "proc" "smc 11;smc 11;smc 11;" "$("$tmp/ask" /proc/self/status)"
