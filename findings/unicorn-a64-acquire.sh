#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Unaligned loads that acquire, in unicorn
#
# Versions:  unicorn 2.1.1, whose processor is a Cortex-A72
# Guess:     ldar at an address that is not a multiple of its size faults, as ldxr does: this
#            processor has no FEAT_LSE2.
# Behaviour: ldxr faults, ldar and stlr are executed.
# Seen:      an interrupt of ldxr, none of ldar and stlr
# Here:      the check of addresses before atomic accesses is tested by our interpreter's
#            results, not by an emulator's faults.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
pypi unicorn==2.1.1
cat >"$tmp/load.py" <<'PY'
import sys
from unicorn import UC_ARCH_ARM64, UC_HOOK_INTR, UC_MODE_ARM, Uc
from unicorn.arm64_const import UC_ARM64_REG_X1

CODE, DATA = 0x10000, 0x20000
machine = Uc(UC_ARCH_ARM64, UC_MODE_ARM)
machine.mem_map(CODE, 4096)
machine.mem_map(DATA, 4096)
machine.mem_write(CODE, bytes.fromhex(sys.argv[1])[::-1])
machine.reg_write(UC_ARM64_REG_X1, DATA + 1)
faults = []
machine.hook_add(UC_HOOK_INTR, lambda machine, number, _: (faults.append(number), machine.emu_stop()))
machine.emu_start(CODE, CODE + 4, count=1)
print("faults" if faults else "executed")
PY
load() { "$python" "$tmp/load.py" "$1"; }
expect "ldxr x0, [x1]" faults "$(load c85f7c20)"
expect "ldar x0, [x1]" executed "$(load c8dffc20)"
expect "stlr x0, [x1]" executed "$(load c89ffc20)"
