#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Operators in assembler
#
# Versions:  GNU as 2.40, clang 14.0.6
# Guess:     an expression of C means the same in assembler, so a header's constants can be used
#            in both.
# Behaviour: | and & come before + and -, << as early as *; what is true is -1; >> fills with
#            zeros, and a negative number has 64 bits. clang's assembler agrees.
# Seen:      1 + 1 | 2 is 4, C's 2; 3 - 1 & 1 is 2, C's 0; 1 << 2 + 3 is 7, C's 32; 2 == 2 is -1;
#            -8 >> 62 is 3, C's -1
# Here:      expressions in assembler have parentheses around each operator
#            (safety/kgcc/enter.S).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
debian binutils-x86-64-linux-gnu 2.40-2
debian libbinutils 2.40-2
clang 14 1:14.0.6-12
export LD_LIBRARY_PATH=$LD_LIBRARY_PATH:$tmp/root/usr/lib/x86_64-linux-gnu

expressions=("1 + 1 | 2" "3 - 1 & 1" "1 << 2 + 3" "2 == 2" "-8 >> 62")
printf '\t.quad %s\n' "${expressions[@]}" >"$tmp/numbers.s"
{
	printf '#include <stdio.h>\nint main(void)\n{\n'
	printf '\tprintf("%%ld ", (long)(%s));\n' "${expressions[@]//-8/-8L}"
	printf '}\n'
} >"$tmp/numbers.c"

# numbers FILE: what .quad has written.
numbers() {
	"$tmp/root/usr/bin/x86_64-linux-gnu-objcopy" -O binary -j .text "$1" "$tmp/text"
	od -An -v -t d8 -w8 "$tmp/text" | tr -s ' \n' ' ' | sed 's/^ //'
}

"$tmp/root/usr/bin/x86_64-linux-gnu-as" -o "$tmp/gnu.o" "$tmp/numbers.s"
"$clang" -c -o "$tmp/clang.o" "$tmp/numbers.s"
gcc -w -o "$tmp/numbers" "$tmp/numbers.c"
expect "GNU as" "4 2 7 -1 3 " "$(numbers "$tmp/gnu.o")"
expect "clang's assembler" "4 2 7 -1 3 " "$(numbers "$tmp/clang.o")"
expect "C" "2 0 32 1 -1 " "$("$tmp/numbers")"
