#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# "%#g" of a number that rounds up to the next power of ten
#
# Versions:  glibc 2.36, called by mawk 1.3.4
# Guess:     "#" keeps trailing zeros, as C says: 999999.5 is "1.00000e+06", as 1000000 is.
# Behaviour: where rounding makes the number of digits before the point one more, and so takes
#            it to the form with an exponent, the zeros are missing; the point stays.
# Seen:      1.e+06 for 999999.5, 1.00000e+06 for 1000000
# Here:      scripts print 1.00000e+06 on both engines, by code that is not glibc's; where a test
#            compares with glibc, such a number is no fault of theirs (tests/lua/format_float.lua).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
debian mawk 1.3.4.20200120-3.1
debian libc6 2.36-9+deb12u14
libraries=$(dirname "$tmp"/root/lib/x86_64-linux-gnu/libc.so.6)

printed() {
	"$libraries/ld-linux-x86-64.so.2" --library-path "$libraries" "$tmp/root/usr/bin/mawk" \
		"BEGIN { printf \"$1\", $2 }"
}

expect "%#g of 1000000" 1.00000e+06 "$(printed %#g 1000000)"
expect "%#g of 999999.5" 1.e+06 "$(printed %#g 999999.5)"
expect "%#.5e of 999999.5" 1.00000e+06 "$(printed %#.5e 999999.5)"
