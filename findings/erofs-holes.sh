#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A hole of 64 MiB in an image by mkfs.erofs
#
# Versions:  erofs-utils 1.5, squashfs-tools 4.5.1
# Guess:     holes take no room in an image of a file system that is made to be small.
# Behaviour: mkfs.erofs without compression writes their zeros, mksquashfs does not.
# Seen:      blocks of 1 KiB: 65540 and 4
# Here:      the comparison on file systems (apps/tests/filesystems.py) packs none into one.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
debian erofs-utils 1.5-1
debian squashfs-tools 1:4.5.1-1
mkdir "$tmp/tree"
truncate -s 64M "$tmp/tree/hole"
"$tmp/root/usr/bin/mkfs.erofs" "$tmp/erofs" "$tmp/tree" >"$tmp/said" 2>&1
"$tmp/root/usr/bin/mksquashfs" "$tmp/tree" "$tmp/squashfs" -quiet -no-progress

# is_large FILE: whether it takes as much room as the hole is long.
is_large() {
	[ "$(du -k "$1" | cut -f1)" -lt 65536 ] || echo yes
}
expect "whether the image of erofs is large" yes "$(is_large "$tmp/erofs")"
expect "whether that of squashfs is" "" "$(is_large "$tmp/squashfs")"
