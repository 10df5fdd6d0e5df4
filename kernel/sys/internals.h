/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Internals of the kernel that the module relies on, and that may change. They work on Debian's
 * 6.1.0-56, 6.12.117 and 7.2.13.  Loading the module checks them, and fails with a message that
 * names a missing symbol; internals in headers are checked by compiling the module.
 *
 * Found and tried out by arch/x86/syscall_jump_table.c and luajit/kernel/fpu.c:
 *
 * - sys_call_table, which the kernel keeps for its tracer, has the addresses of
 *   __x64_sys_NAME(); a task may call these with any struct pt_regs (syscall_jump_table.h).
 *   Checked: getppid(2) is where its symbol is, and returns the parent.
 * - switch_fpu_return() loads a task's FPU registers if TIF_NEED_FPU_LOAD is set, and
 *   anything that takes them from the task sets that flag (fpu.h).  Checked: registers
 *   come back after kernel_fpu_begin().
 *
 * Found by name, without which the module is not loaded: task_work_run(),
 * mem_cgroup_handle_over_high(), blkcg_maybe_throttle_current() (usermode.h).
 *
 * Found by name, and done without if missing: __secure_computing() (seccomp.c),
 * do_exit() (deferred_exit.c), audit's functions (audit.c), security_socket_sendmsg(),
 * security_socket_recvmsg() and security_socket_setsockopt() (net/frames_port.c),
 * task_sched_runtime() (run.c),
 * file_open_name() (fs/files.c),
 * pagetable_free_kernel() (luajit/kernel/arena.c).  docs/design/borrowed.md says what they
 * expect, and what the functions expect that the kernel exports.
 *
 * Taken from headers:
 *
 * - fpregs_lock() keeps a task's registers where they are by local_bh_disable(), for
 *   irq_fpu_usable() is false there in interrupts (fpu.h).  Without PREEMPT_RT and
 *   lockdep bottom halves are off by SOFTIRQ_DISABLE_OFFSET in the count of
 *   preemption and nothing else (luajit/kernel/atomic_thunks.c, fpu_unlock()).
 * - task_struct: ->task_works, ->memcg_nr_pages_over_high (usermode.c),
 *   ->se.sum_exec_runtime (run.c), ->rethooks as kernel/trace/rethook.c takes it, first
 *   for the next return (deferred_exit.c).
 * - get_irq_regs() in a hard timer interrupt are the registers of the interrupted code
 *   (luajit/kernel/clock.c and watchdog.c), which preempt_count() counts, too; idle tasks
 *   may not be preempted there, and are known by is_idle_task() (luajit/kernel/atomic.h).
 * - Timers of a CPU that goes offline are left to another one when no code of tasks
 *   runs there any more, and before callbacks of CPUHP_BP_PREPARE_DYN (luajit/kernel/clock.c).
 */
#ifndef SYSCRIPT_INTERNALS_H
#define SYSCRIPT_INTERNALS_H

#include <linux/init.h>
#include <linux/sched.h>
#include <linux/static_call.h>

void __init internals_init(void);

struct file;
struct filename;

/*
 * file_open_name() of a name that has nothing but ->name and stays only until this
 * returns: for tasks without an audit context, which would keep it.
 */
DECLARE_STATIC_CALL(internals_open_name,
		    struct file *(struct filename *name, int flags, umode_t mode));

/* task_sched_runtime(), or what the scheduler has accounted for so far. */
DECLARE_STATIC_CALL(internals_task_time, u64 (struct task_struct *task));

#endif /* SYSCRIPT_INTERNALS_H */
