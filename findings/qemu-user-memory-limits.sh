#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Resource limits in a program that qemu-user runs
#
# Versions:  qemu-user 7.2
# Guess:     setrlimit() sets the limit, or fails.
# Behaviour: RLIMIT_AS, RLIMIT_DATA and RLIMIT_STACK are dropped in silence, with status 0;
#            the others are set.
# Seen:      after ulimit -v 20000, -d 1000, -s 64: unlimited, unlimited, 8192; -n 10: 10
# Here:      tests of failing memory mean nothing under qemu-user and are left out there.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
debian qemu-user 1:7.2+dfsg-7+deb12u18+b3
debian busybox-static 1:1.35.0-4+deb12u1+b1

# after OPTION VALUE: the limit that a shell sees after it has set it.
after() {
	"$tmp/root/usr/bin/qemu-x86_64" "$tmp/root/bin/busybox" sh -c "ulimit -$1 $2 && ulimit -$1"
}
stack=$(ulimit -s)
expect "ulimit -v 20000" unlimited "$(after v 20000)"
expect "ulimit -d 1000" unlimited "$(after d 1000)"
expect "ulimit -s 64" "$stack" "$(after s 64)"
expect "ulimit -n 10" 10 "$(after n 10)"
