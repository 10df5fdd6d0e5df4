#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Division by zero and long shifts in SMT, BPF and x86
#
# Versions:  z3-solver 4.15.3.0
# Guess:     what a machine leaves undefined, the solver leaves open; a model of BPF may use
#            its operators as they are.
# Behaviour: bit vectors are total, and otherwise than BPF: x / 0 is all ones (BPF: 0), a
#            shift by the width or more is 0 (BPF and x86 take the amount modulo the width).
# Seen:      5 / 0 = 4294967295, 5 % 0 = 5, 5 << 33 = 0 in 32 bits; BPF: 0, 5, 10
# Here:      a model of BPF or x86 masks amounts, and asks for the divisor, by itself
#            (tests/confined/model.py).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
pypi z3-solver==4.15.3.0
cat >"$tmp/total.py" <<'PY'
from z3 import BitVecVal, UDiv, URem, simplify

five, zero = BitVecVal(5, 32), BitVecVal(0, 32)
print(*map(simplify, (UDiv(five, zero), URem(five, zero), five << BitVecVal(33, 32))))
PY
expect "5 / 0, 5 % 0, 5 << 33" "4294967295 5 0" "$("$python" "$tmp/total.py")"
