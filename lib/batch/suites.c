// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Implements suites.h: reads the administrator's files once per process, and maps them to the
 * scripts that may go to the kernel.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suites.h"
#include "user/sys.h"

#define DIRECTORY	"/etc/syscript/suites.d"

#define IN(name)	(UINT32_C(1) << BUILTIN_##name)
const struct suite suites[] = {
#define SUITE(name, of, scripts)	{ #name, of, scripts },
#include "suites.def"
#undef SUITE
};

const unsigned int suites_count = sizeof(suites) / sizeof(suites[0]);

_Static_assert(BUILTINS <= 32, "a bit of struct suite for each script");

enum answer { OFF, ON, SILENT, UNKNOWN };

/* The state of a suite whose file could not be read. */
static enum answer unread(long err)
{
	switch (err) {
	case -EMFILE:
	case -ENFILE:
	case -ENOMEM:
	case -EINTR:
	case -EIO:
		return UNKNOWN;
	}
	return SILENT;
}

static enum answer read_file(const char *path)
{
	int fd = sys_open_to_read(path);
	char word[8] = "";
	long got;

	if (fd < 0)
		return unread(fd);
	got = sys_call(read, fd, word, sizeof(word) - 1);
	sys_call(close, fd);
	if (got <= 0)
		return unread(got);
	word[strcspn(word, " \t\r\n")] = '\0';
	return !strcmp(word, "on") ? ON : !strcmp(word, "off") ? OFF : SILENT;
}

static enum answer said(const char *name)
{
	const char *directory = secure_getenv("SYSCRIPT_SUITES") ?: DIRECTORY;
	char path[256];

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", directory, name) >= sizeof(path))
		return SILENT;
	return read_file(path);
}

static enum answer ask(const struct suite *suite)
{
	enum answer answer = said(suite->name);

	if (answer == SILENT)
		answer = said("default");
	return answer == SILENT ? ON : answer;
}

bool suite_is_on(const struct suite *suite)
{
	return ask(suite) == ON;
}

/* Set with the allowed scripts once they are known; a missing file does not mean "on". */
#define KNOWN	(UINT64_C(1) << 32)

static uint64_t read_suites(void)
{
	uint32_t of_suites = 0, allowed = 0;
	bool known = true;

	for (unsigned int i = 0; i < suites_count; i++) {
		enum answer answer = ask(&suites[i]);

		of_suites |= suites[i].scripts;
		allowed |= answer == ON ? suites[i].scripts : 0;
		known &= answer != UNKNOWN;
	}
	return (uint32_t)(allowed | ~of_suites) | (known ? KNOWN : 0);
}

bool suites_allow(enum builtin which)
{
	static uint64_t read;
	uint64_t now = __atomic_load_n(&read, __ATOMIC_RELAXED);

	if (!now) {
		now = read_suites();
		if (now & KNOWN)
			__atomic_store_n(&read, now, __ATOMIC_RELAXED);
	}
	return now >> which & 1;
}
