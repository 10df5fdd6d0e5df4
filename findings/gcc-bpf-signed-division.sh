#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Signed division by GCC for BPF
#
# Versions:  gcc-bpf 12.2.0
# Guess:     BPF has no signed division before version 4: GCC refuses it, as clang 14 does.
# Behaviour: it compiles it, in silence, to a call of a function of GCC's run-time library,
#            which is not there for BPF: who loads the object has to find out.
# Seen:      call __divdi3 and call __moddi3, status 0
# Here:      cosy takes clang; the loader of objects names the symbol that it does not find.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
debian gcc-bpf 12.2.0-14+deb12u1+
cat >"$tmp/division.c" <<'C'
long quotient(long a, long b) { return a / b; }
long rest(long a, long b) { return a % b; }
C
"$tmp/root/usr/bin/bpf-gcc" -B "$tmp"/root/usr/lib/gcc/bpf/*/ -O2 -S -o "$tmp/division.s" \
	"$tmp/division.c"
expect "calls" "__divdi3 __moddi3" "$(sed -n 's/^\tcall\t//p' "$tmp/division.s" | xargs)"
