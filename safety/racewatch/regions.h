/* SPDX-License-Identifier: GPL-2.0 */
/* Regions of racewatch.h, for the code that judges accesses.  Any context. */
#ifndef RACEWATCH_REGIONS_H
#define RACEWATCH_REGIONS_H

#include <linux/types.h>

/* Is the current context in a region whose accesses are not judged? Or count as marked? */
bool region_ignores(void);
bool region_marks(void);

#endif
