/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Which bytes of its view a program reads. */
#ifndef SEES_H
#define SEES_H

#include <stddef.h>
#include <stdint.h>

/*
 * For syscript_load.sees: of the image at @image, @len bytes, whose function 0 gets the
 * view's address in r1.  All bits, where that cannot be known.
 */
uint64_t sees_of(const char *image, size_t len);

#endif /* SEES_H */
