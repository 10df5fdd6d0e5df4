/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Keys and values that follow from a key's number and a version, so that every reply can be checked
 * byte by byte without storing values.
 */
#ifndef DATASET_H
#define DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client.h"

#define KEY_SIZE_MIN	8
#define KEY_SIZE_MAX	250
/* A value starts with its key's number and its version. */
#define VALUE_SIZE_MIN	8
#define VALUE_SIZE_MAX	65536
#define KEYS_MAX	(1u << 24)
/* Maximum of keys, and of bytes, in a GET: the limits of memcached's clients. */
#define KEYS_PER_GET_MAX	64
#define GET_SIZE_MAX		1400

/* The most bytes around a value, in a request or a reply. */
#define FRAME_SIZE	(KEY_SIZE_MAX + 64)

struct dataset {
	unsigned int keys;
	size_t key_size;
	size_t value_size;
	size_t reply_size;	/* of a GET of one key that hits */
	char *names;
	unsigned char *pool;	/* values are slices of it */
	char tail[32];		/* of a reply's first line */
	size_t tail_len;
	/* Each key's version last sent and last acknowledged; shared by all threads. */
	uint32_t *sent;
	uint32_t *stored;
	bool *setting;		/* a SET of it is in flight: the next must wait */
};

enum reply {
	REPLY_RIGHT,
	REPLY_MISS,
	REPLY_WRONG,
};

/* Ends the program if a size is out of range or memory is short. */
void dataset_init(struct dataset *data, unsigned int keys, size_t key_size, size_t value_size);
void dataset_free(struct dataset *data);

static inline const char *dataset_name(const struct dataset *data, uint32_t key)
{
	return data->names + key * data->key_size;
}

/* All keys are stored, in versions before @next, the next version to send. */
void dataset_is_stored(struct dataset *data, uint32_t next);

/* Each writes a part of the protocol and returns its length. */
size_t dataset_get(const struct dataset *data, const struct asked *asked, unsigned int keys,
		   unsigned char *buf);
size_t dataset_set(const struct dataset *data, uint32_t key, uint32_t version, unsigned char *buf);
size_t dataset_reply(const struct dataset *data, uint32_t key, uint32_t version,
		     unsigned char *buf);

/* The number of the key with this name; -1 if there is none. */
int64_t dataset_find(const struct dataset *data, const char *name, size_t len);

/* The version of the next SET of a key that dataset_claim() claimed. */
uint32_t dataset_next(struct dataset *data, uint32_t key);

/* Claims a key for a SET, until dataset_release(); false if a SET is in flight. */
bool dataset_claim(struct dataset *data, uint32_t key);

/* The SET was answered, or is lost. */
void dataset_release(struct dataset *data, uint32_t key, bool stored);

/* The oldest version of a key that a request sent now may return. */
static inline uint32_t dataset_since(const struct dataset *data, uint32_t key)
{
	return __atomic_load_n(&data->stored[key], __ATOMIC_ACQUIRE);
}

/* Whether a value is its key's in some version, which is then stored. */
bool dataset_value_is(const struct dataset *data, uint32_t key, const unsigned char *value,
		      uint32_t *version);

/* Classifies a reply to a GET of one key. */
enum reply dataset_check(const struct dataset *data, const struct asked *asked,
			 const unsigned char *reply, size_t len);

/*
 * The same for one datagram of the reply to a GET of several keys, of which memcached sends one per
 * value: *@at is the index of the key it belongs to, if it is right (keys not in @seen are
 * preferred), and *@last says whether the reply ends there.
 */
enum reply dataset_check_value(const struct dataset *data, const struct asked *asked,
			       unsigned int keys, uint64_t seen,
			       const unsigned char *reply, size_t len, unsigned int *at,
			       bool *last);

#endif
