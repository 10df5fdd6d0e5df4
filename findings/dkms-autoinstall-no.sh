#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# AUTOINSTALL="no" in dkms.conf
#
# Versions:  dkms 3.0.10
# Guess:     the module is not built by `dkms autoinstall`.
# Behaviour: any value that is not empty means yes.
# Seen:      with "no" it is to be built (and this kernel's headers are missed); without the
#            line it is left alone, status 0
# Here:      our dkms.conf says AUTOINSTALL="yes" or has no such line.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || { echo "dkms wants root: sudo $0" >&2; exit 2; }
debian dkms 3.0.10-8+deb12u1
mkdir -p "$tmp/src/odd-1" "$tmp/tree" "$tmp/install"
touch "$tmp/src/odd-1/odd.c"

# state LINE: whether autoinstall wants to build the module, with LINE in its dkms.conf.
state() {
	local dkms=("$tmp/root/usr/sbin/dkms" --dkmstree "$tmp/tree" --sourcetree "$tmp/src"
		--installtree "$tmp/install" --no-depmod)

	cat >"$tmp/src/odd-1/dkms.conf" <<-CONF
		PACKAGE_NAME=odd
		PACKAGE_VERSION=1
		BUILT_MODULE_NAME[0]=odd
		DEST_MODULE_LOCATION[0]=/extra
		$1
	CONF
	rm -rf "$tmp/tree/odd"
	"${dkms[@]}" add odd/1 >"$tmp/said" 2>&1
	if "${dkms[@]}" autoinstall -k 1.2.3 >"$tmp/said" 2>&1; then
		echo left
	else
		grep -o "kernel headers for kernel 1.2.3 cannot be found" "$tmp/said"
	fi
}
expect 'AUTOINSTALL="no"' "kernel headers for kernel 1.2.3 cannot be found" \
	"$(state 'AUTOINSTALL="no"')"
expect "no line AUTOINSTALL" left "$(state '')"
