// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Addresses that scripts see reveal neither where an object lies, nor how far apart objects are. */
#include "abi.h"

#define OBJECTS		256
#define BITS		47

/* Objects that lie next to each other, all of the same size. */
#define SOURCE(make) \
	"local t = {} for i = 1, 256 do t[i] = " make " end " \
	"function run(i) return tonumber((('%p'):format(t[i + 1]))) end"

static const char *const sources[] = {
	SOURCE("{}"),
	SOURCE("function() return i end"),
	SOURCE("coroutine.create(print)"),
	"local t = {} for i = 1, 256 do t[i] = {} end "
	"function run(i) return tonumber((tostring(t[i + 1]):match('0x%x+'))) end",
};

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int distinct(int64_t *values, int n)
{
	int i, count = 1;

	qsort(values, n, sizeof(*values), by_value);
	for (i = 1; i < n; i++)
		count += values[i] != values[i - 1];
	return count;
}

static void look(int fd, int64_t *seen)
{
	for (int i = 0; i < OBJECTS; i++) {
		int64_t again = -1;

		CHECK_EQ(abi_call(fd, i, 0, &seen[i]), 0);
		CHECK_EQ(abi_call(fd, i, 0, &again), 0);
		CHECK_EQ(again, seen[i]);
	}
}

/* Each bit is set half of the time: eight standard deviations are allowed. */
static void check_bits(const int64_t *seen)
{
	for (int bit = 0; bit < BITS; bit++) {
		int n = 0;

		for (int i = 0; i < OBJECTS; i++)
			n += seen[i] >> bit & 1;
		CHECK(n > OBJECTS / 4 && n < OBJECTS * 3 / 4);
	}
}

/* Neighbours have one of few distances; adding or xoring a key would show. */
static void check_distances(const int64_t *seen)
{
	int64_t sums[OBJECTS], changes[OBJECTS];

	for (int i = 0; i < OBJECTS - 1; i++) {
		sums[i] = seen[i + 1] - seen[i];
		changes[i] = seen[i + 1] ^ seen[i];
	}
	CHECK_EQ(distinct(sums, OBJECTS - 1), OBJECTS - 1);
	CHECK_EQ(distinct(changes, OBJECTS - 1), OBJECTS - 1);
}

static void test_source(const char *source)
{
	int64_t seen[OBJECTS], other[OBJECTS];
	int same = 0, fd = abi_must_register(source);

	look(fd, seen);
	check_bits(seen);
	check_distances(seen);
	close(fd);
	fd = abi_must_register(source);
	look(fd, other);
	close(fd);
	for (int i = 0; i < OBJECTS; i++)
		same += seen[i] == other[i];
	CHECK_EQ(same, 0);
	CHECK_EQ(distinct(seen, OBJECTS), OBJECTS);
}

int main(void)
{
	abi_open();
	for (unsigned int i = 0; i < sizeof(sources) / sizeof(sources[0]); i++)
		test_source(sources[i]);
	return abi_verdict();
}
