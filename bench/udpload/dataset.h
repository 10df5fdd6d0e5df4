/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Keys and values that follow from a key's number and a version, so that every
 * reply can be checked byte by byte without keeping a value.
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
/* Of a GET, and its bytes: what memcached's clients keep to. */
#define KEYS_PER_GET_MAX	64
#define GET_SIZE_MAX		1400

/* The most that a value needs around it, in a request or a reply. */
#define FRAME_SIZE	(KEY_SIZE_MAX + 64)

struct dataset {
	unsigned int keys;
	size_t key_size;
	size_t value_size;
	size_t reply_size;	/* of a GET of one key that hits */
	char *names;
	unsigned char *pool;	/* where values are cut from */
	char tail[32];		/* of a reply's first line */
	size_t tail_len;
	/* By key, for all threads: the version last sent, the one last acknowledged. */
	uint32_t *sent;
	uint32_t *stored;
	bool *setting;		/* a SET of it is out: the next has to wait */
};

enum reply {
	REPLY_RIGHT,
	REPLY_MISS,
	REPLY_WRONG,
};

/* Ends the program if a size is out of range or there is no memory. */
void dataset_init(struct dataset *data, unsigned int keys, size_t key_size, size_t value_size);
void dataset_free(struct dataset *data);

static inline const char *dataset_name(const struct dataset *data, uint32_t key)
{
	return data->names + key * data->key_size;
}

/* All keys are stored, in versions before @next, which is the next to be sent. */
void dataset_is_stored(struct dataset *data, uint32_t next);

/* Each writes a part of the protocol and returns its length. */
size_t dataset_get(const struct dataset *data, const struct asked *asked, unsigned int keys,
		   unsigned char *buf);
size_t dataset_set(const struct dataset *data, uint32_t key, uint32_t version, unsigned char *buf);
size_t dataset_reply(const struct dataset *data, uint32_t key, uint32_t version,
		     unsigned char *buf);

/* The number of the key with this name; -1 if there is none. */
int64_t dataset_find(const struct dataset *data, const char *name, size_t len);

/* The version of the next SET of a key, which dataset_claim() has been successful for. */
uint32_t dataset_next(struct dataset *data, uint32_t key);

/* Whether no SET of the key was out.  Until dataset_release() there is one. */
bool dataset_claim(struct dataset *data, uint32_t key);

/* The SET has been answered, or is lost. */
void dataset_release(struct dataset *data, uint32_t key, bool stored);

/* Versions of a key from this one on may be seen by who asks now. */
static inline uint32_t dataset_since(const struct dataset *data, uint32_t key)
{
	return __atomic_load_n(&data->stored[key], __ATOMIC_ACQUIRE);
}

/* Whether a value is its key's in some version, which is then stored. */
bool dataset_value_is(const struct dataset *data, uint32_t key, const unsigned char *value,
		      uint32_t *version);

/* What a reply to a GET of one key is. */
enum reply dataset_check(const struct dataset *data, const struct asked *asked,
			 const unsigned char *reply, size_t len);

/*
 * The same of a datagram of the reply to a GET of several keys, which memcached sends for
 * each value: *@at is which of the @keys it is the value of, if it is right (one that is
 * not in @seen before one that is), and *@last whether the reply ends there.
 */
enum reply dataset_check_value(const struct dataset *data, const struct asked *asked,
			       unsigned int keys, uint64_t seen,
			       const unsigned char *reply, size_t len, unsigned int *at,
			       bool *last);

#endif
