// SPDX-License-Identifier: GPL-2.0
/*
 * The pattern of CVE-2017-2636 (n_hdlc): a buffer that could not be sent is kept in
 * "tbuf" for the next time.  A flush and a sender that run at once put it on the list
 * of free buffers twice, and the end of the line frees both.
 */
#include <linux/list.h>
#include <linux/module.h>
#include <linux/slab.h>

static bool fixed;
module_param(fixed, bool, 0444);

struct buffer {
	struct buffer *next;
	int count;
	char bytes[80];
};

struct line {
	struct buffer *tbuf, *free, *waiting;
};

static void put(struct buffer **list, struct buffer *buffer)
{
	buffer->next = *list;
	*list = buffer;
}

static struct buffer *get(struct buffer **list)
{
	struct buffer *buffer = *list;

	if (buffer)
		*list = buffer->next;
	return buffer;
}

/* Both reach this point before either continues. */
static void flush_and_send(struct line *line)
{
	struct buffer *seen_by_flush = line->tbuf, *seen_by_sender = line->tbuf;

	if (fixed) {
		/* It returns to the head of the waiting list, under the list's lock. */
		put(&line->waiting, line->tbuf);
		line->tbuf = NULL;
		return;
	}
	put(&line->free, seen_by_flush);
	line->tbuf = NULL;
	/* The sender does the same on another CPU, with the value that it read before. */
	put(&line->waiting, seen_by_sender);
}

static noinline void line_release(struct line *line)
{
	struct buffer *buffer;

	while ((buffer = get(&line->free)))
		kfree(buffer);
	while ((buffer = get(&line->waiting)))
		kfree(buffer);
}

static int __init trigger(void)
{
	struct line line = {};

	line.tbuf = kzalloc(sizeof(*line.tbuf), GFP_KERNEL);
	if (!line.tbuf)
		return -ENOMEM;
	flush_and_send(&line);
	line_release(&line);
	return 0;
}

static void __exit finish(void)
{
}

module_init(trigger);
module_exit(finish);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("The pattern of CVE-2017-2636");
