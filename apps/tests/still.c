// SPDX-License-Identifier: GPL-2.0
/*
 * Loaded into a program, lets the clock stand still by which programs that read ahead see how old
 * attributes are: a guest that counts instructions leaps over waits for the host, which serves 9p
 * and virtiofs, and they would be a second old at once.
 */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now)
{
	if (clock != CLOCK_MONOTONIC_COARSE)
		return (int)syscall(SYS_clock_gettime, clock, now);
	*now = (struct timespec){ 1, 0 };
	return 0;
}
