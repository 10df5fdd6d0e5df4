#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The registers of A64's atomic instructions, by capstone
#
# Versions:  capstone 5.0.3
# Guess:     regs_access() has the registers that cas, swp and ldadd read and write, as it has
#            those of ldxr and stxr.
# Behaviour: it has the address alone.  It says of cmp that it writes a register, and of svc that
#            it writes lr.
# Seen:      swpal x0, x1, [x2] reads x2, and writes nothing
# Here:      a proof for A64 could take nothing from capstone without a list of its mistakes.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
pypi capstone==5.0.3
cat >"$tmp/access.py" <<'PY'
import sys
import capstone

reader = capstone.Cs(capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM)
reader.detail = True
(insn,) = reader.disasm(bytes.fromhex(sys.argv[1])[::-1], 0)
reads, writes = (sorted(map(insn.reg_name, names)) for names in insn.regs_access())
print(insn.mnemonic, *reads, "->", *writes)
PY
access() { "$python" "$tmp/access.py" "$1"; }
expect "cas x0, x1, [x2]" "cas x2 ->" "$(access c8a07c41)"
expect "swpal x0, x1, [x2]" "swpal x2 ->" "$(access f8e08041)"
expect "ldadd x0, x1, [x2]" "ldadd x2 ->" "$(access f8200041)"
expect "stxr w0, x1, [x2]" "stxr x1 x2 -> w0" "$(access c8007c41)"
expect "cmp x0, x1" "cmp x1 -> nzcv x0" "$(access eb01001f)"
expect "svc #0" "svc -> lr" "$(access d4000001)"
