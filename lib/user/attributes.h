/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* From statx(2)'s attributes of a file to those of <linux/syscript_files.h>. */
#ifndef LIB_USER_ATTRIBUTES_H
#define LIB_USER_ATTRIBUTES_H

#include <sys/stat.h>

struct syscript_stat;

/* What there is to ask statx(2) for. */
#define ATTRIBUTES_KNOWN	(STATX_BASIC_STATS | STATX_BTIME)

void attributes_from_statx(struct syscript_stat *to, const struct statx *from);

#endif /* LIB_USER_ATTRIBUTES_H */
