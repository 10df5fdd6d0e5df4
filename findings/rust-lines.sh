#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# How Rust writes lines to a pipe
#
# Versions:  rustc 1.63.0, strace 6.1
# Guess:     in blocks, as C, Python and Java do where standard output is no terminal.
# Behaviour: println!() writes each line by a call of its own, to pipes and files, too.
# Seen:      100 lines: 100 calls of write
# Here:      traces of Rust programs have many short writes, which consolidate finds; a
#            BufWriter saves more than a script.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
rust
debian strace 6.1-0.1
echo 'fn main() { for i in 0..100 { println!("{i}"); } }' >"$tmp/lines.rs"
"${rustc[@]}" -o "$tmp/lines" "$tmp/lines.rs"
"$tmp/root/usr/bin/strace" -o "$tmp/trace" -e trace=write "$tmp/lines" | cat >"$tmp/out"
expect "lines, calls" "100 100" "$(wc -l <"$tmp/out") $(grep -c '^write(1,' "$tmp/trace")"
