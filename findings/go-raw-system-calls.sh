#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A sleep by Go's syscall.RawSyscall()
#
# Versions:  Go 1.19.8 (the same with Go 1.26)
# Guess:     a thread in a system call is left alone: a sleep of 0.3 s ends after 0.3 s, by
#            Syscall() and by RawSyscall().
# Behaviour: by RawSyscall() the scheduler takes the goroutine for one that computes, and sends
#            SIGURG, 10 ms later or more, to make way for others: EINTR.
# Seen:      Syscall: 0; RawSyscall: EINTR
# Here:      the Go binding calls the library by cgo, which is as Syscall() is: a script would
#            end with -EINTR as soon as a signal is pending.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
debian golang-1.19-go 1.19.8-2
debian golang-1.19-src 1.19.8-2
cat >"$tmp/sleep.go" <<'GO'
package main

import (
	"fmt"
	"syscall"
	"time"
	"unsafe"
)

func main() {
	for i := 0; i < 4; i++ {
		go func() {
			for {
			}
		}()
	}
	time.Sleep(20 * time.Millisecond)
	span := syscall.NsecToTimespec(int64(300 * time.Millisecond))
	at := uintptr(unsafe.Pointer(&span))
	_, _, called := syscall.Syscall(syscall.SYS_NANOSLEEP, at, 0, 0)
	_, _, raw := syscall.RawSyscall(syscall.SYS_NANOSLEEP, at, 0, 0)
	fmt.Println(int(called), raw == syscall.EINTR)
}
GO
GOROOT=$tmp/root/usr/lib/go-1.19 GOCACHE=$tmp/cache GOFLAGS=-mod=mod \
	"$tmp/root/usr/lib/go-1.19/bin/go" build -o "$tmp/sleep" "$tmp/sleep.go"
expect "errno of Syscall(), whether RawSyscall() was interrupted" "0 true" "$("$tmp/sleep")"
