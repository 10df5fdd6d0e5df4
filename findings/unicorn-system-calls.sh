#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# System calls and repeated instructions in unicorn
#
# Versions:  unicorn 2.1.3
# Guess:     an emulator without a kernel ends at `syscall` with an error, as it does at int3
#            and ud2; a code hook is called once an instruction.
# Behaviour: without a hook `syscall` does nothing and the program goes on; so does hlt.
#            A code hook is called once for each repetition of `rep stosb`, and once more.
# Seen:      syscall: no error, rax unchanged; rep stosb with rcx 5: 6 calls
# Here:      the proof's model is compared with unicorn on accepted instructions only, and the
#            verifier accepts neither.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
pypi unicorn==2.1.3
cat >"$tmp/hooks.py" <<'PY'
import unicorn
from unicorn.x86_const import UC_X86_REG_RAX, UC_X86_REG_RCX, UC_X86_REG_RDI

def run(code, hook=None):
    machine = unicorn.Uc(unicorn.UC_ARCH_X86, unicorn.UC_MODE_64)
    machine.mem_map(0x1000, 0x2000)
    machine.mem_write(0x1000, bytes.fromhex(code))
    machine.reg_write(UC_X86_REG_RAX, 39)
    machine.reg_write(UC_X86_REG_RCX, 5)
    machine.reg_write(UC_X86_REG_RDI, 0x2000)
    if hook:
        machine.hook_add(unicorn.UC_HOOK_CODE, hook)
    try:
        machine.emu_start(0x1000, 0x1000 + len(code) // 2)
    except unicorn.UcError:
        return "error"
    return machine.reg_read(UC_X86_REG_RAX)

called = []
run("f3aa", lambda *_: called.append(1))
print(run("0f05"), run("f4"), run("cc"), run("0f0b"), len(called))
PY
expect "syscall, hlt, int3, ud2, hooks of rep stosb" "39 39 error error 6" \
	"$("$python" "$tmp/hooks.py")"
