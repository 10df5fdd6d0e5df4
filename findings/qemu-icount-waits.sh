#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# The clock of a guest under QEMU's `-icount sleep=off` that waits for its host
#
# Versions:  qemu-system-x86 7.2
# Guess:     the clock jumps only where the guest waits for nothing but time; while a device has
#            to bring something from the host it stands, or goes as the host's does, as without
#            sleep=off.
# Behaviour: whatever a halted guest waits for, its clock jumps to its next timer, and again: it
#            goes as fast as the host can serve timer interrupts.
# Seen:      of a PC whose timer ticks 18 times a second, while a byte for its serial port is two
#            seconds late: 450 s and more; 2 s without sleep=off
# Here:      what ages by the guest's clock is old after a request to the host: `make
#            test-filesystems` has no time limits for virtiofs and NFS, and a clock that stands
#            still for programs on 9p and virtiofs (apps/tests/still.c).

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
emulator
# A boot sector.  It says to the debug console that it waits, halts until the serial port has a
# byte, and sends the difference of the counter of time stamps, in 2^30 ns.
cat >"$tmp/boot.s" <<'S'
	.code16
	mov	$'w', %al
	outb	%al, $0xe9
	rdtsc
	shrd	$30, %edx, %eax
	mov	%eax, %esi
	mov	$0x3fd, %dx
	sti
1:	hlt
	inb	%dx, %al
	test	$1, %al
	jz	1b
	rdtsc
	shrd	$30, %edx, %eax
	sub	%esi, %eax
	mov	$4, %cx
1:	outb	%al, $0xe9
	shr	$8, %eax
	loop	1b
	outb	%al, $0xf4
	hlt
	.org	510
	.word	0xaa55
S
as --32 -o "$tmp/boot.o" "$tmp/boot.s"
objcopy -O binary -j .text "$tmp/boot.o" "$tmp/boot.bin"

# waited OPTION: s of the guest's clock for about two of the host's
waited() {
	: >"$tmp/said"
	{
		for _ in {1..300}; do [ -s "$tmp/said" ] || sleep 0.1; done
		sleep 2
		echo
	} | "$qemu" -accel tcg -icount "shift=0$1" -cpu max -display none -nodefaults -no-reboot \
		-drive "file=$tmp/boot.bin,format=raw" -device isa-debug-exit,iobase=0xf4 \
		-debugcon "file:$tmp/said" -serial stdio >"$tmp/out" || true
	od -An -tu4 -j1 -N4 "$tmp/said" | tr -d ' '
}
expect "s without sleep=off are at most 4" yes "$([ "$(waited "")" -le 4 ] && echo yes)"
expect "s with it are at least 20" yes "$([ "$(waited ,sleep=off)" -ge 20 ] && echo yes)"
