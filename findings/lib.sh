# SPDX-License-Identifier: GPL-2.0
# Shared by the scripts of this folder: packages of a pinned version in a temporary folder, and a
# comparison of a program's output with that when the finding was written.
#
# shellcheck shell=bash

set -euo pipefail
# Programs that are not fetched are Debian 12's: gcc 12.2, glibc 2.36, Python 3.11.2.
export PATH=/usr/bin:/usr/sbin:$PATH
if ! grep -qx VERSION_CODENAME=bookworm /etc/os-release; then
	echo "this is not Debian 12" >&2
	exit 2
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# debian NAME VERSION: unpacks a package of this machine's suite in $tmp/root.  Security
# updates replace versions: the newest is taken where the pinned one is gone, and named.
debian() {
	local package=$1 version=$2

	if ! (cd "$tmp" && apt-get download -qq "$package=$version") 2>"$tmp/said"; then
		(cd "$tmp" && apt-get download -qq "$package") 2>"$tmp/said" || {
			cat "$tmp/said" >&2
			echo "$package cannot be fetched: apt-get update" >&2
			exit 2
		}
		echo "note: $package $version is gone, newest taken" >&2
	fi
	dpkg -x "$tmp/$package"_*.deb "$tmp/root"
}

# clang N VERSION: that compiler, run by $clang, with the libraries that it needs.
clang() {
	local package

	for package in "clang-$1" "libclang-cpp$1" "libllvm$1" "libclang-common-$1-dev"; do
		debian "$package" "$2"
	done
	debian libz3-4 4.8.12-3.1
	export LD_LIBRARY_PATH=$tmp/root/usr/lib/x86_64-linux-gnu:$tmp/root/usr/lib/llvm-$1/lib
	# shellcheck disable=SC2034 # the scripts run it
	clang=$tmp/root/usr/lib/llvm-$1/bin/clang
}

# rust: Debian 12's compiler, run by $rustc.
rust() {
	debian rustc 1.63.0+dfsg1-2
	debian libstd-rust-1.63 1.63.0+dfsg1-2
	debian libstd-rust-dev 1.63.0+dfsg1-2
	debian libllvm14 1:14.0.6-12
	# shellcheck disable=SC2034 # the scripts run it
	rustc=(env "LD_LIBRARY_PATH=$tmp/root/usr/lib/x86_64-linux-gnu" "$tmp/root/usr/bin/rustc"
		--sysroot "$tmp/root/usr" -O)
}

# nftables: Debian 12's, run by $nft.
nftables() {
	debian nftables 1.0.6-2+deb12u2
	debian libnftables1 1.0.6-2+deb12u2
	debian libnftnl11 1.2.4-2
	debian libjansson4 2.14-2
	debian libmnl0 1.0.4-3
	debian libxtables12 1.8.9-2
	debian libedit2 3.1-20221030-2
	debian libbsd0 0.11.7-2
	export LD_LIBRARY_PATH=$tmp/root/usr/lib/x86_64-linux-gnu
	# shellcheck disable=SC2034 # the scripts run it
	nft=$tmp/root/usr/sbin/nft
}

# pypi NAME==VERSION...: a virtual environment with it, run by $python.
pypi() {
	python3 -m venv "$tmp/venv"
	"$tmp/venv/bin/pip" install -q --no-cache-dir --disable-pip-version-check "$@"
	# shellcheck disable=SC2034 # the scripts run it
	python=$tmp/venv/bin/python
}

# crate NAME VERSION: a copy of the crate's sources in $tmp/NAME.
crate() {
	command -v cargo >/dev/null || { echo "no cargo: apt-get install cargo" >&2; exit 2; }
	mkdir -p "$tmp/cargo/src"
	touch "$tmp/cargo/src/lib.rs"
	printf '[package]\nname = "user"\nversion = "1.0.0"\n[dependencies]\n%s = "=%s"\n' \
		"$1" "$2" >"$tmp/cargo/Cargo.toml"
	(cd "$tmp/cargo" && CARGO_HOME=$tmp/home cargo fetch -q)
	mv "$tmp"/home/registry/src/*/"$1-$2" "$tmp/$1"
}

# emulator: this machine's QEMU, which has to be Debian 12's, in $qemu.
emulator() {
	if ! qemu=$(command -v qemu-system-x86_64); then
		echo "no qemu-system-x86_64: apt-get install qemu-system-x86" >&2
		exit 2
	fi
	if [[ $("$qemu" --version) != *" version 7.2."* ]]; then
		echo "$qemu is not version 7.2" >&2
		exit 2
	fi
}

# expect WHAT WANT GOT: fails if a behaviour is no longer as it was seen.
expect() {
	if [ "$2" = "$3" ]; then
		printf 'still so: %s: %s\n' "$1" "$3"
	else
		printf 'changed: %s\n  was: %s\n  is:  %s\n' "$1" "$2" "$3" >&2
		exit 1
	fi
}
