#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# As root in a guest: runs a daemon of Debian's packages in a root of its own, in memory, and the
# client that asks it COUNT times.
# usage: run.sh nginx|nginx-cached|dovecot COUNT

set -eu
way=$1
daemon=${1%-*}
count=$2
root=/tmp/daemons

# Copied: while a guest whose clock counts instructions waits for a file, its timers run out, and
# Dovecot takes its processes for dead.
cp -a build/bench/daemons/root "$root"
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
chown 1000:1000 "$root/srv"
head -c 4096 /dev/zero | tr '\0' x >"$root/srv/file.txt"
cp "bench/daemons/$daemon.conf" "$root/run/conf"
[ "$way" = "$daemon" ] || cp "bench/daemons/$way.conf" "$root/run/server.conf"
case $daemon in
nginx) set -- nginx -c /run/conf ;;
dovecot) set -- dovecot -F -c /run/conf ;;
esac
chroot "$root" "$@" >&2 &
status=0
build/bench/daemons/client "$daemon" "$count" || status=$?
kill $! || :
wait
[ $status = 0 ] || find "$root/var/log" -type f -exec cat {} + >&2
exit $status
