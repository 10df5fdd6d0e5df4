/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Included before an instrumented module's source.  The kernel's headers mark accesses that race
 * on purpose for KCSAN, by calls that do nothing in a kernel without it: data_race(), seqcounts.
 * Here these calls are racewatch.ko's.
 */
#ifndef RACEWATCH_H
#define RACEWATCH_H

#include <linux/kcsan-checks.h>

/* Accesses between the two are not judged; pairs may be nested. */
void racewatch_ignore_begin(void);
void racewatch_ignore_end(void);
/* Accesses between the two count as marked, as if by READ_ONCE(); pairs may be nested. */
void racewatch_marked_begin(void);
void racewatch_marked_end(void);
/* So do accesses after this call, until one with 0. */
void racewatch_marked_next(int accesses);

/* Macros in kernels that expect KCSAN. */
#undef __kcsan_disable_current
#undef __kcsan_enable_current
#define __kcsan_disable_current		racewatch_ignore_begin
#define __kcsan_enable_current		racewatch_ignore_end
#define kcsan_nestable_atomic_begin	racewatch_marked_begin
#define kcsan_nestable_atomic_end	racewatch_marked_end
#define kcsan_flat_atomic_begin		racewatch_marked_begin
#define kcsan_flat_atomic_end		racewatch_marked_end
#define kcsan_atomic_next		racewatch_marked_next

#endif
