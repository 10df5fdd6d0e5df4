#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The calls of Python's open(...).read()
#
# Versions:  CPython 3.11.2
# Guess:     openat, fstat, read, read, close.
# Behaviour: nine: an ioctl that asks whether it is a terminal, a second fstat, and two lseek.
# Seen:      openat newfstatat ioctl lseek lseek newfstatat read read close
# Here:      of a Python program's small files consolidate proposes a script for all nine, of
#            which read_many.lua makes three.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
debian python3.11-minimal 3.11.2-6+deb12u9
debian libpython3.11-minimal 3.11.2-6+deb12u9
debian strace 6.1-0.1
echo text >"$tmp/file"
export PYTHONHOME=$tmp/root/usr
"$tmp/root/usr/bin/strace" -qq -o "$tmp/trace" "$tmp/root/usr/bin/python3.11" -S -c \
	"open('$tmp/file').read()"
expect "calls for a file" "openat newfstatat ioctl lseek lseek newfstatat read read close" \
	"$(sed -n "\\|\"$tmp/file\"|,/^close/s/(.*//p" "$tmp/trace" | paste -sd' ')"
