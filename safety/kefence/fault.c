// SPDX-License-Identifier: GPL-2.0
/*
 * Handles page faults in slots.
 *
 * The kernel calls bad_area_nosemaphore() when a fault hits no mapping, before it looks for an
 * exception fixup, and before the oops. If the call is skipped, the instruction is executed
 * again, so opening the page lets it continue.
 *
 * Interrupts are off, and any lock may be held: the handler takes none.
 *
 * An access that advances byte by byte would run through the opened page into the next object. So
 * that object's pages are closed. If the same task or the same code enters them from outside the
 * object, it is the runaway access; any other access opens them again.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/extable.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/static_call.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <asm/extable.h>
#include <asm/extable_fixup_types.h>
#include <asm/trap_pf.h>

#include "fault.h"
#include "hook.h"
#include "object.h"
#include "pool.h"
#include "report.h"
#include "violation.h"

/* A loop's code is shorter than this, and so are its steps. */
#define LOOP_LEN	256
#define STEP_LEN	64

/* State of an access while it is handled. */
struct access {
	struct pt_regs *regs;
	unsigned long addr;
	bool write;
	struct slot *slot;		/* contains the address */
	struct slot *object;		/* that it is about */
	enum violation_kind kind;
};

/* -- accesses that may fault -------------------------------------------------- */

static const struct exception_table_entry *no_table(unsigned long addr)
{
	return NULL;
}
DEFINE_STATIC_CALL(search_tables, no_table);

/*
 * load_unaligned_zeropad() may read past a page's end, BPF programs may follow bad pointers, and
 * *_nofault() probe addresses. copy_to_user() and the like have fixups for user addresses only,
 * and this address is not one.
 */
static bool access_is_meant(const struct pt_regs *regs)
{
	const struct exception_table_entry *entry;
	char name[KSYM_SYMBOL_LEN];

	entry = static_call(search_tables)(regs->ip);
	if (!entry)
		return false;
	switch (entry->data & EX_DATA_TYPE_MASK) {
	case EX_TYPE_ZEROPAD:
	case EX_TYPE_BPF:
		return true;
	}
	sprint_symbol_no_offset(name, regs->ip);
	return strstr(name, "_nofault");
}

/* -- whose object it was about ------------------------------------------------ */

static bool was_used(const struct slot *slot)
{
	return slot && slot->born.site;
}

static bool is_live(const struct slot *slot)
{
	return READ_ONCE(slot->state) == SLOT_LIVE;
}

static unsigned long object_end(const struct slot *slot)
{
	return slot->object + slot->size;
}

static unsigned long distance(const struct slot *slot, unsigned long addr)
{
	if (addr < slot->object)
		return slot->object - addr;
	return addr - slot->object >= slot->size ? addr - object_end(slot) + 1 : 0;
}

static bool in_its_pages(const struct slot *slot, unsigned long addr)
{
	return addr >= (slot->object & PAGE_MASK) && addr < PAGE_ALIGN(object_end(slot));
}

/* Prefers a live object, then the nearer one. */
static bool is_likelier(const struct slot *slot, const struct slot *than,
			unsigned long addr)
{
	if (!was_used(than) || !was_used(slot))
		return was_used(slot);
	if (is_live(slot) != is_live(than))
		return is_live(slot);
	return distance(slot, addr) < distance(than, addr);
}

static void access_explain(struct access *access)
{
	struct slot *slot = access->slot, *before = pool_slot_before(slot);

	access->object = slot;
	if (!was_used(slot) || !in_its_pages(slot, access->addr))
		if (is_likelier(before, slot, access->addr))
			access->object = before;

	if (!was_used(access->object))
		access->kind = VIOLATION_WILD;
	else if (!is_live(access->object))
		access->kind = VIOLATION_USE_AFTER_FREE;
	else if (access->addr < access->object->object)
		access->kind = VIOLATION_UNDERRUN;
	else
		access->kind = VIOLATION_OVERRUN;
}

/* -- running on --------------------------------------------------------------- */

static bool runs_on(const struct access *access)
{
	const struct slot *slot = access->slot;
	unsigned long into = access->addr - (slot->object & PAGE_MASK);
	unsigned long off = access->regs->ip - READ_ONCE(slot->runaway_ip);

	if (distance(slot, access->addr))
		return true;
	return slot->runaway == current && off + LOOP_LEN < 2 * LOOP_LEN &&
	       (into < STEP_LEN ||
		PAGE_ALIGN(object_end(slot)) - access->addr <= STEP_LEN);
}

/* Closes the object that the access would reach next: its pages fault from now on. */
static void close_next(const struct access *access)
{
	struct slot *next;

	if (access->kind == VIOLATION_OVERRUN)
		next = access->slot == access->object ?
		       pool_slot_after(access->slot) : access->slot;
	else if (access->kind == VIOLATION_UNDERRUN)
		next = pool_slot_before(access->object);
	else
		return;
	if (!next || !is_live(next) || next == access->object)
		return;
	WRITE_ONCE(next->runaway_ip, access->regs->ip);
	smp_store_release(&next->runaway, current);
	pool_protect(next, next->object, object_end(next));
}

static void reopen(struct slot *slot)
{
	WRITE_ONCE(slot->runaway, NULL);
	pool_unprotect(slot, slot->object, object_end(slot), true);
	/* It may have been freed meanwhile. */
	if (!is_live(slot))
		pool_protect(slot, slot->object, object_end(slot));
}

/* -- what follows ------------------------------------------------------------- */

static void open_page(const struct access *access, bool writable)
{
	struct slot *slot = access->slot, *before = pool_slot_before(slot);
	unsigned long page = access->addr & PAGE_MASK;

	if (!writable) {
		/* Reads of a freed object see zeros. */
		pool_unprotect(slot, page, page + PAGE_SIZE, true);
		clear_page((void *)page);
	}
	pool_unprotect(slot, page, page + PAGE_SIZE, writable);
	/* Whichever ends first, this fault or the object, closes the page. */
	smp_store_release(&slot->opened, true);
	if (before)
		smp_store_release(&before->opened, true);
}

static bool is_string_instruction(const struct pt_regs *regs)
{
	u8 code[3];

	if (copy_from_kernel_nofault(code, (void *)regs->ip, sizeof(code)))
		return false;
	if (code[0] != 0xf3)		/* rep */
		return false;
	switch (code[(code[1] & 0xf0) == 0x40 ? 2 : 1]) {
	case 0xa4: case 0xa5:		/* movs */
	case 0xaa: case 0xab:		/* stos */
		return true;
	}
	return false;
}

/*
 * Ends an operation that would run to its full length: a string instruction, or one of the
 * kernel's assembly functions, which push nothing.
 */
static void stop_string(struct pt_regs *regs)
{
	static const char *const functions[] = {
		"memcpy", "__memcpy", "memcpy_orig", "memmove", "__memmove",
		"memset", "__memset", "memset_orig",
	};
	char name[KSYM_SYMBOL_LEN];

	if (is_string_instruction(regs)) {
		regs->cx = 0;
		return;
	}
	sprint_symbol_no_offset(name, regs->ip);
	if (match_string(functions, ARRAY_SIZE(functions), name) < 0)
		return;
	/* These return the destination; memset() keeps it in r10 until its end. */
	if (strstr(name, "memset"))
		regs->ax = regs->r10;
	regs->ip = *(unsigned long *)regs->sp;
	regs->sp += sizeof(long);
}

/* Whether to execute the instruction again. */
static bool access_follow(const struct access *access, enum action action)
{
	if (action == ACTION_READ && access->write)
		action = ACTION_KILL;
	switch (action) {
	case ACTION_CRASH:
		return false;
	case ACTION_KILL:
		if (report_kill())
			stop_string(access->regs);
		break;
	default:
		break;
	}
	open_page(access, action != ACTION_READ);
	close_next(access);
	return true;
}

static bool access_run_on(const struct access *access)
{
	enum action action = READ_ONCE(access->slot->client->settings.action);

	if (!runs_on(access)) {
		reopen(access->slot);
		return true;
	}
	if (action != ACTION_KILL && (action != ACTION_READ || !access->write)) {
		reopen(access->slot);
		return true;
	}
	pr_err("violation: it runs on into the next object, at %pS: there is no way to go on\n",
	       (void *)access->regs->ip);
	return false;
}

static bool access_handle(struct access *access)
{
	if (access_is_meant(access->regs))
		return false;
	/* Another user of the slot opened the page first, or this CPU's TLB is stale. */
	if (pool_is_open(access->slot, access->addr, access->write))
		return true;
	if (is_live(access->slot) && in_its_pages(access->slot, access->addr) &&
	    smp_load_acquire(&access->slot->runaway))
		return access_run_on(access);

	access_explain(access);
	return access_follow(access,
			     violation_of_access(access->object, access->kind,
						 access->addr, access->write,
						 access->regs));
}

/* -- the hook ----------------------------------------------------------------- */

static DEFINE_PER_CPU(unsigned int, depth);

/* bad_area_nosemaphore(regs, error_code, address) */
static bool fault(struct pt_regs *args, unsigned long caller)
{
	struct access access = {
		.regs = (struct pt_regs *)args->di,
		.addr = args->dx,
		.write = args->si & X86_PF_WRITE,
	};
	bool again;

	if (user_mode(access.regs) || args->si & X86_PF_INSTR)
		return false;
	access.slot = pool_slot_of(access.addr);
	if (!access.slot)
		return false;
	/* NMIs can nest here; a deeper fault is a bug in Kefence. */
	if (this_cpu_inc_return(depth) > 2) {
		this_cpu_dec(depth);
		return false;
	}
	again = access_handle(&access);
	this_cpu_dec(depth);
	return again;
}

static struct hook hook = { .fn = fault, .name = "bad_area_nosemaphore" };

int fault_init(void)
{
	/* The symbol is not exported; registering a disabled kprobe finds it. */
	struct kprobe probe = {
		.symbol_name = "search_exception_tables",
		.flags = KPROBE_FLAG_DISABLED,
	};
	int err;

	err = register_kprobe(&probe);
	if (err) {
		pr_err("no search_exception_tables() in this kernel (%d)\n", err);
		return -ENOENT;
	}
	/* Skip an endbr64: a direct call does not need it. */
	static_call_update(search_tables, (void *)probe.addr);
	unregister_kprobe(&probe);
	return hook_register(&hook);
}

void fault_exit(void)
{
	hook_unregister(&hook);
	static_call_update(search_tables, no_table);
}
