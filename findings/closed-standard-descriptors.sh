#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# Programs of four languages, started with standard input and output closed
#
# Versions:  rustc 1.63.0, Go 1.19.8, Python 3.11, glibc 2.36
# Guess:     the first file that a program opens becomes descriptor 0, in every language.
# Behaviour: so it is in C and Python.  Rust opens /dev/null for what is closed before
#            main() runs.  Debian 12's Go does not; newer ones do (seen with Go 1.26).
# Seen:      the first file is 3 in Rust, 0 in the three others
# Here:      a library in a C or Python program must move its descriptors to 3 or more
#            (core/user/sys.h).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
rust
debian golang-1.19-go 1.19.8-2
debian golang-1.19-src 1.19.8-2
cat >"$tmp/first.rs" <<'RUST'
use std::{env, fs::File, io::Write, os::unix::io::AsRawFd};

fn main() {
    let mut file = File::create(env::args().nth(1).unwrap()).unwrap();
    let number = file.as_raw_fd();
    writeln!(file, "{number}").unwrap();
}
RUST
cat >"$tmp/first.go" <<'GO'
package main

import (
	"fmt"
	"os"
)

func main() {
	file, _ := os.Create(os.Args[1])
	fmt.Fprintln(file, file.Fd())
}
GO
cat >"$tmp/first.c" <<'C'
#include <stdio.h>

int main(int argc, char **argv)
{
	FILE *file = fopen(argv[argc - 1], "w");

	fprintf(file, "%d\n", fileno(file));
	return fclose(file);
}
C
cat >"$tmp/first.py" <<'PY'
import sys

with open(sys.argv[1], "w") as file:
    print(file.fileno(), file=file)
PY
"${rustc[@]}" -o "$tmp/rust" "$tmp/first.rs"
GOROOT=$tmp/root/usr/lib/go-1.19 GOCACHE=$tmp/cache GOFLAGS=-mod=mod \
	"$tmp/root/usr/lib/go-1.19/bin/go" build -o "$tmp/go" "$tmp/first.go"
gcc -o "$tmp/c" "$tmp/first.c"

# first COMMAND...: the number of the first file that it opens.
first() {
	"$@" "$tmp/number" <&- >&-
	cat "$tmp/number"
}
expect "first file in C" 0 "$(first "$tmp/c")"
expect "first file in Python" 0 "$(first python3 "$tmp/first.py")"
expect "first file in Go" 0 "$(first "$tmp/go")"
expect "first file in Rust" 3 "$(first "$tmp/rust")"
