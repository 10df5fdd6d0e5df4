/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Sets of the library's scripts for kinds of machines, and the administrator's switch for
 * each: a file of the suite's name in /etc/syscript/suites.d that begins with "on" or
 * "off".  Where there is none, the file "default" counts, and without that all are on.
 *
 * A script goes to the kernel if one of its suites is on; otherwise it is run in the
 * process, with the same results.  That is a switch for what the library does by itself,
 * and no boundary: any user of the device can register scripts of their own.
 */
#ifndef LIB_SUITES_H
#define LIB_SUITES_H

#include <stdbool.h>
#include <stdint.h>

#include "builtin.h"

struct suite {
	const char *name, *of;
	uint32_t scripts;	/* a bit for each of enum builtin */
};

extern const struct suite suites[];
extern const unsigned int suites_count;

/* As the directory says now. */
bool suite_is_on(const struct suite *suite);

/* As it said when the process first asked. */
bool suites_allow(enum builtin which);

#endif /* LIB_SUITES_H */
