#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Enumerators of more than 32 bits in GCC's BTF
#
# Versions:  gcc 12.2.0, clang 19.1.7
# Guess:     a format without room for a value is given up with a message, or the value is cut.
# Behaviour: the enumerator is left out, without a warning; its type has 8 bytes and the others.
#            clang writes a kind of type that came later, ENUM64, which has room for it.
# Seen:      of SMALL = 1 and LARGE = 1 << 40: gcc 6 SMALL=1, clang 19 SMALL=1 LARGE=1099511627776
# Here:      nothing takes constants from BTF: tools/gen-constants has the compiler print them, and
#            a program for subsystems is compiled by clang.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
clang 19 1:19.1.7-3~deb12u1
cat >"$tmp/enum.c" <<'C'
enum large { SMALL = 1, LARGE = 1UL << 40 } value;
C
cat >"$tmp/btf.py" <<'PY'
"""Prints the kinds of enumerations in a file's BTF, and their enumerators."""
import struct
import sys

btf = open(sys.argv[1], "rb").read()
btf = btf[btf.index(b"\x9f\xeb\1\0") :]
head, types, size, strings = struct.unpack_from("<4xIIII", btf)
ENUM, ENUM64 = 6, 19
# Bytes after the head of a type: fixed, and for each of its members.
MORE = {1: (4, 0), 3: (12, 0), 4: (0, 12), 5: (0, 12), 6: (0, 8), 13: (0, 8), 14: (4, 0),
        15: (0, 12), 17: (4, 0), 19: (0, 12)}
at = head + types
while at < head + types + size:
    _, info, _ = struct.unpack_from("<III", btf, at)
    kind, members = info >> 24 & 31, info & 0xFFFF
    fixed, each = MORE.get(kind, (0, 0))
    at += 12
    if kind in (ENUM, ENUM64):
        found = [str(kind)]
        for n in range(members):
            name, low, *high = struct.unpack_from("<II" + "I" * (kind == ENUM64), btf, at + n * each)
            name = btf[head + strings + name :].split(b"\0")[0].decode()
            found.append(f"{name}={low | (high[0] << 32 if high else 0)}")
        print(*found)
    at += fixed + members * each
PY
gcc -Wall -Wextra -gbtf -c -o "$tmp/gcc.o" "$tmp/enum.c" 2>"$tmp/said"
expect "warnings of gcc" "" "$(cat "$tmp/said")"
expect "gcc's enumeration" "6 SMALL=1" "$(python3 "$tmp/btf.py" "$tmp/gcc.o")"
"$clang" -target bpf -g -c -o "$tmp/clang.o" "$tmp/enum.c"
expect "clang's enumeration" "19 SMALL=1 LARGE=1099511627776" \
	"$(python3 "$tmp/btf.py" "$tmp/clang.o")"
