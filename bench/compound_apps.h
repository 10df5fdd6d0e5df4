/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The inner loops of applications, as bench/compound measures them.  Their source
 * is compiled twice: plainly, and by cosy-cc with all of it as compounds.
 */
#ifndef COMPOUND_APPS_H
#define COMPOUND_APPS_H

#include <stdint.h>

#define APP_PAGE	4096
#define APP_NAME	16
#define APP_NAMES	64
#define APP_DEPTH	8

/* The database: a file of records, a page of which may be read at once. */
#define DB_RECORD	128
#define DB_RECORDS	8192

/* What the loops work on; in the shared buffer. */
struct app {
	char file[APP_NAME], tree[APP_NAME], text[APP_NAME];
	char pattern[APP_NAME];
	int database, from, to;
	uint64_t seed;
	char buffer[4 * APP_PAGE];
	char entries[APP_DEPTH][APP_PAGE];
};

/*
 * Each takes @count steps and returns what they came to, which does not depend on
 * how they are run; or -errno.
 */
typedef long app_loop(struct app *app, long count);

/* In the order of compound_apps.def. */
extern app_loop *const app_plain[], *const app_compound[];

#endif /* COMPOUND_APPS_H */
