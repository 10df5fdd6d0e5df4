#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# rdtsc in unicorn, Valgrind and qemu-user
#
# Versions:  unicorn 2.1.1, valgrind 3.19, qemu-user 7.2
# Guess:     simulators count what they execute: the same program gets the same numbers.
# Behaviour: all three read the counter of the machine that they run on.
# Seen:      each value is between those that a program reads before and after
# Here:      instructions are counted by steps or by icount, never by time stamps.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
pypi unicorn==2.1.1
debian valgrind 1:3.19.0-1
debian qemu-user 1:7.2+dfsg-7+deb12u18+b3
cat >"$tmp/stamp.c" <<'C'
#include <stdio.h>
#include <x86intrin.h>

int main(void)
{
	return printf("%llu\n", __rdtsc()) < 0;
}
C
cat >"$tmp/stamp.py" <<'PY'
from unicorn import UC_ARCH_X86, UC_MODE_64, Uc
from unicorn.x86_const import UC_X86_REG_RAX, UC_X86_REG_RDX

machine = Uc(UC_ARCH_X86, UC_MODE_64)
machine.mem_map(0x1000, 4096)
machine.mem_write(0x1000, bytes.fromhex("0f31"))  # rdtsc
machine.emu_start(0x1000, 0x1002)
print(machine.reg_read(UC_X86_REG_RDX) << 32 | machine.reg_read(UC_X86_REG_RAX))
PY
gcc -O -o "$tmp/stamp" "$tmp/stamp.c"
gcc -O -static -o "$tmp/static" "$tmp/stamp.c"
export VALGRIND_LIB=$tmp/root/usr/libexec/valgrind
stamps=("$("$tmp/stamp")")
for run in "$python $tmp/stamp.py" "$tmp/root/usr/bin/valgrind -q $tmp/stamp" \
	"$tmp/root/usr/bin/qemu-x86_64 $tmp/static"; do
	# shellcheck disable=SC2086 # a command
	stamps+=("$($run)" "$("$tmp/stamp")")
done
expect "in order" yes "$(printf '%s\n' "${stamps[@]}" | sort -nuc 2>&1 && echo yes)"
