// SPDX-License-Identifier: GPL-2.0
/*
 * Implements deferred_exit.h: hooks do_exit() with ftrace while the module is loaded.  A guarded
 * task's do_exit() returns to deferred_exit_guard() by switching back to the stack frame from which
 * the filters were asked.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/anon_inodes.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/ftrace.h>
#include <linux/irqflags.h>
#include <linux/llist.h>
#include <linux/module.h>
#include <linux/objtool.h>
#include <linux/printk.h>
#include <linux/restart_block.h>
#include <linux/sched/signal.h>
#include <linux/seccomp.h>
#include <linux/slab.h>
#include <linux/static_call.h>
#include <linux/task_work.h>

#include "arch_home.h"
#include "compat.h"
#include "deferred_exit.h"
#include "seccomp.h"
#include "symbols.h"

#if ARCH_RETURNS_FROM_EXIT && defined(CONFIG_DYNAMIC_FTRACE_WITH_REGS) && \
	defined(CONFIG_SECCOMP_FILTER)

static bool can_wait __ro_after_init;

static void deferred_exit_no_exit(long code)
{
}

DEFINE_STATIC_CALL(kernel_do_exit, deferred_exit_no_exit);

/* -- Deferred exit ------------------------------------------------------------ */

struct exit_work {
	struct callback_head head;
	struct file *holder;		/* holds the module until this work has left its text */
	long code;
};

static const struct file_operations holder_fops = { .owner = THIS_MODULE };

/* Task works that are queued after this one are not lost: do_exit() runs them. */
static void exit_now(struct callback_head *head)
{
	struct exit_work *work = container_of(head, struct exit_work, head);
	struct callback_head *rest = head->next, *next;
	long code = work->code;

	fput(work->holder);
	kfree(work);
	for (; rest; rest = next) {
		next = rest->next;
		task_work_add(current, rest, TWA_RESUME);
	}
	static_call(kernel_do_exit)(code);
}

static int exit_later(long code)
{
	struct exit_work *work = kzalloc(sizeof(*work), GFP_KERNEL);

	if (!work)
		return -ENOMEM;
	work->holder = anon_inode_getfile("[syscript]", &holder_fops, NULL, 0);
	if (IS_ERR(work->holder))
		goto free;
	work->code = code;
	init_task_work(&work->head, exit_now);
	if (!task_work_add(current, &work->head, TWA_RESUME))
		return 0;
	fput(work->holder);
free:
	kfree(work);
	return -ENOMEM;
}

/* -- do_exit() --------------------------------------------------------------- */

/*
 * A task inside deferred_exit_guard() is known by its restart block: nothing uses that before
 * the return to user mode, or while filters are asked.
 */
static long deferred_exit_guarded(struct restart_block *block)
{
	return -EINTR;
}

/*
 * In place of do_exit(), with its argument and its caller's stack: returns @code from
 * the call in deferred_exit_guard().
 */
static noinline notrace void instead_of_exit(long code)
{
	arch_return_from(current->restart_block.arch_data, code);
}
STACK_FRAME_NON_STANDARD(instead_of_exit);

/*
 * Did a filter end the task?  A task that oopses while a filter is evaluated exits at once, as
 * without this hook.
 */
static bool notrace is_filters(void)
{
	return current->restart_block.fn == deferred_exit_guarded &&
	       current->seccomp.mode > SECCOMP_MODE_FILTER;
}

static void notrace do_exit_called(unsigned long ip, unsigned long parent_ip,
				   struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	if (unlikely(is_filters()) && ftrace_get_regs(fregs))
		ftrace_regs_set_instruction_pointer(fregs, (unsigned long)instead_of_exit);
}

static struct ftrace_ops do_exit_ops = {
	.func = do_exit_called,
	/* PERMANENT: root cannot switch it off together with the function tracer. */
	.flags = FTRACE_OPS_FL_SAVE_REGS | FTRACE_OPS_FL_IPMODIFY | FTRACE_OPS_FL_PERMANENT,
};

/*
 * The function returns that the function graph tracer and kretprobes wait for: functions that
 * instead_of_exit() has skipped do not return any more.
 *
 * Tools of root that hook returns in other ways (BPF trampolines) never free what they hold for a
 * skipped function.
 */
struct returns {
#ifdef CONFIG_FUNCTION_GRAPH_TRACER
	int stack, depth;
#endif
#ifdef CONFIG_RETHOOK
	struct llist_node *hooks;
#endif
};

static void get_returns(struct returns *returns)
{
#ifdef CONFIG_FUNCTION_GRAPH_TRACER
	returns->stack = current->curr_ret_stack;
	returns->depth = current->curr_ret_depth;
#endif
#ifdef CONFIG_RETHOOK
	returns->hooks = READ_ONCE(current->rethooks.first);
#endif
}

#ifdef CONFIG_RETHOOK
/*
 * The kernel takes the first return hook (rethook) as the hook of the next function to return. So
 * the hooks of functions that will not return are moved behind all others; they are freed when
 * the task ends. Interrupts insert their own hooks at the front and remove them again. The list
 * never has a cycle, because stack traces read it.
 */
static void set_hooks(struct llist_node *hooks)
{
	struct llist_node *passed, *last = NULL, *next, *end;
	unsigned long flags;

	local_irq_save(flags);
	passed = current->rethooks.first;
	for (next = passed; next && next != hooks; next = next->next)
		last = next;
	/* Nothing to move, or no other hooks that these could be taken for: leave the list. */
	if (last && next) {
		WRITE_ONCE(current->rethooks.first, hooks);
		WRITE_ONCE(last->next, NULL);
		for (end = hooks; end->next; end = end->next)
			;
		WRITE_ONCE(end->next, passed);
	}
	local_irq_restore(flags);
}
#endif

static void set_returns(const struct returns *returns)
{
#ifdef CONFIG_FUNCTION_GRAPH_TRACER
	current->curr_ret_stack = returns->stack;
	current->curr_ret_depth = returns->depth;
#endif
#ifdef CONFIG_RETHOOK
	set_hooks(returns->hooks);
#endif
}

long deferred_exit_guard(void)
{
	struct restart_block *block = &current->restart_block;
	unsigned long arch_data = block->arch_data;
	long (*restart)(struct restart_block *block) = block->fn;
	struct returns returns;
	long ret;

	get_returns(&returns);
	block->fn = deferred_exit_guarded;
	/* instead_of_exit() returns here. */
	ret = arch_call_from(&block->arch_data, filters_ask);
	if (unlikely(ret > 0))
		set_returns(&returns);
	block->fn = restart;
	block->arch_data = arch_data;
	if (likely(ret <= 0))
		return ret;
	/* Kill the process as well, unless this thread is its only one. */
	if (exit_later(ret))
		send_sig(SIGKILL, current, 1);
	return -1;
}

bool deferred_exit_can_wait(void)
{
	return can_wait;
}

void __init deferred_exit_init(void)
{
	static char name[] __initdata = "do_exit";
	void *found = symbols_find(name);
	int err = found ? 0 : -ENOENT;

	if (found)
		static_call_update(kernel_do_exit, found);
	err = err ?: ftrace_set_filter(&do_exit_ops, name, sizeof(name) - 1, 1) ?:
		register_ftrace_function(&do_exit_ops);
	can_wait = !err;
	if (err)
		pr_info("no scripts for processes of several threads under a seccomp filter: do_exit() cannot be hooked (%d)\n",
			err);
}

void deferred_exit_exit(void)
{
	if (can_wait)
		unregister_ftrace_function(&do_exit_ops);
	ftrace_free_filter(&do_exit_ops);
	static_call_update(kernel_do_exit, deferred_exit_no_exit);
}

#else

long deferred_exit_guard(void)
{
	return filters_ask(NULL);
}

bool deferred_exit_can_wait(void)
{
	return false;
}

void deferred_exit_init(void)
{
}

void deferred_exit_exit(void)
{
}

#endif
