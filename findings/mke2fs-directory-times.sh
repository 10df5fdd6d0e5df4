#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Times of files that mke2fs -d copies
#
# Versions:  e2fsprogs 1.47.0
# Guess:     a file's times are copied as cp -a copies them: ext4 holds nanoseconds, and years up
#            to 2446.
# Behaviour: the lowest 32 bits of the seconds are, without a word: 2106 becomes 1970, and all
#            nanoseconds are 0.
# Seen:      @1000000000.123456789: 0x3b9aca00:00000000; @4294967301.5: 0x00000005:00000000
# Here:      trees on ext4 are made by the tests after mounting; an image of mke2fs -d would hold
#            no time on which readers of attributes could differ.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
debian e2fsprogs 1.47.0-2+b2
debian libext2fs2 1.47.0-2+b2
export LD_LIBRARY_PATH=$tmp/root/lib/x86_64-linux-gnu
mkdir "$tmp/tree"
touch -d @1000000000.123456789 "$tmp/tree/usual"
touch -d @4294967301.5 "$tmp/tree/late"
said=$("$tmp/root/sbin/mke2fs" -q -t ext4 -d "$tmp/tree" "$tmp/image" 8M 2>&1 |
	grep -v '^Creating regular file' || true)
expect "what mke2fs says" "" "$said"

# stored FILE: the time of its contents in the image, as stored.
stored() {
	"$tmp/root/sbin/debugfs" -R "stat $1" "$tmp/image" 2>/dev/null | awk '/ mtime:/ { print $2 }'
}
expect "a usual time, as stored" "0x3b9aca00:00000000" "$(stored usual)"
expect "a late time, as stored" "0x00000005:00000000" "$(stored late)"
