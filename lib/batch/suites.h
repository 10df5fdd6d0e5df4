/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Sets of the library's scripts for kinds of machines, and the administrator's switch for each: a
 * file of the suite's name in /etc/syscript/suites.d that begins with "on" or "off". Without that
 * file, the file "default" counts; without both, the suite is on.
 *
 * A script runs in the kernel if one of its suites is on, otherwise in the process, with the same
 * results.  The switch concerns the library's own scripts and is no security boundary: any user
 * of the device can register other scripts.
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

/* Is the suite on, according to the directory's present state? */
bool suite_is_on(const struct suite *suite);

/* Is the script allowed, according to the state when the process first asked? */
bool suites_allow(enum builtin which);

#endif /* LIB_SUITES_H */
