// SPDX-License-Identifier: GPL-2.0
/* Compounds that the kernel refuses to run, from the first call on or later. */
#include <cosy.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static void watch(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog filter = { .len = 1, .filter = &allow };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		perror("seccomp");
}

static int segment(int n)
{
	COSY_START;
	n += getppid() > 0;
	COSY_END;
	return n;
}

int main(int argc, char **argv)
{
	struct rlimit none = { 0, 0 };
	int first;

	if (argc > 1 && !strcmp(argv[1], "unlocked"))
		setrlimit(RLIMIT_MEMLOCK, &none);
	first = segment(41);
	if (argc > 1 && !strcmp(argv[1], "watched"))
		watch();
	printf("%d %d\n", first, segment(41));
	return 0;
}
