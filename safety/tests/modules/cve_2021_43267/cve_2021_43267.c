// SPDX-License-Identifier: GPL-2.0
/*
 * The pattern of CVE-2021-43267 (tipc): a message contains a key and the key's length. Memory is
 * allocated by the message's size, and the copy uses the length in it.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>

#define ALGORITHM_LEN	32
#define HEADER_LEN	(ALGORITHM_LEN + sizeof(__be32))

static bool fixed;
module_param(fixed, bool, 0444);

struct sent_key {
	char algorithm[ALGORITHM_LEN];
	unsigned int len;
	char bytes[];
};

static noinline struct sent_key *key_received(const char *message, size_t size)
{
	size_t len = ntohl(*(__be32 *)(message + ALGORITHM_LEN));
	struct sent_key *key;

	if (fixed && len != size - HEADER_LEN)
		return NULL;
	key = kmalloc(size, GFP_KERNEL);
	if (!key)
		return NULL;
	/* Otherwise newer compilers pass the size on to memcpy(), which checks it itself. */
	OPTIMIZER_HIDE_VAR(key);
	key->len = len;
	memcpy(key->algorithm, message, ALGORITHM_LEN);
	memcpy(key->bytes, message + HEADER_LEN, key->len);
	return key;
}

static int __init trigger(void)
{
	static char message[256] = "gcm(aes)";
	size_t size = HEADER_LEN + 16;

	*(__be32 *)(message + ALGORITHM_LEN) = htonl(100);
	/* The size comes from the network: the compiler must not know it. */
	OPTIMIZER_HIDE_VAR(size);
	kfree(key_received(message, size));
	return 0;
}

static void __exit finish(void)
{
}

module_init(trigger);
module_exit(finish);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("The pattern of CVE-2021-43267");
