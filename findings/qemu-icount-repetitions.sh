#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What `rep stosb` costs under QEMU's -icount
#
# Versions:  qemu-system-x86 7.2
# Guess:     -icount counts instructions: a `rep stosb` is one, however many bytes it clears.
# Behaviour: each repetition counts.  By the guest's clock, which is the count, clearing 4,096
#            bytes takes as long as 4,096 instructions.
# Seen:      with shift=0, where an instruction is 1 ns: 4,096 ns more than for none
# Here:      instruction counts of guests are fair only where the kernel does not clear pages by
#            such instructions: init_on_alloc=0, and processors without erms and fsrm.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
emulator
# A boot sector.  It reads the counter of time stamps, which is the guest's clock, before and
# after the instruction, sends the difference to the debug console, and ends QEMU.
cat >"$tmp/boot.s" <<'S'
	.code16
	xor	%ax, %ax
	mov	%ax, %es
	mov	$0x8000, %di
	rdtsc
	mov	%eax, %esi
	mov	$COUNT, %cx
	rep stosb
	rdtsc
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

# took COUNT: ns from before to after it.
took() {
	as --32 --defsym "COUNT=$1" -o "$tmp/boot.o" "$tmp/boot.s"
	objcopy -O binary -j .text "$tmp/boot.o" "$tmp/boot.bin"
	"$qemu" -accel tcg -icount shift=0 -cpu max -display none -nodefaults -no-reboot \
		-drive "file=$tmp/boot.bin,format=raw" -device isa-debug-exit,iobase=0xf4 \
		-debugcon "file:$tmp/said" || true
	od -An -tu4 -N4 "$tmp/said" | tr -d ' '
}
none=$(took 0)
many=$(took 4096)
expect "ns of a repetition" 1 $(((many - none + 2048) / 4096))
