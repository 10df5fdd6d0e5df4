/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The work of the library's scripts, by plain calls and by the library's functions: the difference
 * is what a script saves.
 */
#ifndef CALIBRATE_LIBRARY_H
#define CALIBRATE_LIBRARY_H

/* Files in a batch, entries in a directory. */
#define LIBRARY_FEW	10
#define LIBRARY_MANY	200

/* Creates the files to work on. Returns a descriptor of one, with the position at its end. */
int library_setup(const char *directory);

/* Each function works on the first @n files, at most LIBRARY_MANY; batches contain all. */
void library_read_plain(int n);
void library_read_many(int n);
void library_open_read_close(int n);
void library_write_plain(int n);
void library_write_many(int n);
void library_open_plain(int n);
void library_open_many(int n);
void library_stat_plain(int n);
void library_stat_many(int n);

/* For a directory of @n entries: 1, LIBRARY_FEW or LIBRARY_MANY. */
void library_list_plain(int n);
void library_readdirplus(int n);

#endif
