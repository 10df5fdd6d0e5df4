#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# bpftrace's maps with many keys
#
# Versions:  bpftrace 0.17.0, Linux 6.18
# Guess:     a map grows, or bpftrace says that it is full, as it says that events were lost.
# Behaviour: a map has 4,096 keys. What comes later under other keys is lost, in silence: no
#            warning, status 0.
# Seen:      of 6,000 calls with as many arguments, counted by argument: 4,096
# Here:      the tests of what tracers see of scripts count by few keys
#            (tests/sensors/test_sensors.py); BPFTRACE_MAP_KEYS_MAX=10000 in the environment helps.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || { echo "bpftrace wants root: sudo $0" >&2; exit 2; }
debian bpftrace 0.17.0-1
debian libbpf1 1:1.1.2-0+deb12u1
debian libbpfcc 0.26.0+ds-1
debian libclang1-14 1:14.0.6-12
debian libllvm14 1:14.0.6-12
debian libdw1 0.188-2.1
debian libelf1 0.188-2.1
debian libz3-4 4.8.12-3.1
debian libedit2 3.1-20221030-2
debian libbsd0 0.11.7-2
export LD_LIBRARY_PATH=$tmp/root/usr/lib/x86_64-linux-gnu
cat >"$tmp/calls.c" <<'C'
__attribute__((noipa)) static int called(long n)
{
	return n != 0;
}

int main(void)
{
	for (long n = 0; n < 6000; n++)
		called(n);
	return 0;
}
C
gcc -o "$tmp/calls" "$tmp/calls.c"

# keys [VARIABLE=VALUE]: of bpftrace with that environment, and lines that speak of a full map or
# of losses
keys() {
	env "$@" "$tmp/root/usr/bin/bpftrace" -q -e "uprobe:$tmp/calls:called { @[arg0] = count(); }" \
		-c "$tmp/calls" >"$tmp/said" 2>&1
	echo "$(grep -c '^@\[' "$tmp/said") $(grep -Eci 'full|lost|update' "$tmp/said")"
}
expect "keys of 6,000, and complaints" "4096 0" "$(keys)"
expect "with room for 10,000" "6000 0" "$(keys BPFTRACE_MAP_KEYS_MAX=10000)"
