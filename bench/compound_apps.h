/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The inner loops of applications, as bench/compound measures them. Their source is compiled twice:
 * plainly, and by cosy-cc with each loop as a compound.
 */
#ifndef COMPOUND_APPS_H
#define COMPOUND_APPS_H

#include <stdint.h>

#define APP_PAGE	4096
#define APP_NAME	16
#define APP_DEPTH	8

/* The database: a file of records, which can be read a page at a time. */
#define DB_RECORD	128
#define DB_RECORDS	8192

/* Data of the loops, in the shared buffer. */
struct app {
	char file[APP_NAME], tree[APP_NAME], text[APP_NAME];
	char pattern[APP_NAME], journal[2 * APP_NAME], wal[2 * APP_NAME];
	int database, from, to;
	uint64_t seed;
	char buffer[4 * APP_PAGE];
	char entries[APP_DEPTH][APP_PAGE];
};

/* Each makes @count steps and returns a result that does not depend on how it runs, or -errno. */
typedef long app_loop(struct app *app, long count);

/* In the order of compound_apps.def. */
extern app_loop *const app_plain[], *const app_compound[];

#endif /* COMPOUND_APPS_H */
