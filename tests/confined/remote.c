// SPDX-License-Identifier: GPL-2.0
/*
 * The functions of subject.c for another process, remote.py: for processors that are emulated. Each
 * request is a header and bytes, and so is its answer.
 */
#include <stdio.h>

#include "subject.c"
#include "../../engine/confined/verify_insn.h"

enum {
	LOAD, FREE, ARENA, READ, WRITE, RUN, CALLS, CHARGES, POLLS, WATCH, CODE, VERIFY, TEXT, STUB,
	SAMPLE,
};

struct request {
	u32 what, len;
	u64 subject, args[7];
};

struct answer {
	u64 value;
	u32 len;
	u32 unused;
};

#define TEXT_LEN	256

static void answer(u64 value, const void *bytes, u32 len)
{
	struct answer answer = { value, len, 0 };

	fwrite(&answer, sizeof(answer), 1, stdout);
	if (len)
		fwrite(bytes, 1, len, stdout);
	fflush(stdout);
}

static void load(const struct request *request, const void *bytes)
{
	char error[TEXT_LEN] = "";
	struct subject *m = subject_load(bytes, request->len, (void *)request->subject,
					 (void *)request->args[0], request->args[1],
					 request->args[2], error, sizeof(error));

	answer((unsigned long)m, error, sizeof(error));
}

static void text(struct subject *m)
{
	char text[TEXT_LEN];

	subject_text(m, text, sizeof(text));
	answer(0, text, sizeof(text));
}

/* The code, and then the labels in @bytes. */
static void verify(struct subject *m, const struct request *request, const u8 *bytes)
{
	char error[TEXT_LEN] = "";
	int err = subject_verify(m, bytes, (void *)(bytes + request->args[0]), request->args[1],
				 error, sizeof(error));

	answer(err, error, sizeof(error));
}

static void calls(struct subject *m, u64 next_result)
{
	u32 n;
	struct call *calls = subject_calls(m, &n, next_result);

	answer(n, calls, (n < CALLS_MAX ? n : CALLS_MAX) * sizeof(*calls));
}

/* Words that the verifier's decoder accepts, by chance: @n of @tries. */
static void sample(u32 n, u32 tries)
{
	struct sampled {
		u64 word;
		struct verify_insn insn;
	} *found = calloc(n, sizeof(*found));
	u32 at = 0, i;

	for (i = 0; i < tries && at < n; i++) {
		found[at].word = i * 0x9e3779b1U;
		at += verify_decode((u8 *)&found[at].word, 4, &found[at].insn);
	}
	answer(at, found, at * sizeof(*found));
	free(found);
}

static void serve(const struct request *request, const u8 *bytes)
{
	struct subject *m = (void *)request->subject;
	const u64 *args = request->args;

	switch (request->what) {
	case LOAD:
		return load(request, bytes);
	case FREE:
		subject_free(m);
		return answer(0, NULL, 0);
	case ARENA:
		return answer((unsigned long)subject_arena(m), NULL, 0);
	case READ:
		return answer(0, (void *)args[0], args[1]);
	case WRITE:
		memcpy((void *)args[0], bytes, request->len);
		return answer(0, NULL, 0);
	case RUN:
		return answer(0, subject_run(m, args[0], args + 2, args[1]), sizeof(m->machine));
	case CALLS:
		return calls(m, args[0]);
	case CHARGES:
		return answer(0, subject_charges(m), args[0] * sizeof(u16));
	case POLLS:
		return answer(subject_polls(m), NULL, 0);
	case WATCH:
		subject_watch(m, args[0]);
		return answer(0, NULL, 0);
	case CODE:
		return answer((unsigned long)m->code.exec, m->code.exec, m->code.size);
	case VERIFY:
		return verify(m, request, bytes);
	case TEXT:
		return text(m);
	case SAMPLE:
		return sample(args[0], args[1]);
	case STUB:
		return answer((unsigned long)subject_stub(args[0]), NULL, 0);
	}
	exit(1);
}

int main(void)
{
	struct request request;

	while (fread(&request, sizeof(request), 1, stdin) == 1) {
		/* Exactly this long, and aligned for labels. */
		u8 *bytes = malloc(request.len ?: 1);

		if (fread(bytes, 1, request.len, stdin) != request.len)
			return 1;
		serve(&request, bytes);
		free(bytes);
	}
	return 0;
}
