#!/bin/sh
# SPDX-License-Identifier: GPL-2.0 OR MIT
#
# Makes a directory of unpacked packages a root to run nginx and Dovecot in.
# usage: root.sh DIRECTORY

set -eu
cd "$1"
mkdir -p dev proc run srv tmp
rm -r usr/share usr/lib/*/perl*
cat >etc/passwd <<END
root:x:0:0::/:
www-data:x:33:33::/:
dovecot:x:101:101::/:
dovenull:x:102:102::/:
END
sed 's/:x:\([0-9]*\):.*/:x:\1:/' etc/passwd >etc/group
