#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What unicorn runs that a process cannot
#
# Versions:  unicorn 2.1.3
# Guess:     code in 64-bit mode runs as that of a process does: privileged and undefined
#            instructions, and accesses that are not aligned, end the run with an error.
# Behaviour: it runs at the highest privilege; a lock prefix before mov and movaps of an odd
#            address are accepted as well.  ud2 and int3 end it.
# Seen:      cli, in, rdmsr, `lock mov` and movaps run; ud2 and int3 do not
# Here:      `make prove` compares the effects of accepted instructions with unicorn; that
#            others are refused is the verifier's own, tested against a processor.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
pypi unicorn==2.1.3
cat >"$tmp/run.py" <<'PY'
import unicorn
from unicorn.x86_const import UC_X86_REG_RDI

CODE, DATA = 0x10000, 0x20000
INSTRUCTIONS = {
    "cli": "fa",
    "in": "ec",
    "rdmsr": "0f32",
    "lock mov": "f08907",
    "movaps": "0f2807",
    "ud2": "0f0b",
    "int3": "cc",
}


def runs(code):
    it = unicorn.Uc(unicorn.UC_ARCH_X86, unicorn.UC_MODE_64)
    it.mem_map(CODE, 0x1000)
    it.mem_map(DATA, 0x1000)
    it.mem_write(CODE, code)
    it.reg_write(UC_X86_REG_RDI, DATA + 1)
    try:
        it.emu_start(CODE, CODE + len(code))
    except unicorn.UcError:
        return False
    return True


print(*(name for name, code in INSTRUCTIONS.items() if runs(bytes.fromhex(code))), sep=", ")
PY
expect "runs" "cli, in, rdmsr, lock mov, movaps" "$("$python" "$tmp/run.py")"
