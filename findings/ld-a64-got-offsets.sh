#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# GOT entries of A64 for local symbols
#
# Versions:  GNU binutils 2.40
# Guess:     code that loads the addresses of two local symbols from the GOT, as GCC's does with
#            -fPIC for symbols of an asm(), loads two addresses, as on x86-64.
# Behaviour: the assembler names the section plus an offset, and the linker makes one entry for the
#            section, without the offset, in silence.
# Seen:      both loads are of one entry, which has the first address
# Here:      such symbols are declared hidden, so that no GOT is used (apps/memcached): memcached's
#            scripts were empty on arm64.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
for package in binutils-aarch64-linux-gnu binutils-common; do
	debian $package 2.40-2
done
debian libjansson4 2.14-2
export LD_LIBRARY_PATH=$tmp/root/usr/lib/x86_64-linux-gnu
tools=$tmp/root/usr/bin/aarch64-linux-gnu
cat >"$tmp/two.s" <<'S'
.section .rodata
first: .ascii "abc"
second:
.text
.globl _start
_start:
ldr x0, [x0, :got_lo12:first]
ldr x1, [x1, :got_lo12:second]
S
"$tools-as" -o "$tmp/two.o" "$tmp/two.s"
"$tools-ld" -o "$tmp/two" "$tmp/two.o"
loads=$("$tools-objdump" -d "$tmp/two" | sed -n 's/.*\[x[01], #\(.*\)\]/\1/p')
expect "loads" 2 "$(wc -l <<<"$loads")"
expect "entries that are loaded" 1 "$(sort -u <<<"$loads" | wc -l)"
