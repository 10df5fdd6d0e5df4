// SPDX-License-Identifier: GPL-2.0
/*
 * The bases are a list of at most SYSCRIPT_SHARED_MAX bases, which registrations of all users
 * walk under shared_lock.  If the list is full, root's next registration replaces the oldest base
 * that no script extends.
 */
#include <crypto/sha2.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "program.h"
#include "shared.h"

static_assert(SYSCRIPT_DIGEST_LEN == SHA256_DIGEST_SIZE);

/**
 * struct shared - a base of the machine
 * @refs: the list's reference, and those of scripts
 */
struct shared {
	struct list_head node;
	refcount_t refs;
	u8 digest[SYSCRIPT_DIGEST_LEN];
	struct program *program;
};

static LIST_HEAD(all);			/* the newest first */
static unsigned int count;
static DEFINE_SPINLOCK(shared_lock);	/* guards the list and its length */
static DEFINE_MUTEX(shared_change);	/* serialises creation, so that each digest exists once */

static struct shared *shared_find(const u8 *digest)
{
	struct shared *shared;

	lockdep_assert_held(&shared_lock);
	list_for_each_entry(shared, &all, node)
		if (!memcmp(shared->digest, digest, sizeof(shared->digest)))
			return shared;
	return NULL;
}

struct shared *shared_get(const u8 *digest)
{
	struct shared *shared;

	spin_lock(&shared_lock);
	shared = shared_find(digest);
	if (shared)
		refcount_inc(&shared->refs);
	spin_unlock(&shared_lock);
	return shared;
}

static void shared_destroy(struct shared *shared)
{
	if (shared->program)
		program_destroy(shared->program);
	kfree(shared);
}

void shared_put(struct shared *shared)
{
	if (refcount_dec_and_test(&shared->refs))
		shared_destroy(shared);
}

const struct program *shared_program(const struct shared *shared)
{
	return shared->program;
}

/* The oldest base that no script extends. Under the lock none can begin to extend it. */
static struct shared *find_unused(void)
{
	struct shared *shared;

	lockdep_assert_held(&shared_lock);
	list_for_each_entry_reverse(shared, &all, node)
		if (refcount_read(&shared->refs) == 1)
			return shared;
	return NULL;
}

/*
 * Puts @shared on the list, in place of @old if the list is full.  False if it is full and there
 * is no @old.
 */
static bool shared_publish(struct shared *shared, struct shared **old)
{
	bool full;

	spin_lock(&shared_lock);
	full = count == SYSCRIPT_SHARED_MAX;
	*old = full ? find_unused() : NULL;
	if (*old) {
		list_replace(&(*old)->node, &shared->node);
		list_move(&shared->node, &all);
	} else if (!full) {
		list_add(&shared->node, &all);
		count++;
	}
	spin_unlock(&shared_lock);
	return *old || !full;
}

/* The replaced base stays until the new one is complete. */
static int shared_make(struct shared *shared, const struct syscript_register *reg,
		       const char *image, char *error)
{
	int err = program_create(&shared->program, reg, CONTEXT_SHARED, error) ?:
		  program_load(shared->program, reg, image, NULL, error);
	struct shared *old;

	if (err)
		return err;
	if (shared_publish(shared, &old)) {
		if (old)
			shared_put(old);
		return 0;
	}
	scnprintf(error, RUN_ERROR_LEN,
		  "the machine has %u shared bases, and scripts extend all of them: end these scripts",
		  SYSCRIPT_SHARED_MAX);
	return -EDQUOT;
}

static bool is_there(const u8 *digest)
{
	bool there;

	spin_lock(&shared_lock);
	there = shared_find(digest);
	spin_unlock(&shared_lock);
	return there;
}

static int shared_add_checked(const struct syscript_register *reg, const char *image,
			      const u8 *digest, char *error)
{
	struct shared *shared;
	int err;

	if (is_there(digest))
		return 0;
	shared = kzalloc(sizeof(*shared), GFP_KERNEL);
	if (!shared)
		return -ENOMEM;
	refcount_set(&shared->refs, 1);
	memcpy(shared->digest, digest, sizeof(shared->digest));
	err = shared_make(shared, reg, image, error);
	if (err)
		shared_destroy(shared);
	return err;
}

int shared_add(const struct syscript_register *reg, const char *image, char *error)
{
	u8 digest[SYSCRIPT_DIGEST_LEN];
	int err;

	sha256((const u8 *)image, reg->image_len, digest);
	err = mutex_lock_killable(&shared_change);
	if (err)
		return err;
	err = shared_add_checked(reg, image, digest, error);
	mutex_unlock(&shared_change);
	return err;
}

void shared_exit(void)
{
	struct shared *shared, *next;

	list_for_each_entry_safe(shared, next, &all, node)
		shared_put(shared);
}
