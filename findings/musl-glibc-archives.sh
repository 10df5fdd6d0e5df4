#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Debian's static libraries in programs of musl
#
# Versions:  musl 1.2.3, gcc 12.2, liburing 2.3, zlib 1.2.13
# Guess:     an archive that was compiled against glibc's headers does not link with musl.
# Behaviour: musl has glibc's names of functions and layouts of structures, so all of liburing
#            does, and all of zlib but for two checked functions of -D_FORTIFY_SOURCE; a program
#            that uses neither links, and runs.
# Seen:      liburing: none missing; zlib: __snprintf_chk __vsnprintf_chk; crc32("123456789")
#            is cbf43926
# Here:      libsyscript.a links with musl as well: docs/sandboxes.md.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
debian musl-dev 1.2.3-1
debian liburing-dev 2.3-3
debian zlib1g-dev 1:1.2.13.dfsg-1
archives=$tmp/root/usr/lib/x86_64-linux-gnu
musl=$tmp/root/usr/lib/x86_64-linux-musl
cat >"$tmp/sum.c" <<'C'
int printf(const char *format, ...);
unsigned long crc32(unsigned long crc, const unsigned char *text, unsigned int len);

int main(void)
{
	return printf("%lx\n", crc32(0, (const unsigned char *)"123456789", 9)) < 0;
}
C

# link ARGUMENT...: a program of musl, $tmp/sum.
link() {
	gcc -static -nostdlib -o "$tmp/sum" "$tmp/sum.c" "$@" "$musl/crt1.o" "$musl/libc.a" -lgcc 2>&1
}

# missing ARCHIVE: what all of it needs and musl does not have, or "none".
missing() {
	if link -Wl,--whole-archive "$1" -Wl,--no-whole-archive "$archives/libz.a" >"$tmp/said"; then
		echo none
	else
		sed -n 's/.*undefined reference to .\(.*\)./\1/p' "$tmp/said" | sort -u | paste -sd' '
	fi
}
expect "missing for liburing" none "$(missing "$archives/liburing.a")"
expect "missing for zlib" "__snprintf_chk __vsnprintf_chk" "$(missing "$archives/libz.a")"
link "$archives/libz.a"
expect "a checksum by zlib" cbf43926 "$("$tmp/sum")"
