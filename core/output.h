/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * A script's output: kept until it is read, up to OUTPUT_LEN bytes.  The caller holds the
 * script's lock.  Plain C, for engines.
 */
#ifndef SYSCRIPT_OUTPUT_H
#define SYSCRIPT_OUTPUT_H

#define OUTPUT_LEN	16384
#define OUTPUT_CUT	"\n[output cut here: 16 KiB wait to be read]\n"

/* Not zeroed: only what has been written is read. */
struct output {
	unsigned int len;
	int cut;			/* the buffer ends with OUTPUT_CUT */
	char text[OUTPUT_LEN];
};

static inline void output_append(struct output *output, const char *s, unsigned long n)
{
	__builtin_memcpy(output->text + output->len, s, n);
	output->len += n;
}

/* OUTPUT_CUT replaces the part that does not fit. */
static inline void output_write(struct output *output, const char *s, unsigned long n)
{
	unsigned long room = OUTPUT_LEN - (sizeof(OUTPUT_CUT) - 1) - output->len;

	if (output->cut)
		return;
	output->cut = n > room;
	output_append(output, s, output->cut ? room : n);
	if (output->cut)
		output_append(output, OUTPUT_CUT, sizeof(OUTPUT_CUT) - 1);
}

/* Moves up to @n bytes to @to; returns how many there were before. */
static inline unsigned long output_take(struct output *output, char *to, unsigned long n)
{
	unsigned long before = output->len;

	if (n > before)
		n = before;
	if (n) {
		__builtin_memcpy(to, output->text, n);
		__builtin_memmove(output->text, output->text + n, before - n);
	}
	output->len = before - n;
	if (!output->len)
		output->cut = 0;
	return before;
}

#endif /* SYSCRIPT_OUTPUT_H */
