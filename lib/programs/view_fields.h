/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Finds the bytes of its view that a program reads. */
#ifndef LIB_VIEW_FIELDS_H
#define LIB_VIEW_FIELDS_H

#include <stddef.h>
#include <stdint.h>

/*
 * The value of syscript_load.sees for the image of @len bytes at @image, whose function 0 gets
 * the view's address in r1. All bits are set if the analysis cannot tell.
 */
uint64_t view_fields(const char *image, size_t len);

#endif /* LIB_VIEW_FIELDS_H */
