#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# ccache and clang's -fpass-plugin
#
# Versions:  ccache 4.7.5 (4.8+really4.7.5-1), clang 14.0.6
# Guess:     a compiler's plugin is a part of the compiler: when it changes, ccache compiles again.
# Behaviour: so it is for -fplugin, but -fpass-plugin is to ccache an option like others: of
#            the plugin it knows the path. What another version of the plugin made is taken
#            from the cache, object and messages.
# Seen:      -fplugin: second; -fpass-plugin: first
# Here:      cosy-cc, which is clang with such a plugin, tells ccache to stay out: where
#            /usr/lib/ccache is first in PATH, its clang is ccache.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
debian ccache 4.8+really4.7.5-1
debian libhiredis0.14 0.14.1-3
clang 14 1:14.0.6-12
export CCACHE_DIR=$tmp/cache
echo 'int one(void) { return 1; }' >"$tmp/one.c"

# A plugin that says its name where it is loaded, and does nothing.
plugin() {
	cat >"$tmp/plugin.c" <<C
#include <stdint.h>
#include <stdio.h>
struct info { uint32_t version; const char *name, *release; void (*extend)(void *); };
static void nothing(void *builder) { }
struct info llvmGetPassPluginInfo(void)
{
	return (struct info){ 1, "$1", "1", nothing };
}
__attribute__((constructor)) static void say(void) { fputs("$1\n", stderr); }
C
	cc -shared -fPIC -o "$tmp/plugin.so" "$tmp/plugin.c"
}

# ends OPTION: which plugin a compilation meets, after one with another plugin of that path.
ends() {
	for name in first second; do
		plugin "$name"
		"$tmp/root/usr/bin/ccache" "$clang" "$1=$tmp/plugin.so" -c "$tmp/one.c" \
			-o "$tmp/one.o" 2>"$tmp/said"
	done
	cat "$tmp/said"
}
expect "-fplugin, replaced" second "$(ends -fplugin)"
expect "-fpass-plugin, replaced" first "$(ends -fpass-plugin)"
