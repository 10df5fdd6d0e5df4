/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Included before each CORE-MATH source: there is no console to report to, and only the default
 * floating-point environment, whose flags no code reads.
 */
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define printf(...)			((void)0)
#define fprintf(...)			((void)0)
#define exit(status)			((void)0)
#define fegetround()			FE_TONEAREST
#define feclearexcept(e)		((void)(e), 0)
#define feraiseexcept(e)		((void)(e), 0)
#define fetestexcept(e)			((void)(e), 0)
#define feholdexcept(env)		((void)(env), 0)
#define feupdateenv(env)		((void)(env), 0)
#define fesetenv(env)			((void)(env), 0)
#define fegetexceptflag(f, e)		((void)(f), (void)(e), 0)
#define fesetexceptflag(f, e)		((void)(f), (void)(e), 0)
