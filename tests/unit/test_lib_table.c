// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Tables of programs for subsystems: lookup, expiry and eviction, with threads in the same sets,
 * and with a program that overwrites its memory arbitrarily.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "../../include/uapi/syscript_image.h"
#include "../../core/table.c"
#include "lib_test.h"

#define SHIFT	16
#define SIZE	(1UL << SHIFT)
#define USER	IMAGE_ATOMIC_USER
#define SETS	(USER + 4096)
#define HEADER	(USER + 256)
#define KEY	512

static u8 *arena;
static pthread_mutex_t locks[TABLE_LOCKS];
static u64 now = 1000;

/* An arena with its guards, between inaccessible pages. */
static void make_arena(void)
{
	size_t whole = SIZE + 2 * IMAGE_GUARD + 8192;
	u8 *at = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	CHECK(!mprotect(at + 4096, whole - 8192, PROT_READ | PROT_WRITE));
	arena = at + 4096 + IMAGE_GUARD;
	for (int i = 0; i < TABLE_LOCKS; i++)
		pthread_mutex_init(&locks[i], NULL);
}

static struct header *make_table(u32 entries, u32 key_size, u32 value_size, u32 age)
{
	struct header *header = (void *)(arena + 256);

	memset(arena, 0, SIZE);
	*header = (struct header){ entries, key_size, value_size, age, SETS, 0 };
	return header;
}

/* An arbitrary hash; tests that want collisions keep @bits of it. */
static u32 mix(u64 key, u32 bits)
{
	key *= 0x9e3779b97f4a7c15;
	return bits ? key >> (64 - bits) : 0;
}

enum { FIND, ADD, DELETE };

static u64 operate(int what, u64 key, u32 bits, u64 at)
{
	struct table table;
	u32 lock;
	u64 value;

	memcpy(arena + at, &key, sizeof(key));
	if (table_open(&table, arena, SIZE - 1, HEADER, USER + at))
		return -1;
	lock = table_hash(&table, mix(table.key[0], bits), now);
	if (what == FIND)
		return table_find(&table);
	pthread_mutex_lock(&locks[lock]);
	value = what == ADD ? table_add(&table) : table_delete(&table);
	pthread_mutex_unlock(&locks[lock]);
	return value;
}

static u64 *value_at(u64 address)
{
	CHECK(address >= SETS && address < USER + SIZE && !(address & 7));
	return (u64 *)(arena + (address - USER));
}

static void finds_what_was_added(void)
{
	struct header *header = make_table(256, 8, 8, 0);

	for (u64 key = 1; key <= 100; key++) {
		CHECK_EQ(operate(FIND, key, 32, KEY), 0);
		*value_at(operate(ADD, key, 32, KEY)) = key * 3;
	}
	CHECK_EQ(header->evicted, 0);
	for (u64 key = 1; key <= 100; key++) {
		CHECK_EQ(*value_at(operate(FIND, key, 32, KEY)), key * 3);
		CHECK_EQ(operate(ADD, key, 32, KEY), operate(FIND, key, 32, KEY));
	}
	CHECK_EQ(operate(DELETE, 7, 32, KEY), 1);
	CHECK_EQ(operate(DELETE, 7, 32, KEY), 0);
	CHECK_EQ(operate(FIND, 7, 32, KEY), 0);
	CHECK_EQ(*value_at(operate(FIND, 8, 32, KEY)), 24);
	CHECK_EQ(*value_at(operate(ADD, 7, 32, KEY)), 0);
}

/* Keys of equal hash, more than a set has entries: the least recently used is evicted. */
static void evicts_the_oldest(void)
{
	struct header *header = make_table(64, 8, 16, 0);

	for (u64 key = 1; key <= 8; key++, now++)
		*value_at(operate(ADD, key << 40, 0, KEY)) = key;
	CHECK(operate(FIND, 1UL << 40, 0, KEY));
	*value_at(operate(ADD, 9UL << 40, 0, KEY)) = 9;
	CHECK_EQ(header->evicted, 1);
	for (u64 key = 1; key <= 9; key++) {
		u64 at = operate(FIND, key << 40, 0, KEY);

		if (key == 2)
			CHECK_EQ(at, 0);
		else
			CHECK_EQ(*value_at(at), key);
	}
}

static void forgets_with_age(void)
{
	struct header *header = make_table(8, 4, 8, 50);
	u64 at;

	*value_at(operate(ADD, 1, 32, KEY)) = 11;
	*value_at(operate(ADD, 2, 32, KEY)) = 22;
	now += 50;
	CHECK_EQ(*value_at(operate(FIND, 1, 32, KEY)), 11);
	now++;
	CHECK_EQ(*value_at(operate(FIND, 1, 32, KEY)), 11);
	CHECK_EQ(operate(FIND, 2, 32, KEY), 0);
	CHECK_EQ(operate(DELETE, 2, 32, KEY), 0);
	/* Another CPU's clock is a tick behind. */
	now -= 4;
	CHECK_EQ(*value_at(operate(FIND, 1, 32, KEY)), 11);
	now += 1000;
	at = operate(ADD, 1, 32, KEY);
	CHECK_EQ(*value_at(at), 0);
	for (u64 key = 10; key < 17; key++)
		operate(ADD, key, 32, KEY);
	now += 1000;
	for (u64 key = 20; key < 28; key++)
		operate(ADD, key, 32, KEY);
	CHECK_EQ(header->evicted, 0);
	now = TABLE_NOW - 5;
	operate(ADD, 10, 32, KEY);
	now += 20;
	CHECK(operate(FIND, 10, 32, KEY));
}

static void refuses_what_is_no_table(void)
{
	static const u32 bad[][3] = {
		{ 0, 8, 8 }, { 4, 8, 8 }, { 12, 8, 8 }, { 8, 0, 8 }, { 8, 65, 8 },
		{ 8, 8, 1025 }, { 8, 8, ~0U }, { 8, ~0U, 8 },
	};
	struct header *header;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		make_table(bad[i][0], bad[i][1], bad[i][2], 0);
		CHECK_EQ(operate(ADD, 1, 32, KEY), -1);
	}
	header = make_table(8, 64, 1024, 0);
	header->sets++;
	CHECK_EQ(operate(ADD, 1, 32, KEY), -1);
}

/* -- Threads ----------------------------------------------------------------------- */

#define THREADS	4
#define ROUNDS	20000
#define KEYS	48

/* Like a rate limiter: no increment is lost, and no key has two entries. */
static void *count(void *arg)
{
	u64 at = KEY + 64 * (u64)arg;

	for (u64 i = 0; i < ROUNDS; i++)
		__atomic_fetch_add(value_at(operate(ADD, 1 + i % KEYS, 3, at)), 1,
				   __ATOMIC_RELAXED);
	return NULL;
}

static void run(void *(*of)(void *), u64 n)
{
	pthread_t threads[THREADS + 1];

	for (u64 i = 0; i < n; i++)
		CHECK(!pthread_create(&threads[i], NULL, of, (void *)i));
	for (u64 i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

static atomic_uint arrived;
static u64 got[2][8];

/* Makes two threads start as simultaneously as possible. */
static void meet(u32 n)
{
	atomic_fetch_add(&arrived, 1);
	for (u32 spins = 0; atomic_load(&arrived) < 2 * n; spins++)
		if (spins > 1000)
			sched_yield();
}

/* Two threads that add the same keys at once get the same entries. */
static void *add_same(void *arg)
{
	u64 self = (u64)arg;

	for (u32 i = 1, n = 1; i <= ROUNDS / 2; i++) {
		meet(n++);
		for (u32 key = 0; key < 8; key++)
			got[self][key] = operate(ADD, key, 0, KEY + 64 * self);
		meet(n++);
		if (self)
			continue;
		for (u32 key = 0; key < 8; key++) {
			CHECK_EQ(got[0][key], got[1][key]);
			CHECK_EQ(operate(DELETE, key, 0, KEY), 1);
		}
	}
	return NULL;
}

static void counts_on_all_cpus(void)
{
	u64 sum = 0;

	make_table(64, 8, 8, 0);
	run(count, THREADS);
	for (u64 key = 1; key <= KEYS; key++) {
		u64 at = operate(FIND, key, 3, KEY);

		if (at)
			sum += *value_at(at);
	}
	CHECK_EQ(((struct header *)(arena + 256))->evicted, 0);
	CHECK_EQ(sum, THREADS * ROUNDS);
}

static atomic_bool stop;
static atomic_uint opened;

/* A program that writes anywhere, most often to its tables' headers. */
static void *scribble(void *arg)
{
	static const u32 likely[] = { 8, 64, 1024, 1U << 31, 1, 65, ~0U, 0 };
	u32 *words = (void *)arena, seed = 1;

	(void)arg;
	while (!atomic_load(&stop)) {
		seed = seed * 1103515245 + 12345;
		words[seed >> 8 & (SIZE / 4 - 1)] = seed;
		words[64 + (seed >> 4 & 7)] = seed & 1 << 20 ? likely[seed >> 28 & 7] : seed;
	}
	return NULL;
}

static void *anything(void *arg)
{
	u32 seed = 7 + (u64)arg;

	if (arg == (void *)THREADS)
		return scribble(arg);
	for (int i = 0; i < 100000; i++) {
		struct table table;
		u32 lock;

		seed = seed * 1103515245 + 12345;
		if (table_open(&table, arena, SIZE - 1, HEADER + (seed & 1 << 30 ? seed : 0),
			       seed * 0x100000001UL))
			continue;
		atomic_fetch_add(&opened, 1);
		lock = table_hash(&table, seed, i);
		pthread_mutex_lock(&locks[lock]);
		table_add(&table);
		table_delete(&table);
		pthread_mutex_unlock(&locks[lock]);
		table_find(&table);
	}
	if (!arg)
		atomic_store(&stop, true);
	return NULL;
}

int main(void)
{
	make_arena();
	finds_what_was_added();
	evicts_the_oldest();
	forgets_with_age();
	refuses_what_is_no_table();
	counts_on_all_cpus();
	make_table(8, 8, 8, 0);
	run(add_same, 2);
	make_table(64, 8, 8, 0);
	run(anything, THREADS + 1);
	CHECK(opened > 100);
	return 0;
}
