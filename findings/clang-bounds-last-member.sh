#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# clang's -fsanitize=bounds and the last array of a structure
#
# Versions:  clang 19.1.7
# Guess:     an index of an array whose size is in its declaration is checked.
# Behaviour: not where the array is the last member of a structure: of whatever size, it is
#            taken for one that goes on behind the structure, unless -fstrict-flex-arrays
#            (1 to 3, 0 by default) says which sizes do.
# Seen:      int a[8] in the middle: 1 check; last: 0; with -fstrict-flex-arrays=1, 2, 3: 1
# Here:      cosy-cc(1) gives both options together.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
clang 19 1:19.1.7-3~deb12u1
cat >"$tmp/a.c" <<'C'
struct middle { int a[8], end; };
struct last { int begin, a[8]; };
int middle(struct middle *s, unsigned int i) { return s->a[i]; }
int last(struct last *s, unsigned int i) { return s->a[i]; }
C

# checks FUNCTION OPTION...: comparisons that end in a trap.
checks() {
	local function=$1

	shift
	"$clang" -O1 -fsanitize=bounds -fsanitize-trap=bounds \
		"$@" -S -emit-llvm -o - "$tmp/a.c" |
		sed -n "/@$function(/,/^}/p" | grep -c 'call void @llvm.ubsantrap' || true
}
expect "int a[8] in the middle" 1 "$(checks middle)"
expect "int a[8] at the end" 0 "$(checks last)"
for level in 1 2 3; do
	expect "int a[8] at the end, -fstrict-flex-arrays=$level" 1 \
		"$(checks last "-fstrict-flex-arrays=$level")"
done
