#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What Go's os.ReadFile() does to a regular file, and os to the limit of descriptors
#
# Versions:  Go 1.19.8
# Guess:     openat, fstat, read, read, close; and a program's limit is the shell's.
# Behaviour: each regular file is also added to an epoll instance, which refuses it with EPERM.
#            A program that imports os starts with the soft limit raised to the hard one.
# Seen:      openat, epoll_ctl -1 EPERM, fstat, read, read, close; 256 becomes 1024
# Here:      consolidate's sequences of such programs have a failing epoll_ctl in each; a script
#            that opens and reads a file does without.  The programs' "fewer than 32 free
#            descriptors" does not happen in Go by `ulimit -Sn`.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
debian golang-1.19-go 1.19.8-2
debian golang-1.19-src 1.19.8-2
debian strace 6.1-0.1
cat >"$tmp/read.go" <<'GO'
package main

import (
	"fmt"
	"os"
	"syscall"
)

func main() {
	var limit syscall.Rlimit
	syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit)
	fmt.Println(limit.Cur)
	os.ReadFile(os.Args[1])
}
GO
GOROOT=$tmp/root/usr/lib/go-1.19 GOCACHE=$tmp/cache GOFLAGS=-mod=mod \
	"$tmp/root/usr/lib/go-1.19/bin/go" build -o "$tmp/read" "$tmp/read.go"
echo text >"$tmp/file"
expect "a limit of 256 of 1024" 1024 "$(ulimit -Sn 256 && ulimit -Hn 1024 && "$tmp/read" "$tmp/file")"
"$tmp/root/usr/bin/strace" -qq -f -o "$tmp/trace" -e signal=none \
	-e trace=openat,epoll_ctl,newfstatat,fstat,read,close "$tmp/read" "$tmp/file" >"$tmp/said"
expect "calls for a file" "openat epoll_ctl=EPERM fstat read read close" \
	"$(sed -n "\\|\"$tmp/file\"|,\$p" "$tmp/trace" | grep -v '0xffffffffffffffff\|EPOLL_CTL_ADD.*) = 0' |
		sed -E 's/^[0-9]+ +(\w+)\(.* = (-1 (\w+).*|.*)$/\1=\3/; s/=$//; /exited/d' | paste -sd' ')"
