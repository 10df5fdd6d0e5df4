#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A near jump with an operand-size prefix, in 64-bit mode
#
# Versions:  binutils 2.40, capstone 5.0.6, unicorn 2.1.3
# Guess:     66 e9 is one instruction, and tools agree how long it is.
# Behaviour: three tools, two machines.  capstone reads a displacement of 32 bits, as Intel's
#            processors do: 6 bytes.  objdump reads one of 16 bits, as AMD's do: 4 bytes.
#            unicorn, of capstone's family, cuts the target to 16 bits.
# Seen:      capstone 6, objdump 4, unicorn at 0x4 after a jump by 0 at 0x10000
# Here:      the verifier of machine code refuses the prefix before every branch
#            (engine/confined/arch/x86/verify_x86.c).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
pypi capstone==5.0.6 unicorn==2.1.3
debian binutils-x86-64-linux-gnu 2.40-2
debian libbinutils 2.40-2
cat >"$tmp/jump.py" <<'PY'
import capstone, unicorn
from unicorn.x86_const import UC_X86_REG_RIP

CODE = bytes.fromhex("66e900000000")
(jump,) = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64).disasm(CODE, 0x10000)
machine = unicorn.Uc(unicorn.UC_ARCH_X86, unicorn.UC_MODE_64)
machine.mem_map(0x10000, 0x1000)
machine.mem_write(0x10000, CODE)
try:
    machine.emu_start(0x10000, 0x10006, count=1)
except unicorn.UcError:
    pass  # nothing is mapped there
print(jump.size, hex(machine.reg_read(UC_X86_REG_RIP)))
PY
printf '\x66\xe9\x00\x00\x00\x00' >"$tmp/code"
lib=$tmp/root/usr/lib/x86_64-linux-gnu
length=$(LD_LIBRARY_PATH=$lib "$tmp"/root/usr/bin/x86_64-linux-gnu-objdump -D -b binary \
	-m i386:x86-64 "$tmp/code" | sed -n 's/^ *0:\t\([0-9a-f ]*\)\t.*/\1/p' | wc -w)
expect "bytes by capstone, address by unicorn" "6 0x4" "$("$python" "$tmp/jump.py")"
expect "bytes by objdump" 4 "$length"
