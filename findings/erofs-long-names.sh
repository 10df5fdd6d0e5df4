#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The longest name in an image by mkfs.erofs
#
# Versions:  erofs-utils 1.5
# Guess:     names of 255 bytes, which the format and every other file system take, are packed.
# Behaviour: mkfs.erofs ends with "No such file or directory" at a name of 255 bytes; 254 are fine.
# Seen:      254 bytes: 0, 255 bytes: 1
# Here:      the comparison on file systems (apps/tests/filesystems.py) packs none into one.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
debian erofs-utils 1.5-1

# packs LENGTH: the status of mkfs.erofs for a name of so many bytes.
packs() {
	mkdir "$tmp/$1"
	touch "$tmp/$1/$(printf '%*s' "$1" '' | tr ' ' x)"
	"$tmp/root/usr/bin/mkfs.erofs" "$tmp/$1.image" "$tmp/$1" >"$tmp/said" 2>&1 && echo 0 || echo $?
}
expect "mkfs.erofs of a name of 254 bytes" 0 "$(packs 254)"
expect "mkfs.erofs of a name of 255 bytes" 1 "$(packs 255)"
