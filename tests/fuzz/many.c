// SPDX-License-Identifier: GPL-2.0
/*
 * Calls LLVMFuzzerTestOneInput() without coverage feedback, which makes several times as many calls
 * as a coverage-guided fuzzer. Inputs are mutations of the files in the directories, and random
 * bytes.
 *
 *	many RUNS SEED DIRECTORY...
 *
 * An input that ends the process is stored in crash-SEED.
 */
#include <dirent.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LONGEST		2048
#define TELL_EVERY	(1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	uint8_t *data;
	size_t size;
};

static struct input *inputs;
static size_t ninputs;
static uint8_t data[LONGEST];
static size_t size;
static uint64_t state;
static const char *seed;

static uint32_t any(uint32_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint64_t)(uint32_t)(state * 0x2545f4914f6cdd1d >> 32) * below >> 32;
}

static void add_input(const char *path)
{
	static uint8_t bytes[LONGEST];
	FILE *f = fopen(path, "r");
	struct input *in;
	size_t n;

	if (!f)
		return;
	n = fread(bytes, 1, sizeof(bytes), f);
	fclose(f);
	if (n < 8)
		return;
	inputs = realloc(inputs, (ninputs + 1) * sizeof(*inputs));
	in = &inputs[ninputs++];
	*in = (struct input){ malloc(n), n };
	memcpy(in->data, bytes, n);
}

static void add_directory(const char *name)
{
	DIR *dir = opendir(name);
	struct dirent *entry;
	char path[4096];

	if (!dir)
		return perror(name);
	while ((entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/%s", name, entry->d_name);
		if (entry->d_name[0] != '.')
			add_input(path);
	}
	closedir(dir);
}

/* Replaces some bytes by bytes of another input. */
static void splice(void)
{
	const struct input *from = &inputs[any(ninputs)];
	size_t at = any(size), begin = any(from->size), n = 1 + any(64);

	if (n > from->size - begin)
		n = from->size - begin;
	if (n > LONGEST - at)
		n = LONGEST - at;
	memcpy(data + at, from->data + begin, n);
	if (at + n > size)
		size = at + n;
}

static void change(void)
{
	size_t at = any(size), n = 1 + any(8);

	switch (any(6)) {
	case 0:
		data[at] ^= 1 << any(8);
		break;
	case 1: case 2:
		data[at] = any(256);
		break;
	case 3:
		splice();
		break;
	case 4:
		if (size + n > LONGEST)
			break;
		memmove(data + at + n, data + at, size - at);
		size += n;
		while (n--)
			data[at + n] = any(256);
		break;
	case 5:
		if (at + n > size || size - n < 8)
			break;
		memmove(data + at, data + at + n, size - at - n);
		size -= n;
	}
}

static void make_input(void)
{
	const struct input *in;
	uint32_t n;

	if (ninputs && any(4)) {
		in = &inputs[any(ninputs)];
		memcpy(data, in->data, in->size);
		size = in->size;
		for (n = 1 + any(6); n; n--)
			change();
		return;
	}
	size = 8 + any(any(4) ? 256 : 1024);
	for (n = 0; n < size; n++)
		data[n] = any(256);
}

static void keep_input(int signal)
{
	char name[64];
	FILE *f;

	snprintf(name, sizeof(name), "crash-%s", seed);
	f = fopen(name, "w");
	if (f) {
		fwrite(data, 1, size, f);
		fclose(f);
		fprintf(stderr, "signal %d: the input is in %s\n", signal, name);
	}
	_exit(1);
}

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	static const int ends[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT };
	/* An alternate signal stack, since rsp may be invalid. */
	static uint8_t stack[64 << 10];
	struct sigaction act = { .sa_handler = keep_input, .sa_flags = SA_ONSTACK };
	uint64_t runs = 0, most;
	size_t i;

	if (argc < 4)
		return 2;
	most = strtoull(argv[1], NULL, 0);
	seed = argv[2];
	state = strtoull(seed, NULL, 0) * 0x9e3779b97f4a7c15 | 1;
	for (i = 3; i < (size_t)argc; i++)
		add_directory(argv[i]);
	sigaltstack(&(stack_t){ .ss_sp = stack, .ss_size = sizeof(stack) }, NULL);
	for (i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		sigaction(ends[i], &act, NULL);
	while (runs < most) {
		make_input();
		LLVMFuzzerTestOneInput(data, size);
		if (++runs % TELL_EVERY == 0)
			fprintf(stderr, "%llu runs\n", (unsigned long long)runs);
	}
	printf("%llu runs of %zu inputs, %.0f a second of the processor\n",
	       (unsigned long long)runs, ninputs, runs / cpu_seconds());
	return 0;
}
