/* SPDX-License-Identifier: GPL-2.0 */
/* The version of both modules. */
#ifndef SYSCRIPT_VERSION_H
#define SYSCRIPT_VERSION_H

#define SYSCRIPT_VERSION	"0.1.0"

#endif /* SYSCRIPT_VERSION_H */
