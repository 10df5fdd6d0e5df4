#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Variadic functions in clang's BPF back end
#
# Versions:  clang 14.0.6
# Guess:     BPF has no variadic calls, so the compiler refuses them.
# Behaviour: it refuses to compile a function with `...`, but calls of one compile without a
#            warning, with the arguments in r1 to r5 like any others; what is called finds
#            no list of arguments.
# Seen:      definition: error; call: status 0, no output
# Here:      cosy's plugin looks at every call: it refuses variadic functions, and passes open()
#            the mode that a call left out (cosy/plugin/subset.cpp).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
clang 14 1:14.0.6-12
cat >"$tmp/call.c" <<'C'
extern int print(const char *format, ...);
int call(int a, int b) { return print("%d %d", a, b); }
C
echo 'int print(const char *format, ...) { return *format; }' >"$tmp/define.c"
compiled() {
	"$clang" -target bpf -O2 -Wall -Wextra -c "$tmp/$1.c" -o "$tmp/$1.o" 2>&1 &&
		echo "compiled"
}
expect "a call" compiled "$(compiled call)"
expect "a definition" "error" "$(compiled define | grep -om1 error)"
