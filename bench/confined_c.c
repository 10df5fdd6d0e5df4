// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Counts instructions of the compute kernels in kernels.c, compiled by gcc -O2 and as compounds on
 * the confined engine, whose machine code is the same in a process and in the kernel.
 *
 * usage: confined_c [KERNEL...]
 *
 * Each is counted for some iterations and then for twice as many: the difference excludes the call
 * of the compound and everything before it. It is exact except for polls of the clock when fuel runs
 * out, which vary by hundreds of instructions. On x86-64 the processor's trap flag counts; elsewhere
 * the clock of a guest that counts instructions. The outputs of both variants are compared. Writes
 * JSON.
 */
#include <cosy.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "kernels.h"
#include "measure.h"

enum way { PLAIN, CONFINED, WAYS };

static const char *const way_names[WAYS] = { "plain", "confined" };

static const char *const names[] = {
#define KERNEL(name)	#name,
#include "kernels.def"
};

#define KERNELS	(sizeof(names) / sizeof(names[0]))

static struct kernel_data *data;

static kernel_loop *loop_of(size_t which, enum way way)
{
	return way == PLAIN ? kernels_plain[which] : kernels_confined[which];
}

/* -- Data of the loops ------------------------------------------------------------ */

static uint64_t next(void)
{
	data->seed = data->seed * 6364136223846793005UL + 1442695040888963407UL;
	return data->seed >> 33;
}

/*
 * Fills @size bytes with texts from @piece, truncated at the end; returns where the last one began.
 */
static size_t fill(unsigned char *to, size_t size, void (*piece)(char *text))
{
	size_t at = 0, last = 0, n;
	char text[64];

	while (at < size) {
		piece(text);
		n = strlen(text);
		last = at;
		memcpy(to + at, text, n < size - at ? n : size - at);
		at += n;
	}
	return last;
}

static void prose_piece(char *text)
{
	static const char *const words[] = {
		"a", "line", "of", "words", "in", "some", "which", "there", "is", "match",
		"letter", "other", "state", "then", "index", "never",
	};

	strcpy(text, words[next() % 16]);
	strcat(text, next() % 10 ? " " : "\n");
}

static void utf8_piece(char *text)
{
	static const char *const characters[] = {
		"text ", "words and ", "\u00e9", "\u20ac", "\U0001f600", "\u4e2d", "ASCII",
		"\u03b1\u03b2\u03b3",
	};

	strcpy(text, characters[next() % 8]);
}

static void json_piece(char *text)
{
	switch (next() % 4) {
	case 0:
		sprintf(text, "{\"name\": \"some \\\"text\\\" here\", \"id\": %lu},\n", next() % 100000);
		break;
	case 1:
		sprintf(text, "{\"list\": [%lu, -%lu.5e3, true]},\n", next() % 100, next());
		break;
	case 2:
		strcpy(text, "{\"empty\": {}, \"none\": null},\n");
		break;
	default:
		strcpy(text, "[\"a\", \"of words\", [[], false]],\n");
	}
}

static void csv_piece(char *text)
{
	sprintf(text, "%ld%c", (long)(next() % 200000) - 100000, next() % 5 ? ',' : '\n');
}

static void url_piece(char *text)
{
	static const char *const pieces[] = {
		"name=", "value&", "some+words", "%20", "%C3%a9", "path/to/file", "%7e", "100%",
	};

	strcpy(text, pieces[next() % 8]);
}

static void make_varints(void)
{
	unsigned char *p = data->varints;

	while (p < data->varints + KERNEL_TEXT - 10) {
		uint64_t v = next() >> next() % 31;

		for (; v > 0x7f; v >>= 7)
			*p++ = v | 0x80;
		*p++ = v;
	}
	data->varints_len = p - data->varints;
}

static unsigned char *put_length(unsigned char *to, size_t n)
{
	for (; n >= 255; n -= 255)
		*to++ = 255;
	*to++ = n;
	return to;
}

static unsigned char *put_sequence(unsigned char *to, const unsigned char *literals, size_t n,
				   size_t offset, size_t match)
{
	*to++ = (n < 15 ? n : 15) << 4 | (!match ? 0 : match - 4 < 15 ? match - 4 : 15);
	if (n >= 15)
		to = put_length(to, n - 15);
	memcpy(to, literals, n);
	to += n;
	if (!match)
		return to;
	*to++ = offset;
	*to++ = offset >> 8;
	return match - 4 < 15 ? to : put_length(to, match - 4 - 15);
}

static size_t longest_match(const unsigned char *p, size_t left, size_t back, size_t *offset)
{
	size_t best = 0;

	for (size_t i = 1; i <= back; i++) {
		size_t n = 0;

		while (n < left && p[n] == (p - i)[n])
			n++;
		if (n > best) {
			best = n;
			*offset = i;
		}
	}
	return best;
}

/* The prose as an LZ4 block, as much as fits. */
static void make_packed(void)
{
	const unsigned char *p = data->prose, *end = p + KERNEL_TEXT, *literals = p;
	unsigned char *to = data->packed;
	size_t offset = 0;

	while (p < end && to < data->packed + KERNEL_TEXT - 64) {
		size_t match = longest_match(p, end - p, p - data->prose, &offset);

		if (match < 4) {
			p++;
			continue;
		}
		to = put_sequence(to, literals, p - literals, offset, match);
		literals = p += match;
	}
	to = put_sequence(to, literals, p - literals, 0, 0);
	data->packed_len = to - data->packed;
}

static void make_names(void)
{
	static const char *const sorted[KERNEL_NAMES] = {
		"a", "and", "end", "index", "letter", "line", "match", "never", "of", "other",
		"some", "state", "then", "there", "which", "words",
	};

	for (int i = 0; i < KERNEL_NAMES; i++)
		strcpy(data->names[i], sorted[i]);
}

static void make_crc_table(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t v = i;

		for (int bit = 0; bit < 8; bit++)
			v = v & 1 ? v >> 1 ^ 0xedb88320U : v >> 1;
		data->crc_table[i] = v;
	}
}

static void make_data(void)
{
	size_t last;

	data = cosy_calloc(1, sizeof(*data));
	if (!data)
		measure_die("no memory");
	data->seed = 42;
	strcpy(data->pattern, "match");
	fill(data->prose, KERNEL_TEXT, prose_piece);
	/* A truncated character would end the loop. */
	last = fill(data->utf8, KERNEL_TEXT, utf8_piece);
	memset(data->utf8 + last, '.', KERNEL_TEXT - last);
	fill(data->json, KERNEL_TEXT, json_piece);
	fill(data->csv, KERNEL_TEXT, csv_piece);
	fill(data->url, KERNEL_TEXT, url_piece);
	for (int i = 0; i < KERNEL_WORDS; i++)
		data->words[i] = next() << 20 ^ next();
	make_varints();
	make_packed();
	make_names();
	make_crc_table();
}

/* -- Counting ----------------------------------------------------------------------- */

/* Registers the compound; the second call, because the engine's clock is a thread. */
static void warm_up(kernel_loop *loop)
{
	loop(data, 1);
	loop(data, 1);
}

#ifdef __x86_64__

#define STEPS		1
#define TRAP_FLAG	0x100

static struct {
	volatile bool runs;
	uint64_t steps;
	greg_t last;
} seen;

/* An instruction with a rep prefix counts once, however many steps it takes. */
static void step(int signal, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	(void)signal;
	(void)info;
	seen.steps += regs[REG_RIP] != seen.last;
	seen.last = regs[REG_RIP];
	if (!seen.runs)
		regs[REG_EFL] &= ~TRAP_FLAG;
}

static uint64_t count(size_t which, enum way way, long steps)
{
	kernel_loop *loop = loop_of(which, way);

	warm_up(loop);
	seen.steps = 0;
	seen.runs = true;
	asm volatile("pushf; orq %0, (%%rsp); popf" : : "i"(TRAP_FLAG) : "memory", "cc");
	loop(data, steps);
	seen.runs = false;
	asm volatile("nop; nop" : : : "memory");
	return seen.steps;
}

static void prepare(void)
{
	static char stack[64 << 10];
	struct sigaction action = { .sa_sigaction = step, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	stack_t alternate = { .ss_sp = stack, .ss_size = sizeof(stack) };

	if (sigaltstack(&alternate, NULL) || sigaction(SIGTRAP, &action, NULL))
		measure_die("signals: %m");
}

#else

/* Many, because the clock's unit is 16 instructions. */
#define STEPS		16
#define TRIES		10

/* The shortest of several, because interrupts only add. */
static uint64_t count(size_t which, enum way way, long steps)
{
	kernel_loop *loop = loop_of(which, way);
	uint64_t least = UINT64_MAX, since;

	warm_up(loop);
	for (int i = 0; i < TRIES; i++) {
		since = measure_now();
		loop(data, steps);
		since = measure_now() - since;
		if (since < least)
			least = since;
	}
	return least;
}

static void prepare(void)
{
}

#endif

/* Both variants must return and write the same. */
static void check(size_t which)
{
	static struct kernel_data written[WAYS], before;
	long results[WAYS];

	before = *data;
	for (int way = 0; way < WAYS; way++) {
		*data = before;
		results[way] = loop_of(which, way)(data, 3);
		written[way] = *data;
	}
	if (results[PLAIN] != results[CONFINED] ||
	    memcmp(&written[PLAIN], &written[CONFINED], sizeof(before)))
		measure_die("%s: the two ways differ (%ld, %ld)", names[which],
			    results[PLAIN], results[CONFINED]);
	*data = before;
}

static void measure(size_t which, bool first)
{
	printf("%s\n    \"%s\": {", first ? "" : ",", names[which]);
	for (int way = 0; way < WAYS; way++)
		printf("%s\"%s\": %lu", way ? ", " : "", way_names[way],
		       (count(which, way, 2 * STEPS) - count(which, way, STEPS)) / STEPS);
	printf("}");
	check(which);
}

static bool is_wanted(size_t which, int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], names[which]))
			return true;
	return argc < 2;
}

int main(int argc, char **argv)
{
	bool first = true;

	make_data();
	prepare();
	printf("{\"kernels\": {");
	for (size_t i = 0; i < KERNELS; i++)
		if (is_wanted(i, argc, argv)) {
			measure(i, first);
			first = false;
		}
	printf("\n}}\n");
	return 0;
}
