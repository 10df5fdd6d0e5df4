# SPDX-License-Identifier: GPL-2.0
# Debian's PUC Lua 5.1 and LuaJIT.
#
# shellcheck shell=bash

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
debian lua5.1 5.1.5-9
debian liblua5.1-0 5.1.5-9
debian luajit 2.1.0~beta3+git20220320+dfsg-4.1+deb12u1
debian libluajit-5.1-2 2.1.0~beta3+git20220320+dfsg-4.1+deb12u1
export LD_LIBRARY_PATH=$tmp/root/usr/lib/x86_64-linux-gnu

# said PROGRAM: what each prints, in $puc and $luajit.
said() {
	# shellcheck disable=SC2034 # the scripts read both
	puc=$("$tmp/root/usr/bin/lua5.1" -e "$1" 2>&1) || true
	# shellcheck disable=SC2034
	luajit=$("$tmp/root/usr/bin/luajit" -e "$1" 2>&1) || true
}
