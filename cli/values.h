/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Numbers, units and arguments on the command line. */
#ifndef VALUES_H
#define VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Parses "100ms", "2s", "500us", "9ns"; a bare number is in ms.  False if it is not positive. */
bool parse_time(const char *text, uint64_t *ns);

/* Parses "4096", "64K", "1M"; a bare number is in @unit bytes.  False if it is not positive. */
bool parse_size(const char *text, uint64_t unit, uint64_t *bytes);

bool parse_integer(const char *text, int64_t *value);

/*
 * Parses an argument of a script, see the help of run.  Memory that it points to stays until the
 * program ends.  False after an error message.
 */
bool parse_argument(const char *text, int64_t *value);

/* Writes @n bytes of the out: argument to stdout; false if there was none. */
bool print_out_buffer(int64_t n);

#endif /* VALUES_H */
