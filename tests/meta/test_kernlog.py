# SPDX-License-Identifier: GPL-2.0
"""The messages that a kernel log must not have."""

import kernlog
import pytest

BROKEN = """\
[    1.0] BUG: kernel NULL pointer dereference, address: 0000000000000000
[    1.0] BUG: KASAN: slab-use-after-free in script_call+0x1a/0x30 [syscript]
[    1.0] BUG: sleeping function called from invalid context at mm/slab.h:422
[    1.0] Oops: 0000 [#1] PREEMPT SMP NOPTI
[    1.0] Kernel panic - not syncing: Fatal exception
[    1.0] WARNING: CPU: 1 PID: 12 at kernel/rcu/tree.c:1 rcu_core+0x1/0x2
[    1.0] WARNING: possible circular locking dependency detected
[    1.0] WARNING: suspicious RCU usage
[    1.0] ------------[ cut here ]------------
[    1.0] rcu: INFO: rcu_preempt self-detected stall on CPU
[    1.0] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:
[    1.0] watchdog: BUG: soft lockup - CPU#0 stuck for 26s! [a:1]
[    1.0] watchdog: Watchdog detected hard LOCKUP on cpu 0
[    1.0] INFO: task syscript:77 blocked for more than 120 seconds.
[    1.0] general protection fault, probably for non-canonical address 0xdead: 0000
[    1.0] UBSAN: array-index-out-of-bounds in kernel/a.c:1:2
[    1.0] refcount_t: underflow; use-after-free.
[    1.0] kmemleak: 3 new suspected memory leaks (see /sys/kernel/debug/kmemleak)
[    1.0] list_del corruption. prev->next should be ffff, but was ffff
[    1.0] BUG: scheduling while atomic: a/12/0x00000002
[    1.0] Bad page state in process a  pfn:12345
""".splitlines()

SOUND = """\
[    1.0] syscript: loading out-of-tree module taints kernel.
[    1.0] syscript: module verification failed: signature and/or required key missing
[    1.0] kasan: KernelAddressSanitizer initialized
[    1.0] Lock dependency validator: Copyright (c) 2006 Red Hat, Inc., Ingo Molnar
[    1.0] rcu: RCU event tracing is enabled.
[    1.0] traps: test_abi[321] general protection fault ip:7f sp:7f error:0 in libc.so.6
[    1.0] Spectre V2 : WARNING: Unprivileged eBPF is enabled with eIBRS on
[    1.0] virtme-ng-init: WARNING: failed to run: "systemd-tmpfiles" --create --boot
[    1.0] Memory: 980540K/1048052K available (DEBUG kernel)
""".splitlines()


@pytest.mark.parametrize("line", BROKEN)
def test_broken(line: str) -> None:
    assert kernlog.is_bad(line)


@pytest.mark.parametrize("line", SOUND)
def test_sound(line: str) -> None:
    assert not kernlog.is_bad(line)


def test_excerpt_is_around_the_first() -> None:
    log = "\n".join([*SOUND, BROKEN[0], SOUND[0], BROKEN[1]])
    assert kernlog.excerpt("\n".join(SOUND)) == ""
    assert kernlog.excerpt(log, before=1, after=2).splitlines() == [SOUND[-1], BROKEN[0], SOUND[0]]


def test_a_report_is_bad_unless_its_fault_was_planted() -> None:
    report = "[    1.0] kefence: violation: write of 1 byte, 0 bytes after an object of 80"
    assert kernlog.is_bad(report)
    assert not kernlog.is_bad(report, planted=True)
    assert kernlog.is_bad(BROKEN[0], planted=True)
