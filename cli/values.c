// SPDX-License-Identifier: GPL-2.0 OR MIT
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cli.h"
#include "values.h"

struct unit {
	const char *name;
	uint64_t factor;
};

/* The memory of an out:SIZE argument. */
static struct {
	const char *bytes;
	uint64_t size;
} out;

bool parse_integer(const char *text, int64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoll(text, &end, 0);
	return end != text && !*end && !errno;
}

/* Parses a positive number and one of @units, which end with an empty name. */
static bool parse_quantity(const char *text, const struct unit *units, uint64_t *quantity)
{
	long long value;
	char *end;

	errno = 0;
	value = strtoll(text, &end, 0);
	while (*units->name && strcmp(end, units->name))
		units++;
	if (end == text || errno || value <= 0 || strcmp(end, units->name))
		return false;
	return !__builtin_mul_overflow((uint64_t)value, units->factor, quantity) &&
	       *quantity <= INT64_MAX;
}

bool parse_time(const char *text, uint64_t *ns)
{
	static const struct unit units[] = {
		{ "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 },
		{ "", 1000000 },
	};

	return parse_quantity(text, units, ns);
}

bool parse_size(const char *text, uint64_t unit, uint64_t *bytes)
{
	const struct unit units[] = {
		{ "B", 1 }, { "K", 1 << 10 }, { "KiB", 1 << 10 },
		{ "M", 1 << 20 }, { "MiB", 1 << 20 }, { "", unit },
	};

	return parse_quantity(text, units, bytes);
}

/*
 * Allocates a buffer that ends at inaccessible memory: a script that is given too large a size gets
 * EFAULT, and overwrites none of the command's memory.
 */
static char *guarded(uint64_t size)
{
	const uint64_t page = sysconf(_SC_PAGESIZE), align = 16;
	uint64_t room;
	char *start;

	if (!size || size > INT64_MAX / 2)
		return NULL;
	room = (size + page - 1) & -page;
	start = mmap(NULL, room + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (start == MAP_FAILED || mprotect(start, room, PROT_READ | PROT_WRITE))
		return NULL;
	return start + ((room - size) & -align);
}

static bool buffer(const char *text, uint64_t size, int64_t *value)
{
	char *bytes = guarded(size);

	if (!bytes) {
		complain_usage("run", "argument '%s': no such size (4096, 4K, 1M), or no memory",
			       text);
		return false;
	}
	*value = (intptr_t)bytes;
	return true;
}

static bool parse_buffer(const char *text, int64_t *value)
{
	uint64_t size = 0;

	if (!parse_size(text + 4, 1, &size))
		size = 0;
	if (!buffer(text, size, value))
		return false;
	if (!strncmp(text, "out:", 4)) {
		out.bytes = (const char *)(intptr_t)*value;
		out.size = size;
	}
	return true;
}

static bool looks_like_a_number(const char *text)
{
	text += *text == '-' || *text == '+';
	return *text >= '0' && *text <= '9';
}

static bool parse_text(const char *text, int64_t *value)
{
	char *bytes = strdup(text);

	if (!bytes)
		return !complain("no memory for the argument '%s'", text);
	*value = (intptr_t)bytes;
	return true;
}

bool parse_argument(const char *text, int64_t *value)
{
	if (!strncmp(text, "buf:", 4) || !strncmp(text, "out:", 4))
		return parse_buffer(text, value);
	if (!strncmp(text, "str:", 4))
		return parse_text(text + 4, value);
	if (!looks_like_a_number(text))
		return parse_text(text, value);
	if (parse_integer(text, value))
		return true;
	complain_usage("run", "argument '%s' is not an integer; to pass it as text: str:%s", text, text);
	return false;
}

bool print_out_buffer(int64_t n)
{
	if (!out.bytes || n < 0)
		return false;
	fwrite(out.bytes, 1, (uint64_t)n < out.size ? (size_t)n : out.size, stdout);
	return true;
}
