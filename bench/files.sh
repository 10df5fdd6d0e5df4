#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# In a guest, as root: runs build/bench/files on a tmpfs and on an ext4, and its scripts on the
# confined engine; with the start of probes' names, only those. Usage: bench/files.sh ROUNDS [PROBE]

set -eu

rounds=$1
shift
top=/tmp/files
mkdir -p $top/image $top/tmpfs $top/ext4
mount -t tmpfs tmpfs $top/image
mount -t tmpfs tmpfs $top/tmpfs
truncate -s 600M $top/image/ext4
mkfs.ext4 -q -N 200000 $top/image/ext4
modprobe -a loop ext4
mount -o loop $top/image/ext4 $top/ext4
rmdir $top/ext4/lost+found
status=0
{
	echo '{"luajit":'
	SYSCRIPT_ENGINE=luajit build/bench/files "$rounds" $top/tmpfs $top/ext4 "$@" &&
		echo ', "confined":' &&
		SYSCRIPT_ENGINE=confined FILES_ONLY=script \
			build/bench/files "$rounds" $top/tmpfs $top/ext4 "$@" &&
		echo '}'
} || status=$?
# An io_uring releases its files some time after its program exits.
for _ in 1 2 3 4 5 6 7 8 9 10; do
	umount $top/ext4 && break
	sleep 0.5
done
exit $status
