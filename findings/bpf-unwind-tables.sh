#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Tables for unwinding from LLVM's BPF back end
#
# Versions:  clang 19.1.7
# Guess:     BPF programs are never unwound: there is no .eh_frame, at the least not for
#            functions without the attribute uwtable.
# Behaviour: each function that is not marked nounwind gets an entry in .eh_frame, which is
#            loaded like data.
# Seen:      48 bytes for one function; none with nounwind
# Here:      cosy-cc leaves the section out of images: for Lua's runtime 19 KiB in each arena
#            (cosy/plugin/image.cpp).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
clang 19 1:19.1.7-3~deb12u1

# table ATTRIBUTES: the size of .eh_frame of a function with them, and its flags.
table() {
	printf 'declare i64 @g()\ndefine i64 @f() %s {\n%%x = call i64 @g()\nret i64 %%x\n}\n' "$1" >"$tmp/f.ll"
	"$clang" --target=bpf -O2 -Wno-override-module -c -o "$tmp/f.o" "$tmp/f.ll"
	readelf -SW "$tmp/f.o" | sed 's/\[ *//' | awk '$2 == ".eh_frame" { print "0x" $6, $8 }'
}
expect "size and flags of .eh_frame" "0x000030 A" "$(table '')"
expect "the same with nounwind" "" "$(table nounwind)"
