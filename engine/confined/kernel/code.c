// SPDX-License-Identifier: GPL-2.0
/*
 * Implements code.h.
 *
 * The area for machine code is mapped twice: one mapping is executable and not writable, the
 * other writable and not executable.
 *
 * All users share the table of codes and its lock, which is held for a few steps: images are
 * hashed before it is taken, and compared, generated and cleared without it, by users of the
 * code.
 *
 * Making new code visible interrupts CPUs. So it is done only when the rest of a program is
 * complete, and once for each code and memory map, or once for all CPUs: a failing load, or one
 * that finds existing code, interrupts no other CPU.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/siphash.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "../validate_image.h"
#include "../jit.h"
#include "arch_code.h"
#include "code.h"
#include "limits.h"

extern char confined_room[];

static char *room __ro_after_init;	/* writable mapping of the area for machine code */
static siphash_key_t digest_key __ro_after_init;

static DEFINE_HASHTABLE(codes, 8);
static LIST_HEAD(idle_codes);		/* codes without users, most recently used first */
static DEFINE_SPINLOCK(codes_lock);	/* guards both, code.users, and told_* */

/* -- The same image -------------------------------------------------------------- */

/* The properties of an image that its code depends on. Its stack's position is none. */
struct digested {
	u64 body;
	u64 base;
	u32 flags, ninsns, nfuncs, ntable, arena_shift, uid, context, zero;
} __packed __aligned(8);

/* The code pins its base, so no other code has the base's address meanwhile. */
static u64 digest_of(const struct image_header *image, size_t len, kuid_t uid,
		     enum context context, const struct code *base)
{
	const struct digested digested = {
		.body = siphash(image + 1, len - sizeof(*image), &digest_key),
		.base = (unsigned long)base,
		.flags = image->flags, .ninsns = image->ninsns, .nfuncs = image->nfuncs,
		.ntable = image->ntable, .arena_shift = image->arena_shift,
		.uid = __kuid_val(uid), .context = context,
	};

	return siphash(&digested, sizeof(digested), &digest_key);
}

static bool is_same(const struct code *code, const struct code *other)
{
	const struct image_header *a = code->image, *b = other->image;

	return code->len == other->len && uid_eq(code->uid, other->uid) &&
	       code->base == other->base && a->flags == b->flags && a->ninsns == b->ninsns &&
	       a->nfuncs == b->nfuncs && a->ntable == b->ntable &&
	       a->arena_shift == b->arena_shift && code->context == other->context &&
	       !memcmp(a + 1, b + 1, code->len - sizeof(*a));
}

/* -- The table ------------------------------------------------------------------- */

static struct code *find(const struct code *like)
{
	struct code *code;

	lockdep_assert_held(&codes_lock);
	hash_for_each_possible(codes, code, node, like->digest)
		if (code->digest == like->digest && code->len == like->len)
			return code;
	return NULL;
}

static void add_user(struct code *code)
{
	lockdep_assert_held(&codes_lock);
	if (!code->users++)
		list_del(&code->idle);
}

/*
 * Returns the code of the same image as @like's, with the caller as a new user; or NULL after
 * listing @add, unless it is NULL.
 */
static struct code *find_or_add(const struct code *like, struct code *add)
{
	struct code *code;

	spin_lock(&codes_lock);
	code = find(like);
	if (code)
		add_user(code);
	else if (add)
		hash_add(codes, &add->node, add->digest);
	spin_unlock(&codes_lock);

	/*
	 * Two images with the same digest are expected once in centuries: they do not share code.
	 */
	if (code && !is_same(code, like)) {
		code_put(code);
		code = NULL;
	}
	return code;
}

/* By words, because emulators handle each store to former code as self-modifying code. */
static void exec_clear(unsigned long page, unsigned long n)
{
	memset64((u64 *)(room + (page << PAGE_SHIFT)), ARCH_CODE_FILL,
		 (n << PAGE_SHIFT) / sizeof(u64));
}

static void code_free(struct code *code)
{
	struct code *base = code->base;

	if (code->entry) {
		exec_clear(code->area.page, code->area.n);
		exec_free(&code->area);
	}
	kvfree(code->image);
	kvfree(code->labels);
	kfree(code);
	if (base)
		code_put(base);
}

/* -- Idle code ------------------------------------------------------------------- */

#define IDLE_MAX	64
#define IDLE_MAX_USER	16
#define IDLE_AGE	(60 * HZ)

/* Keeps code that is small and likely to be wanted again; a base is large, or the machine's. */
static bool may_idle(struct code *code)
{
	return code->base && completion_done(&code->made) && !code->err &&
	       code->context == CONTEXT_PROCESS;
}

/* The account's own oldest code is freed first, so that no user displaces other users' code. */
static struct code *find_surplus(kuid_t uid)
{
	struct code *code, *own = NULL, *last = NULL;
	unsigned int n = 0, n_own = 0;

	lockdep_assert_held(&codes_lock);
	list_for_each_entry(code, &idle_codes, idle) {
		n++;
		last = code;
		if (!uid_eq(code->uid, uid))
			continue;
		n_own++;
		own = code;
	}
	return n_own > IDLE_MAX_USER ? own : n > IDLE_MAX ? last : NULL;
}

/* From here on no lookup finds it. */
static void forget_idle(struct code *code, struct list_head *list)
{
	lockdep_assert_held(&codes_lock);
	hash_del(&code->node);
	list_move(&code->idle, list);
}

static void free_all(struct list_head *list)
{
	struct code *code, *next;

	list_for_each_entry_safe(code, next, list, idle)
		code_free(code);
}

/* Frees idle code, of @uid or, if NULL, of all users: true if there was any. */
static bool drop_idle(const kuid_t *uid)
{
	struct code *code, *next;
	LIST_HEAD(list);
	bool any;

	spin_lock(&codes_lock);
	list_for_each_entry_safe(code, next, &idle_codes, idle)
		if (!uid || uid_eq(code->uid, *uid))
			forget_idle(code, &list);
	spin_unlock(&codes_lock);
	any = !list_empty(&list);
	free_all(&list);
	return any;
}

bool code_age(void)
{
	struct code *code, *next;
	LIST_HEAD(list);
	bool more;

	spin_lock(&codes_lock);
	list_for_each_entry_safe(code, next, &idle_codes, idle)
		if (time_after(jiffies, code->idle_since + IDLE_AGE))
			forget_idle(code, &list);
	more = !list_empty(&idle_codes);
	spin_unlock(&codes_lock);
	free_all(&list);
	return more;
}

/* The last user has gone: moves code that is to be freed to @list. */
static void become_idle(struct code *code, struct list_head *list)
{
	struct code *surplus;

	lockdep_assert_held(&codes_lock);
	list_add(&code->idle, &idle_codes);
	code->idle_since = jiffies;
	surplus = may_idle(code) ? find_surplus(code->uid) : code;
	if (surplus)
		forget_idle(surplus, list);
}

void code_put(struct code *code)
{
	LIST_HEAD(list);

	spin_lock(&codes_lock);
	if (!--code->users)
		become_idle(code, &list);
	spin_unlock(&codes_lock);
	free_all(&list);
}

/* -- Code ----------------------------------------------------------------------- */

/* Number of codes written so far; code.number is a code's position among them. */
static u64 written;

/*
 * Which new code CPUs have been interrupted for: those that run the memory map @map, for all codes
 * up to @number. Ids of maps are never reused; 0 is no map's, and stands for all CPUs. If another
 * map has overwritten a map's entry, its CPUs are interrupted again.
 */
static struct told {
	u64 map, number;
} told_all, told_maps[256];

static struct told *told_of(u64 map)
{
	return map ? &told_maps[hash_64(map, ilog2(ARRAY_SIZE(told_maps)))] : &told_all;
}

/* Do CPUs have to be synchronised now, for all codes up to @number? */
static bool has_to_tell(const struct code *code, u64 map, u64 *number)
{
	const struct told *told = told_of(map);
	bool known;

	spin_lock(&codes_lock);
	known = told->map == map && told->number >= code->number;
	*number = written;
	spin_unlock(&codes_lock);
	return !known;
}

static void have_told(u64 map, u64 number)
{
	struct told *told = told_of(map);

	spin_lock(&codes_lock);
	if (told->map != map || told->number < number)
		*told = (struct told){ map, number };
	spin_unlock(&codes_lock);
}

/* For on_each_cpu(); not inline, so that it can be traced. */
static noinline void sync_this_cpu(void *unused)
{
	arch_sync_code();
}

/*
 * CPUs may have fetched the bytes that were there before, and the caller's process may run the
 * new code on any of them. If arch_code_map() names its memory map, CPUs that have that loaded are
 * interrupted to serialise, and others serialise when they load it; the barriers of mm_cpumask()
 * order the two. Otherwise, and for code that is not one process's, all CPUs are interrupted. A
 * base is written before its extensions, so it is synchronised with them.
 */
void code_sync(const struct code *code)
{
	u64 map = code->context == CONTEXT_PROCESS ? arch_code_map(current->mm) : 0, number;

	if (!has_to_tell(code, map, &number))
		return;
	smp_mb();
	if (map)
		on_each_cpu_mask(mm_cpumask(current->mm), sync_this_cpu, NULL, 1);
	else
		on_each_cpu(sync_this_cpu, NULL, 1);
	have_told(map, number);
}

/* If code is refused only because of a constant, it is generated again with another key. */
#define KEYS	4

/* Generates and verifies the code at @jit->code, which is not executable. */
static int generate_verified(struct jit *jit, char *error, size_t error_len)
{
	unsigned int i;
	int err = -EAGAIN;

	for (i = 0; err == -EAGAIN && i < KEYS; i++) {
		if (i)
			jit->key = get_random_u64() | 1;
		err = jit_generate(jit) ?: jit_verify(jit, error, error_len);
	}
	if (err == -EAGAIN)
		err = -EINVAL;
	if (err == -EINVAL && limits_may_notice(limits_account_uid(CONTEXT_PROCESS)))
		pr_warn("generated code is refused: %s\n", error);
	return err;
}

static size_t size_of_facts(const struct code *code)
{
	return code->base ? 0 : JIT_BASE_LABELS(code->image->nfuncs) * sizeof(*code->labels);
}

static int keep_facts(struct code *code, const struct jit *jit)
{
	if (code->base) {
		code->beyond = jit->exec + jit->beyond;
		return 0;
	}
	code->labels = kvmalloc(size_of_facts(code), GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!code->labels)
		return -ENOMEM;
	jit_base(jit, &code->facts, code->labels);
	return 0;
}

/* Idle code counts in no account's share: the account's own idle code is freed first, then all. */
static int take_room(struct code *code, char *error, size_t error_len)
{
	unsigned long n = code->size >> PAGE_SHIFT;
	int err = exec_alloc(&code->area, n, code->context, error, error_len);

	if (err == -ENOBUFS && drop_idle(&code->uid))
		err = exec_alloc(&code->area, n, code->context, error, error_len);
	if (err == -ENOBUFS && drop_idle(NULL))
		err = exec_alloc(&code->area, n, code->context, error, error_len);
	if (!err && error_len)
		*error = '\0';
	return err;
}

static void write_code(struct code *code, const struct jit *jit)
{
	memcpy(room + (code->area.page << PAGE_SHIFT), jit->code, jit->size);
	arch_code_written(code->entry, jit->size);
	spin_lock(&codes_lock);
	code->number = ++written;
	spin_unlock(&codes_lock);
}

/* The executable area never holds code that has not been verified. */
static int generate(struct code *code, struct jit *jit, char *error, size_t error_len)
{
	int err = take_room(code, error, error_len);

	if (err)
		return err;
	code->entry = confined_room + (code->area.page << PAGE_SHIFT);
	jit->exec = (unsigned long)code->entry;
	jit->code = kvmalloc(jit->size, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!jit->code)
		return -ENOMEM;
	err = generate_verified(jit, error, error_len) ?: keep_facts(code, jit);
	if (!err)
		write_code(code, jit);
	kvfree(jit->code);
	return err;
}

/* Computes the code's size and compares it with the limit, before anything is allocated. */
static int measure(struct code *code, struct jit *jit, size_t max, char *error,
		   size_t error_len)
{
	int err = jit_measure(jit);

	if (err)
		return err;
	code->size = PAGE_ALIGN(jit->size);
	code->memory = code->len + code->size + size_of_facts(code);
	if (code->memory <= max)
		return 0;
	scnprintf(error, error_len,
		  "%zu bytes of image and %zu of machine code, over the memory limit, of which %zu are left",
		  code->len, code->size, max);
	return -ENOBUFS;
}

static const struct image_header *header_of(const struct code *base)
{
	return base ? base->image : NULL;
}

static int compile(struct code *code, size_t max, char *error, size_t error_len)
{
	struct checked checked;
	struct jit jit = {
		.checked = &checked, .base = code->base ? &code->base->facts : NULL,
		.key = get_random_u64() | 1,
		.thunk = code_thunk, .thunk_args = code_thunk_args, .barrier = arch_has_barrier(),
	};
	int err;

	err = image_check(code->image, code->len, code->context, header_of(code->base), &checked,
			  error, error_len);
	if (err)
		return err;
	err = measure(code, &jit, max, error, error_len);
	if (!err)
		err = generate(code, &jit, error, error_len);
	jit_release(&jit);
	image_release(&checked);
	return err;
}

/* The code is already in the table: the user's other loads of it find it, and wait. */
static int make(struct code *code, size_t max, char *error, size_t error_len)
{
	code->err = compile(code, max, error, error_len);
	if (code->err) {
		spin_lock(&codes_lock);
		hash_del(&code->node);
		spin_unlock(&codes_lock);
	}
	complete_all(&code->made);
	return code->err;
}

/* Adds a user to a code that already has one. */
static void code_hold(struct code *code)
{
	spin_lock(&codes_lock);
	code->users++;
	spin_unlock(&codes_lock);
}

static struct code *code_alloc(const struct code *like)
{
	struct code *code = kzalloc(sizeof(*code), GFP_KERNEL_ACCOUNT);

	if (!code)
		return NULL;
	code->image = kvmalloc(like->len, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!code->image) {
		kfree(code);
		return NULL;
	}
	memcpy(code->image, like->image, like->len);
	code->base = like->base;
	if (code->base)
		code_hold(code->base);
	code->len = like->len;
	code->uid = like->uid;
	code->context = like->context;
	code->digest = like->digest;
	code->users = 1;
	init_completion(&code->made);
	return code;
}

static int add(struct code **added, const struct code *like, size_t max, char *error,
	       size_t error_len)
{
	struct code *own = code_alloc(like), *code;
	int err;

	if (!own)
		return -ENOMEM;
	code = find_or_add(own, own);
	if (code) {
		code_put(own);
		*added = code;
		return 0;
	}
	err = make(own, max, error, error_len);
	if (err)
		code_put(own);
	else
		*added = own;
	return err;
}

/* Returns 0; -EAGAIN if making the code failed, perhaps at a lower limit; or -EINTR. */
static int wait_for(struct code *code)
{
	int err = wait_for_completion_killable(&code->made);

	if (!err && !code->err)
		return 0;
	code_put(code);
	return err ? -EINTR : -EAGAIN;
}

static int find_or_make(struct code **code, const struct code *like, size_t max,
			char *error, size_t error_len)
{
	int err;

	do {
		*code = find_or_add(like, NULL);
		err = *code ? 0 : add(code, like, max, error, error_len);
		if (!err)
			err = wait_for(*code);
	} while (err == -EAGAIN);
	return err;
}

int code_get(struct code **code, const void *data, size_t len, enum context context,
	     struct code *base, size_t max, char *error, size_t error_len)
{
	struct code like = {
		.image = (void *)data, .len = len, .uid = limits_account_uid(context),
		.context = context,
		.base = base,
	};

	like.digest = digest_of(data, len, like.uid, context, base);
	return find_or_make(code, &like, max, error, error_len);
}

int code_check(const void *data, size_t len, const struct code *base, char *error,
	       size_t error_len)
{
	struct checked checked;
	int err = image_check(data, len, CONTEXT_PROCESS, header_of(base), &checked, error,
			      error_len);

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

u32 confined_history __ro_after_init;

int code_init(void)
{
	confined_history = arch_history();
	get_random_bytes(&digest_key, sizeof(digest_key));
	room = map_writable(confined_room, EXEC_PAGES);
	if (!room)
		return -ENOMEM;
	exec_clear(0, EXEC_PAGES);
	return 0;
}

void code_exit(void)
{
	drop_idle(NULL);
	vunmap(room);
}
