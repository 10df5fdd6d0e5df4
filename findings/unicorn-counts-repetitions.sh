#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What unicorn counts as an instruction
#
# Versions:  unicorn 2.1.3
# Guess:     `rep stosb` is one instruction: a limit of 10 runs it whole, a hook sees it once.
# Behaviour: each repetition counts, and one more that finds rcx at zero.
# Seen:      with rcx 100: 90 are left after a limit of 10; a hook is called 101 times
# Here:      counts of string instructions by unicorn are those of repetitions, as QEMU's
#            icount has them, and not a processor's.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
pypi unicorn==2.1.3
cat >"$tmp/count.py" <<'PY'
import unicorn
from unicorn.x86_const import UC_X86_REG_RCX, UC_X86_REG_RDI

CODE, DATA = 0x10000, 0x20000


def machine():
    it = unicorn.Uc(unicorn.UC_ARCH_X86, unicorn.UC_MODE_64)
    it.mem_map(CODE, 0x1000)
    it.mem_map(DATA, 0x1000)
    it.mem_write(CODE, bytes.fromhex("f3aa90"))  # rep stosb; nop
    it.reg_write(UC_X86_REG_RDI, DATA)
    it.reg_write(UC_X86_REG_RCX, 100)
    return it


limited = machine()
limited.emu_start(CODE, CODE + 2, count=10)
whole, seen = machine(), []
whole.hook_add(unicorn.UC_HOOK_CODE, lambda *_: seen.append(1))
whole.emu_start(CODE, CODE + 2)
print(limited.reg_read(UC_X86_REG_RCX), len(seen))
PY
expect "left after a limit of 10, calls of a hook" "90 101" "$("$python" "$tmp/count.py")"
