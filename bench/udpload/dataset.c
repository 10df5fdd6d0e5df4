// SPDX-License-Identifier: GPL-2.0 OR MIT
/* See dataset.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataset.h"
#include "measure.h"

#define POOL_STARTS	65536
#define SEED		2463534242u

static const char get[] = "get", set[] = "set ", value_is[] = "VALUE ", end[] = "\r\nEND\r\n",
		  miss[] = "END\r\n", newline[] = "\r\n";

#define LEN(text)	(sizeof(text) - 1)

static unsigned char *put(unsigned char *to, const void *from, size_t len)
{
	memcpy(to, from, len);
	return to + len;
}

static bool take_expected(const unsigned char **from, const void *expected, size_t len)
{
	bool same = !memcmp(*from, expected, len);

	*from += len;
	return same;
}

static void fill_pool(unsigned char *pool, size_t size)
{
	uint32_t x = SEED;

	for (size_t i = 0; i < size; i++) {
		x ^= x << 13;
		x ^= x >> 17;
		x ^= x << 5;
		pool[i] = x >> 24;
	}
}

static void fill_names(struct dataset *data)
{
	char name[KEY_SIZE_MAX + 1];

	for (uint32_t key = 0; key < data->keys; key++) {
		snprintf(name, sizeof(name), "k%0*x", (int)data->key_size - 1, key);
		memcpy(data->names + key * data->key_size, name, data->key_size);
	}
}

static void check_sizes(unsigned int keys, size_t key_size, size_t value_size)
{
	if (!keys || keys > KEYS_MAX)
		measure_die("%u keys: there can be 1 to %u", keys, KEYS_MAX);
	if (key_size < KEY_SIZE_MIN || key_size > KEY_SIZE_MAX)
		measure_die("keys of %zu bytes: they can have %d to %d", key_size, KEY_SIZE_MIN,
			    KEY_SIZE_MAX);
	if (value_size < VALUE_SIZE_MIN || value_size > VALUE_SIZE_MAX)
		measure_die("values of %zu bytes: they can have %d to %d", value_size,
			    VALUE_SIZE_MIN, VALUE_SIZE_MAX);
}

void dataset_init(struct dataset *data, unsigned int keys, size_t key_size, size_t value_size)
{
	check_sizes(keys, key_size, value_size);
	*data = (struct dataset){
		.keys = keys,
		.key_size = key_size,
		.value_size = value_size,
		.names = malloc(keys * key_size),
		.pool = malloc(POOL_STARTS + value_size),
		.sent = calloc(keys, sizeof(uint32_t)),
		.stored = calloc(keys, sizeof(uint32_t)),
		.setting = calloc(keys, sizeof(bool)),
	};
	if (!data->names || !data->pool || !data->sent || !data->stored ||
	    !data->setting)
		measure_die("no memory for %u keys", keys);
	fill_pool(data->pool, POOL_STARTS + value_size);
	fill_names(data);
	data->tail_len = snprintf(data->tail, sizeof(data->tail), " 0 %zu\r\n", value_size);
	data->reply_size = LEN(value_is) + key_size + data->tail_len + value_size + LEN(end);
}

void dataset_free(struct dataset *data)
{
	free(data->names);
	free(data->pool);
	free(data->sent);
	free(data->stored);
	free(data->setting);
}

void dataset_is_stored(struct dataset *data, uint32_t next)
{
	for (uint32_t key = 0; key < data->keys; key++)
		data->sent[key] = next - 1;
}

uint32_t dataset_next(struct dataset *data, uint32_t key)
{
	return __atomic_add_fetch(&data->sent[key], 1, __ATOMIC_RELEASE);
}

bool dataset_claim(struct dataset *data, uint32_t key)
{
	return !__atomic_test_and_set(&data->setting[key], __ATOMIC_ACQUIRE);
}

void dataset_release(struct dataset *data, uint32_t key, bool stored)
{
	if (stored)
		__atomic_store_n(&data->stored[key], data->sent[key], __ATOMIC_RELEASE);
	__atomic_clear(&data->setting[key], __ATOMIC_RELEASE);
}

int64_t dataset_find(const struct dataset *data, const char *name, size_t len)
{
	char digits[KEY_SIZE_MAX + 1];
	uint32_t key;

	if (len != data->key_size)
		return -1;
	memcpy(digits, name + 1, len - 1);
	digits[len - 1] = '\0';
	key = strtoul(digits, NULL, 16);
	return key < data->keys && !memcmp(dataset_name(data, key), name, len) ?
		       (int64_t)key : -1;
}

/* Returns a value's bytes after its first words, from the pool. */
static const unsigned char *rest_of(const struct dataset *data, uint32_t key, uint32_t version)
{
	uint32_t x = key * 2654435761u ^ version * 2246822519u;

	return data->pool + ((x ^ x >> 15) * 3266489917u >> 16);
}

static unsigned char *put_value(const struct dataset *data, uint32_t key, uint32_t version,
				unsigned char *buf)
{
	buf = put(buf, &key, sizeof(key));
	buf = put(buf, &version, sizeof(version));
	return put(buf, rest_of(data, key, version), data->value_size - VALUE_SIZE_MIN);
}

bool dataset_value_is(const struct dataset *data, uint32_t key, const unsigned char *value,
		      uint32_t *version)
{
	if (!take_expected(&value, &key, sizeof(key)))
		return false;
	memcpy(version, value, sizeof(*version));
	value += sizeof(*version);
	return take_expected(&value, rest_of(data, key, *version),
			     data->value_size - VALUE_SIZE_MIN);
}

size_t dataset_get(const struct dataset *data, const struct asked *asked, unsigned int keys,
		   unsigned char *buf)
{
	unsigned char *at = put(buf, get, LEN(get));

	for (unsigned int i = 0; i < keys; i++) {
		*at++ = ' ';
		at = put(at, dataset_name(data, asked[i].key), data->key_size);
	}
	return put(at, newline, LEN(newline)) - buf;
}

size_t dataset_set(const struct dataset *data, uint32_t key, uint32_t version, unsigned char *buf)
{
	unsigned char *at = put(buf, set, LEN(set));

	at = put(at, dataset_name(data, key), data->key_size);
	at = put(at, " 0", 2);
	at = put(at, data->tail, data->tail_len);
	at = put_value(data, key, version, at);
	return put(at, newline, LEN(newline)) - buf;
}

size_t dataset_reply(const struct dataset *data, uint32_t key, uint32_t version,
		     unsigned char *buf)
{
	unsigned char *at = put(buf, value_is, LEN(value_is));

	at = put(at, dataset_name(data, key), data->key_size);
	at = put(at, data->tail, data->tail_len);
	at = put_value(data, key, version, at);
	return put(at, end, LEN(end)) - buf;
}

/* Whether a value, with its header, is the key's, in a permitted version. */
static bool take_value(const struct dataset *data, const struct asked *asked,
		       const unsigned char **reply)
{
	uint32_t version, key = asked->key;

	if (!take_expected(reply, value_is, LEN(value_is)) ||
	    !take_expected(reply, dataset_name(data, key), data->key_size) ||
	    !take_expected(reply, data->tail, data->tail_len) ||
	    !dataset_value_is(data, key, *reply, &version))
		return false;
	*reply += data->value_size;
	return version >= asked->since &&
	       version <= __atomic_load_n(&data->sent[key], __ATOMIC_ACQUIRE);
}

static bool is_miss(const unsigned char *reply, size_t len)
{
	return len == LEN(miss) && !memcmp(reply, miss, len);
}

enum reply dataset_check(const struct dataset *data, const struct asked *asked,
			 const unsigned char *reply, size_t len)
{
	if (is_miss(reply, len))
		return REPLY_MISS;
	return len == data->reply_size && take_value(data, asked, &reply) &&
			       take_expected(&reply, end, LEN(end)) ? REPLY_RIGHT : REPLY_WRONG;
}

enum reply dataset_check_value(const struct dataset *data, const struct asked *asked,
			       unsigned int keys, uint64_t seen,
			       const unsigned char *reply, size_t len, unsigned int *at,
			       bool *last)
{
	bool found = false;

	*last = len == data->reply_size || len == LEN(miss);
	if (is_miss(reply, len))
		return REPLY_MISS;
	if (len != data->reply_size - (*last ? 0 : LEN(miss)))
		return REPLY_WRONG;
	/* A key may be requested more than once. */
	for (unsigned int i = 0; i < keys && !(found && !(seen & 1ull << *at)); i++) {
		const unsigned char *from = reply;

		if (take_value(data, &asked[i], &from) &&
		    take_expected(&from, end, reply + len - from)) {
			found = true;
			*at = i;
		}
	}
	return found ? REPLY_RIGHT : REPLY_WRONG;
}
