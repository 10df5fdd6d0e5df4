#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Times before 1970 and after 2105 in an image by mksquashfs
#
# Versions:  squashfs-tools 4.5.1
# Guess:     a time that the format cannot hold is an error, a warning, or the nearest that it can.
# Behaviour: the lowest 32 bits of it are stored, without a word: 1938 becomes 2074, and 2106
#            becomes 1970.  Nanoseconds are dropped.
# Seen:      1938-04-24: 2074-05-31; 2106-02-07: 1970-01-01; status 0, no output
# Here:      a patched find is compared with the plain one on the image itself, never with the
#            tree that it was made of (apps/tests/filesystems.py).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
debian squashfs-tools 1:4.5.1-1
mkdir "$tmp/tree"
touch -d @-1000000000 "$tmp/tree/early"
touch -d @4294967301 "$tmp/tree/late"
touch -d @1000000000 "$tmp/tree/usual"
said=$("$tmp/root/usr/bin/mksquashfs" "$tmp/tree" "$tmp/image" -quiet -no-progress 2>&1)
expect "what mksquashfs says" "" "$said"
expect "days of early, late, usual files" "2074-05-31 1970-01-01 2001-09-09" \
	"$(TZ=UTC "$tmp/root/usr/bin/unsquashfs" -lls "$tmp/image" |
		awk '/\/(early|late|usual)$/ { print $4 }' | paste -sd' ')"
