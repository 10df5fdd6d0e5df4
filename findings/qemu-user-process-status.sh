#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What a program in qemu-user reads in /proc/self
#
# Versions:  qemu-user 7.2
# Guess:     files of /proc/self are the program's own, or the emulator's.
# Behaviour: /proc/self/stat is made up: the process's name and numbers, its parent, its start,
#            and its stack; the state and all else are 0.  /proc/self/status is the emulator's.
# Seen:      field 3 is 0 for R, no minor faults, no time, no size; status has the name
#            qemu-x86_64
# Here:      the library and its tests for arm64 in qemu-user measure no time by this file
#            (tests/arm64/test_arm64.py).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
debian qemu-user 1:7.2+dfsg-7+deb12u18+b3
debian busybox-static 1:1.35.0-4+deb12u1+b1
cp "$tmp/root/bin/busybox" "$tmp/cat"
emulated() { "$tmp/root/usr/bin/qemu-x86_64" "$tmp/cat" "/proc/self/$1"; }
expect "state, faults, size" "0 0 0" "$(emulated stat | cut -d' ' -f3,10,23)"
expect "name in stat" "(cat)" "$(emulated stat | cut -d' ' -f2)"
expect "name in status" "qemu-x86_64" "$(emulated status | sed -n 's/^Name:\t//p')"
