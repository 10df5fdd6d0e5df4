#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The registers that an instruction writes, by capstone
#
# Versions:  capstone 5.0.3
# Guess:     regs_access() has all registers that an instruction reads and writes, implicit
#            ones, too: rax and the flags for cmpxchg, rcx and r11 for syscall.
# Behaviour: it has those of div, cpuid and `rep movsb`, and none for cmpxchg and syscall.
#            For cmpxchg16b it has them.
# Seen:      cmpxchg reads rax, rdi, rcx, and writes nothing; syscall writes nothing
# Here:      `make prove` takes what an instruction writes from capstone as a lower bound only, and
#            what it does from a model that is compared with a processor and an emulator
#            (tests/confined/model.py).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
pypi capstone==5.0.3
cat >"$tmp/access.py" <<'PY'
import sys
import capstone

reader = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
reader.detail = True
(insn,) = reader.disasm(bytes.fromhex(sys.argv[1]), 0)
print(insn.mnemonic, *sorted(map(insn.reg_name, insn.regs_access()[1])))
PY
writes() { "$python" "$tmp/access.py" "$1"; }
expect "cmpxchg [rdi], rcx" cmpxchg "$(writes 480fb10f)"
expect "syscall" syscall "$(writes 0f05)"
expect "cmpxchg16b [rdi]" "cmpxchg16b rax rdx rflags" "$(writes 480fc70f)"
expect "div ecx" "div eax edx rflags" "$(writes f7f1)"
