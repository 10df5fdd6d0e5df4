#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A call that Go makes in all threads, in a program that uses cgo
#
# Versions:  Go 1.19.8 (the same with Go 1.26)
# Guess:     syscall.AllThreadsSyscall() changes what each thread has its own of in all threads
#            of the program, those of C among them.
# Behaviour: in a program that imports "C" it does nothing and returns ENOTSUP, because it does
#            not know threads that C makes.
# Seen:      no_new_privs for all threads: 0; with cgo: ENOTSUP
# Here:      the Go binding is cgo: bindings/go/README.md says so.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
debian golang-1.19-go 1.19.8-2
debian golang-1.19-src 1.19.8-2

# said IMPORT: the errno in a program with that import.
said() {
	cat >"$tmp/all.go" <<-GO
		package main

		$1
		import (
			"fmt"
			"syscall"
		)

		const noNewPrivs = 38

		func main() {
			_, _, err := syscall.AllThreadsSyscall(syscall.SYS_PRCTL, noNewPrivs, 1, 0)
			fmt.Println(err == syscall.ENOTSUP, int(err))
		}
	GO
	GOROOT=$tmp/root/usr/lib/go-1.19 GOCACHE=$tmp/cache GOFLAGS=-mod=mod \
		"$tmp/root/usr/lib/go-1.19/bin/go" run "$tmp/all.go"
}
expect "without cgo: ENOTSUP, errno" "false 0" "$(said '')"
expect "with cgo" "true 95" "$(said 'import "C"')"
