// SPDX-License-Identifier: GPL-2.0
/*
 * See code.h.
 *
 * The room is mapped twice: where it runs it cannot be written, and where it is
 * written it cannot be run.  A user gets at most a quarter of it.
 */
#include <linux/bitmap.h>
#include <linux/completion.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <asm/cpufeature.h>
#include <asm/sync_core.h>

#include "../check.h"
#include "../jit.h"
#include "code.h"
#include "limits.h"
#include "locks.h"

#define CODE_PAGES_USER	(CODE_PAGES / 4)
#define INT3		0xccccccccccccccccULL

extern char confined_room[];

static char *room __ro_after_init;	/* to be written */
static DECLARE_BITMAP(room_map, CODE_PAGES);
static LIST_HEAD(codes);
static DEFINE_MUTEX(code_lock);		/* the two above, code.users */

/* -- The room ------------------------------------------------------------------ */

static unsigned long pages_of(kuid_t uid)
{
	unsigned long pages = 0;
	struct code *code;

	lockdep_assert_held(&code_lock);
	list_for_each_entry(code, &codes, node)
		if (uid_eq(code->uid, uid))
			pages += code->size >> PAGE_SHIFT;
	return pages;
}

static int room_take(struct code *code, char *error, size_t error_len)
{
	unsigned long n = code->size >> PAGE_SHIFT;

	lockdep_assert_held(&code_lock);
	if (pages_of(code->uid) + n > CODE_PAGES_USER) {
		scnprintf(error, error_len,
			  "%lu pages of machine code: this user's images hold %lu of the %u that they may",
			  n, pages_of(code->uid), CODE_PAGES_USER);
		return -ENOBUFS;
	}
	code->page = bitmap_find_next_zero_area(room_map, CODE_PAGES, 0, n, 0);
	if (code->page >= CODE_PAGES) {
		scnprintf(error, error_len, "no room for %lu pages of machine code", n);
		return -ENOBUFS;
	}
	bitmap_set(room_map, code->page, n);
	list_add(&code->node, &codes);
	return 0;
}

/* In words: emulators take each store to what was code for a change of it. */
static void room_clear(unsigned long page, size_t size)
{
	memset64((u64 *)(room + (page << PAGE_SHIFT)), INT3, size / sizeof(u64));
}

static void room_put(struct code *code)
{
	lockdep_assert_held(&code_lock);
	list_del(&code->node);
	room_clear(code->page, code->size);
	bitmap_clear(room_map, code->page, code->size >> PAGE_SHIFT);
}

static void sync_this_cpu(void *unused)
{
	sync_core();
}

/* -- Code ----------------------------------------------------------------------- */

/* What BARRIER (stubs.h) becomes more than nothing by. */
static bool has_barrier(void)
{
	return boot_cpu_has(X86_FEATURE_CLEAR_BHB_LOOP) ||
	       boot_cpu_has(X86_FEATURE_CLEAR_BHB_HW);
}

/* What the code of an image depends on: all but where its stack is. */
static bool is_same(const struct code *code, const struct image_header *image, size_t len)
{
	const struct image_header *other = code->image;

	return code->len == len && other->flags == image->flags &&
	       other->ninsns == image->ninsns && other->nfuncs == image->nfuncs &&
	       other->ntable == image->ntable &&
	       other->arena_shift == image->arena_shift &&
	       !memcmp(other + 1, image + 1, len - sizeof(*image));
}

/* Its own header, which says other things of the stack, is checked besides. */
static struct code *code_find(const void *data, size_t len)
{
	kuid_t uid = limits_payer();
	struct code *code;

	lockdep_assert_held(&code_lock);
	if (len < sizeof(struct image_header))
		return NULL;
	list_for_each_entry(code, &codes, node)
		if (uid_eq(code->uid, uid) && is_same(code, data, len))
			return code;
	return NULL;
}

static struct code *code_alloc(const void *data, size_t len)
{
	struct code *code = kzalloc(sizeof(*code), GFP_KERNEL_ACCOUNT);

	if (!code)
		return NULL;
	code->image = kvmalloc(len, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!code->image) {
		kfree(code);
		return NULL;
	}
	memcpy(code->image, data, len);
	code->len = len;
	code->uid = limits_payer();
	init_completion(&code->made);
	return code;
}

static void code_free(struct code *code)
{
	kvfree(code->image);
	kfree(code);
}

/* Takes room for @code, or finds another one that has taken some meanwhile. */
static int find_or_take(struct code **code, char *error, size_t error_len)
{
	struct code *same;
	int err = mutex_lock_killable(&code_lock);

	if (err)
		return err;
	same = code_find((*code)->image, (*code)->len);
	if (same)
		*code = same;
	else
		err = room_take(*code, error, error_len);
	if (!err)
		(*code)->users++;
	mutex_unlock(&code_lock);
	return err;
}

/* In the room that it has taken; who finds it waits for it. */
static int generate(struct code *code, struct jit *jit)
{
	int err;

	code->entry = confined_room + (code->page << PAGE_SHIFT);
	jit->exec = (unsigned long)code->entry;
	jit->code = room + (code->page << PAGE_SHIFT);
	err = jit_generate(jit);
	/* Other CPUs may have fetched what was there before. */
	if (!err)
		on_each_cpu(sync_this_cpu, NULL, 1);
	code->err = err;
	complete_all(&code->made);
	return err;
}

/* For whoever has taken room for @code: a process of the same user. */
static int wait_for(struct code *code)
{
	int err = wait_for_completion_killable(&code->made) ?: code->err;

	if (err)
		code_put(code);
	return err;
}

/*
 * Makes @code, or finds another one.  The lock is everybody's: who is over their
 * cgroup's limit may wait for memory for seconds, and a task to which the scheduler
 * gives little takes as long to generate code.
 */
static int code_add(struct code **code, struct jit *jit, char *error, size_t error_len)
{
	struct code *own = *code;
	int err;

	own->size = PAGE_ALIGN(jit->size);
	err = find_or_take(code, error, error_len);
	if (err)
		return err;
	return *code == own ? generate(own, jit) : wait_for(*code);
}

static int compile(struct code **code, char *error, size_t error_len)
{
	struct checked checked;
	struct jit jit = {
		.checked = &checked, .key = get_random_u64() | 1,
		.gate = code_gate, .barrier = has_barrier(),
	};
	int err;

	err = image_check((*code)->image, (*code)->len, &checked, error, error_len);
	if (err)
		return err;
	jit.offsets = kvmalloc_array(checked.image->ninsns + checked.image->nfuncs,
				     sizeof(u32), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	err = jit.offsets ? jit_generate(&jit) : -ENOMEM;
	if (!err)
		err = code_add(code, &jit, error, error_len);
	kvfree(jit.offsets);
	image_release(&checked);
	return err;
}

static int code_make(struct code **made, const void *data, size_t len, char *error,
		     size_t error_len)
{
	struct code *own = code_alloc(data, len), *code = own;
	int err = own ? compile(&code, error, error_len) : -ENOMEM;

	if (!err)
		*made = code;
	if (!own)
		return err;
	/* No one else knows it unless it has taken room. */
	if (!own->users)
		code_free(own);
	else if (err)
		code_put(own);
	return err;
}

/* One that there is already, checked against the header: 0, 1 for none, or -errno. */
static int code_share(struct code **code, const void *data, size_t len, char *error,
		      size_t error_len)
{
	int err = mutex_lock_killable(&code_lock);

	if (err)
		return err;
	*code = code_find(data, len);
	err = *code ? image_check_header(data, len, error, error_len) : 1;
	if (!err)
		(*code)->users++;
	mutex_unlock(&code_lock);
	return err ?: wait_for(*code);
}

int code_get(struct code **code, const void *data, size_t len, char *error,
	     size_t error_len)
{
	int err = code_share(code, data, len, error, error_len);

	return err > 0 ? code_make(code, data, len, error, error_len) : err;
}

void code_put(struct code *code)
{
	mutex_lock(&code_lock);
	if (--code->users)
		code = NULL;
	else
		room_put(code);
	mutex_unlock(&code_lock);
	if (code)
		code_free(code);
}

int code_check(const void *data, size_t len, char *error, size_t error_len)
{
	struct checked checked;
	int err = image_check(data, len, &checked, error, error_len);

	if (!err)
		image_release(&checked);
	return err;
}

static void *map_writable(void *p, unsigned long n)
{
	struct page **pages = kvcalloc(n, sizeof(*pages), GFP_KERNEL);
	void *alias = NULL;
	unsigned long i;

	if (!pages)
		return NULL;
	for (i = 0; i < n; i++)
		pages[i] = vmalloc_to_page(p + (i << PAGE_SHIFT));
	alias = vmap(pages, n, VM_MAP, PAGE_KERNEL);
	kvfree(pages);
	return alias;
}

int code_init(void)
{
	locks_allocate_nothing(&code_lock);
	room = map_writable(confined_room, CODE_PAGES);
	if (!room)
		return -ENOMEM;
	room_clear(0, CODE_PAGES << PAGE_SHIFT);
	return 0;
}

void code_exit(void)
{
	vunmap(room);
}
