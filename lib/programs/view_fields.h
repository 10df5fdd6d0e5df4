/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Which bytes of its view a program reads. */
#ifndef LIB_VIEW_FIELDS_H
#define LIB_VIEW_FIELDS_H

#include <stddef.h>
#include <stdint.h>

/*
 * For syscript_load.sees: of the image at @image, @len bytes, whose function 0 gets the
 * view's address in r1.  All bits, where that cannot be known.
 */
uint64_t view_fields(const char *image, size_t len);

#endif /* LIB_VIEW_FIELDS_H */
