// SPDX-License-Identifier: GPL-2.0
/*
 * Functions that acquire a resource, and release it or not. A report is expected at each line
 * marked as kept, with the line marked as the way out as its last. Functions without a mark are
 * sound.
 */
#define EBUSY	16
#define ENOMEM	12

struct mutex { int owner; };
struct thing { struct mutex lock; int busy; char *text; struct thing *next; };
struct list { struct thing *first; };

void mutex_lock(struct mutex *lock);
int mutex_trylock(struct mutex *lock);
int mutex_lock_interruptible(struct mutex *lock);
void mutex_unlock(struct mutex *lock);
unsigned long arch_local_irq_save(void);
void arch_local_irq_restore(unsigned long flags);
void rcu_read_lock(void);
void rcu_read_unlock(void);
void *kmalloc(unsigned long size, unsigned int flags);
void *memdup_user(const void *from, unsigned long size);
void kfree(const void *object);
struct thing *ilookup(struct thing *thing);
void iput(struct thing *thing);
void *thing_begin(struct thing *thing);
void thing_finish(void *work);

int fill(char *text);
int use(struct thing *thing);
int thing_unlock_all(struct thing *thing);
void keep(struct thing *thing, char *text);

static inline _Bool IS_ERR(const void *pointer)
{
	return __builtin_expect(!!((unsigned long)pointer >= (unsigned long)-4095), 0);
}

/* -- locks, interrupts ------------------------------------------------------------- */

int lock_error(struct thing *t)
{
	mutex_lock(&t->lock); /* kept */
	if (t->busy)
		return -EBUSY; /* out */
	use(t);
	mutex_unlock(&t->lock);
	return 0;
}

void lock_nothing_returned(struct thing *t)
{
	mutex_lock(&t->lock); /* kept */
	if (t->busy)
		return; /* out */
	use(t);
	mutex_unlock(&t->lock);
}

int lock_interruptible(struct thing *t)
{
	int err = mutex_lock_interruptible(&t->lock); /* kept */

	if (err)
		return err;
	err = use(t);
	if (err < 0)
		return err; /* out */
	mutex_unlock(&t->lock);
	return 0;
}

int lock_break(struct thing *t, int n)
{
	for (int i = 0; i < n; i++) {
		mutex_lock(&t->lock); /* kept */
		if (use(t))
			break;
		mutex_unlock(&t->lock);
	}
	return 0; /* out */
}

int irqs_off(struct thing *t)
{
	unsigned long flags = arch_local_irq_save(); /* kept */

	if (use(t) < 0)
		return -EBUSY; /* out */
	arch_local_irq_restore(flags);
	return 0;
}

int rcu(struct list *list)
{
	struct thing *t;

	rcu_read_lock(); /* kept */
	for (t = list->first; t; t = t->next)
		if (t->busy)
			return -EBUSY; /* out */
	rcu_read_unlock();
	return 0;
}

int sound_goto(struct thing *t)
{
	int err = 0;

	mutex_lock(&t->lock);
	if (t->busy) {
		err = -EBUSY;
		goto out;
	}
	err = use(t);
out:
	mutex_unlock(&t->lock);
	return err;
}

int sound_condition(struct thing *t, int wanted)
{
	if (wanted)
		mutex_lock(&t->lock);
	use(t);
	if (wanted)
		mutex_unlock(&t->lock);
	return 0;
}

int sound_flag(struct thing *t)
{
	int locked = 0, err;

	if (t->busy) {
		mutex_lock(&t->lock);
		locked = 1;
	}
	err = use(t);
	if (locked)
		mutex_unlock(&t->lock);
	return err;
}

int sound_trylock(struct thing *t)
{
	if (!mutex_trylock(&t->lock))
		return -EBUSY;
	use(t);
	mutex_unlock(&t->lock);
	return 0;
}

/* On success the caller must unlock. */
int sound_for_caller(struct thing *t)
{
	mutex_lock(&t->lock);
	if (t->busy) {
		mutex_unlock(&t->lock);
		return -EBUSY;
	}
	return 0;
}

static void unlock(struct thing *t)
{
	mutex_unlock(&t->lock);
}

int sound_helper(struct thing *t)
{
	mutex_lock(&t->lock);
	if (t->busy) {
		unlock(t);
		return -EBUSY;
	}
	mutex_unlock(&t->lock);
	return -ENOMEM;
}

int sound_helper_elsewhere(struct thing *t)
{
	mutex_lock(&t->lock);
	if (t->busy)
		return thing_unlock_all(t);
	mutex_unlock(&t->lock);
	return 0;
}

int sound_rounds(struct thing *t)
{
	mutex_lock(&t->lock);
	for (int i = 0; i < 3; i++)
		use(t + i);
	mutex_unlock(&t->lock);
	return 0;
}

/* The same lock, named by another expression. */
int sound_other_name(struct thing *t)
{
	struct thing *next = t->next;

	mutex_lock(&next->lock);
	if (next->busy) {
		mutex_unlock(&t->next->lock);
		return -EBUSY;
	}
	mutex_unlock(&next->lock);
	return 0;
}

/* -- memory, references --------------------------------------------------------------- */

int memory_error(struct thing *t)
{
	char *text = kmalloc(10, 0); /* kept */

	if (!text)
		return -ENOMEM;
	if (t->busy)
		return -EBUSY; /* out */
	t->text = text;
	return 0;
}

/* fill() does not keep it: later it is freed, elsewhere. */
int memory_handed(struct thing *t)
{
	char *text = kmalloc(10, 0); /* kept */

	if (!text)
		return -ENOMEM;
	if (fill(text))
		return -EBUSY; /* out */
	if (t->busy) {
		kfree(text);
		return -EBUSY;
	}
	t->text = text;
	return 0;
}

int memory_dup(struct thing *t, const void *from)
{
	char *text = memdup_user(from, 10); /* kept */

	if (IS_ERR(text))
		return (long)text;
	if (t->busy)
		return -EBUSY; /* out */
	kfree(text);
	return 0;
}

int reference(struct thing *t)
{
	struct thing *other = ilookup(t); /* kept */

	if (!other)
		return -EBUSY;
	if (other->busy)
		return -EBUSY; /* out */
	iput(other);
	return 0;
}

int sound_memory(struct thing *t)
{
	char *text = kmalloc(10, 0);
	int err = -ENOMEM;

	if (!text)
		goto out;
	err = fill(text);
	if (err)
		goto free;
	keep(t, text);
	return 0;
free:
	kfree(text);
out:
	return err;
}

/* keep() may have stored it. */
int sound_handed(struct thing *t)
{
	char *text = kmalloc(10, 0);

	if (!text)
		return -ENOMEM;
	keep(t, text);
	return 0;
}

char *sound_returned(void)
{
	char *text = kmalloc(10, 0);

	if (text)
		*text = 0;
	return text;
}

int sound_stored(struct thing *t)
{
	t->text = kmalloc(10, 0);
	if (!t->text)
		return -ENOMEM;
	return fill(t->text);
}

/* -- by a rule of one's own: pair thing_begin(result) if nonzero: thing_finish(argument 1); -- */

int own_rule(struct thing *t)
{
	void *work = thing_begin(t); /* kept */

	if (!work)
		return -ENOMEM;
	if (t->busy)
		return -EBUSY; /* out */
	thing_finish(work);
	return 0;
}
