#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Registers that clang's -fzero-call-used-regs=all clears in code for general registers only
#
# Versions:  clang 19.1.7, gcc 12.2.0
# Guess:     a register that the code may not use, by -mgeneral-regs-only or -mno-80387, is not
#            cleared either: so it is with gcc, and for SSE's with clang.
# Behaviour: clang pushes eight zeros to the x87 stack and pops them at each return of a function.
#            In a kernel these are a process's registers.
# Seen:      of 16 instructions for x87 without an option: gcc 0, clang 16; for SSE: 0, 0
# Here:      the module's flags are the kernel's, which clears general registers (used-gpr) at most;
#            cosy-cc compiles for BPF, which has no others.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
clang 19 1:19.1.7-3~deb12u1
debian cpp-12 12.2.0-14+deb12u1
debian libisl23 0.25-1.1
debian libmpc3 1.3.1-1
debian libmpfr6 4.2.0-1
debian libgmp10 2:6.2.1+dfsg1-1.1
gcc=$tmp/root/usr/lib/gcc/x86_64-linux-gnu/12/cc1
echo 'int f(int a) { return a + 1; }' >"$tmp/f.c"

# cleared WHICH COMPILER OPTION...: instructions that name these registers.
cleared() {
	local which=$1

	shift
	"$@" -O2 -fzero-call-used-regs=all -o "$tmp/f.s" "$tmp/f.c"
	grep -cE "$which" "$tmp/f.s" || true
}

x87='fldz|fstp'
expect "clang, x87" 16 "$(cleared $x87 "$clang" -S)"
expect "gcc, x87" 16 "$(cleared $x87 "$gcc" -quiet)"
expect "clang, x87, -mgeneral-regs-only" 16 "$(cleared $x87 "$clang" -S -mgeneral-regs-only)"
expect "clang, x87, -mno-80387" 16 "$(cleared $x87 "$clang" -S -mno-80387)"
expect "gcc, x87, -mgeneral-regs-only" 0 "$(cleared $x87 "$gcc" -quiet -mgeneral-regs-only)"
expect "clang, SSE, -mgeneral-regs-only" 0 "$(cleared xmm "$clang" -S -mgeneral-regs-only)"
expect "gcc, SSE, -mgeneral-regs-only" 0 "$(cleared xmm "$gcc" -quiet -mgeneral-regs-only)"
