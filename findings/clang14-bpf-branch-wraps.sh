#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A branch of more than 32,767 instructions, by Debian 12's clang for BPF
#
# Versions:  clang 14.0.6
# Guess:     a BPF branch has 16 bits of distance: the compiler reports one that does not
#            reach, or makes two.
# Behaviour: it cuts the distance to 16 bits and exits with 0; the branch goes backward.
# Seen:      36,000 instructions of 0x8ca0: the branch's distance is -0x7360, status 0
# Here:      cosy takes clang 19 with -mcpu=v4, whose branches have 32 bits.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
clang 14 1:14.0.6-12
{
	echo 'long f(long c, volatile long *p) { if (c) {'
	printf '*p += 3;\n%.0s' {1..12000}
	echo '} return *p; }'
} >"$tmp/long.c"
"$clang" -target bpf -O2 -c -o "$tmp/long.o" "$tmp/long.c"
# The first instruction: code, registers, distance in 16 bits.
python3 - "$tmp/long.o" >"$tmp/branch" <<'PY'
import struct, sys

object_ = open(sys.argv[1], "rb").read()
(sections,) = struct.unpack_from("<Q", object_, 40)
for index in range(struct.unpack_from("<H", object_, 60)[0]):
    _, type_, flags, _, offset, size = struct.unpack_from("<IIQQQQ", object_, sections + 64 * index)
    if type_ == 1 and flags & 4 and size:
        code, _, distance = struct.unpack_from("<BBh", object_, offset)
        print(f"0x{code:02x} {distance} of {size // 8}")
PY
expect "first instruction, its distance, instructions" "0x15 -29536 of 36003" "$(cat "$tmp/branch")"
