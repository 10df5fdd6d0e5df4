// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * SELECTs of SQLite between marks, whose instructions bench/sqlite.py counts by function: how
 * much of a database is system calls that a compound could make?
 *
 * usage: sqlite random|transaction|sequential COUNT
 *
 * COUNT rows by random keys, each in a transaction of its own or all in one; or in order.
 */
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../vm/profile/mark.h"
#include "measure.h"

#define ROWS	50000
#define SIZE	100	/* of a row's text */

static const char fill[] =
	"PRAGMA synchronous = off;"
	"PRAGMA journal_mode = off;"
	"CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT);"
	"WITH RECURSIVE c (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c LIMIT %d)"
	" INSERT INTO t SELECT i, printf('%%0%dd', i) FROM c";

static sqlite3 *open_database(const char *name)
{
	sqlite3 *db;

	if (sqlite3_open(name, &db))
		measure_die("%s: %s", name, sqlite3_errmsg(db));
	return db;
}

static void run(sqlite3 *db, const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL))
		measure_die("%s", sqlite3_errmsg(db));
}

/* The rows' sizes added up. */
static long select_rows(sqlite3_stmt *statement)
{
	long sum = 0;

	while (sqlite3_step(statement) == SQLITE_ROW)
		sum += sqlite3_column_bytes(statement, 0);
	return sqlite3_reset(statement) ? -1 : sum;
}

static long select_random(sqlite3_stmt *statement, long count)
{
	uint64_t seed = 42;
	long sum = 0;

	while (count--) {
		seed = seed * 6364136223846793005UL + 1442695040888963407UL;
		sqlite3_bind_int(statement, 1, (seed >> 33) % ROWS);
		sum += select_rows(statement);
	}
	return sum;
}

int main(int argc, char **argv)
{
	const char *way = argc == 3 ? argv[1] : "";
	bool in_order = !strcmp(way, "sequential"), as_one = !strcmp(way, "transaction");
	long count = argc == 3 ? atol(argv[2]) : 0, sum;
	char name[] = "/tmp/sqlite-XXXXXX";
	sqlite3_stmt *statement;
	sqlite3 *db;
	char *sql;

	if (count <= 0 || count > ROWS || !(in_order || as_one || !strcmp(way, "random")))
		measure_die("usage: sqlite random|transaction|sequential COUNT");
	if (mkstemp(name) < 0)
		measure_die("%s: %m", name);
	db = open_database(name);
	sql = sqlite3_mprintf(fill, ROWS, SIZE);
	run(db, sql);
	sqlite3_free(sql);
	sqlite3_close(db);
	/* Its cache of pages is empty, as in a process that starts. */
	db = open_database(name);
	if (sqlite3_prepare_v2(db, in_order ? "SELECT v FROM t ORDER BY k LIMIT ?" :
			       "SELECT v FROM t WHERE k = ?", -1, &statement, NULL))
		measure_die("%s", sqlite3_errmsg(db));
	sqlite3_bind_int(statement, 1, count);
	if (as_one)
		run(db, "BEGIN");
	mark_begin();
	sum = in_order ? select_rows(statement) : select_random(statement, count);
	mark_end();
	unlink(name);
	if (sum != SIZE * count)
		measure_die("%ld bytes of %ld rows", sum, count);
	return 0;
}
