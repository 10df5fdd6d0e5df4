#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Bare constants in GCC's inline assembler
#
# Versions:  gcc 12.2.0, for x86-64 and for A64
# Guess:     "%c0" prints any constant that the constraint "i" takes, without the "$" of x86, as
#            generators of tables from C's constants use it (->NAME %c0).
# Behaviour: for x86-64 only constants of 32 bits, signed; any other is an error that speaks of
#            condition codes, though "%0" prints it. For A64 there is no such bound.
# Seen:      2147483647 on both; 2147483648: "operand is not a condition code" and 2147483648
# Here:      tools/gen-constants has the compiler print each constant in two halves.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
debian cpp-12 12.2.0-14+deb12u1
debian cpp-12-aarch64-linux-gnu 12.2.0-14cross1
debian libisl23 0.25-1.1
debian libmpc3 1.3.1-1
debian libmpfr6 4.2.0-1
debian libgmp10 2:6.2.1+dfsg1-1.1
export LD_LIBRARY_PATH=$tmp/root/usr/lib/x86_64-linux-gnu

# printed COMPILER OPERAND CONSTANT: what the compiler prints, or the error's words.
printed() {
	echo "void f(void) { asm volatile(\"-> $2\" :: \"i\"($3)); }" >"$tmp/constant.c"
	"$tmp/root/usr/lib/$1/12/cc1" -quiet -o - "$tmp/constant.c" 2>&1 |
		sed -n 's/^\t*-> //p; s/.*\(operand is not a [a-z ]*\),.*/\1/p'
}

x86=gcc/x86_64-linux-gnu
a64=gcc-cross/aarch64-linux-gnu
expect "x86-64, bare, 31 bits" 2147483647 "$(printed $x86 %c0 0x7fffffffL | head -n 1)"
expect "x86-64, bare, 32 bits" "operand is not a condition code" \
	"$(printed $x86 %c0 0x80000000L | head -n 1)"
expect "x86-64, with the sign of constants" "\$2147483648" \
	"$(printed $x86 %0 0x80000000L | head -n 1)"
expect "A64, bare, 32 bits" 2147483648 "$(printed $a64 %c0 0x80000000L | head -n 1)"
