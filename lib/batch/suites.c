// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* See suites.h. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "suites.h"
#include "sys.h"

#define DIRECTORY	"/etc/syscript/suites.d"

#define IN(name)	(UINT32_C(1) << BUILTIN_##name)
const struct suite suites[] = {
#define SUITE(name, of, scripts)	{ #name, of, scripts },
#include "suites.def"
#undef SUITE
};

const unsigned int suites_count = sizeof(suites) / sizeof(suites[0]);

_Static_assert(BUILTINS <= 32, "a bit of struct suite for each script");

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint32_t allowed;

/* 1: on, 0: off, -1: it does not say. */
static int said(const char *name)
{
	const char *directory = secure_getenv("SYSCRIPT_SUITES") ?: DIRECTORY;
	char path[256], word[8] = "";
	ssize_t got;
	int fd;

	if ((size_t)snprintf(path, sizeof(path), "%s/%s", directory, name) >= sizeof(path))
		return -1;
	fd = sys_above_standard(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
	if (fd < 0)
		return -1;
	got = read(fd, word, sizeof(word) - 1);
	close(fd);
	if (got <= 0)
		return -1;
	word[strcspn(word, " \t\r\n")] = '\0';
	return !strcmp(word, "on") ? 1 : !strcmp(word, "off") ? 0 : -1;
}

bool suite_is_on(const struct suite *suite)
{
	int on = said(suite->name);

	return (on < 0 ? said("default") : on) != 0;
}

static void read_suites(void)
{
	uint32_t of_suites = 0;

	for (unsigned int i = 0; i < suites_count; i++) {
		of_suites |= suites[i].scripts;
		if (suite_is_on(&suites[i]))
			allowed |= suites[i].scripts;
	}
	allowed |= ~of_suites;
}

bool suites_allow(enum builtin which)
{
	pthread_once(&once, read_suites);
	return allowed & UINT32_C(1) << which;
}
