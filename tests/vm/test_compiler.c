// SPDX-License-Identifier: GPL-2.0 OR MIT
/* What may be compiled: nothing without the parameter, no branch target ever. */
#include "abi.h"

#define LOOP(constant) \
	"function run() local s = 0 for i = 1, 10000 do " \
	"s = bit.bxor(s, " constant ") end return s end"

/* Traces, after a call; with @flags those of the registration. */
static long long traces(const char *source, unsigned int *flags)
{
	struct syscript_info info;
	int fd = abi_must_register(source);

	CHECK_EQ(abi_call(fd, 0, 0, NULL), 0);
	CHECK_EQ(abi_info(fd, &info), 0);
	close(fd);
	CHECK(!strcmp(info.counters[0].name, "traces"));
	if (flags)
		*flags = info.flags;
	return info.counters[0].value;
}

/* f3 0f 1e fa: no trace with that is kept, and as a constant it never gets there. */
static void test_branch_targets(void)
{
	CHECK(traces(LOOP("0xfa1e0ff2"), NULL) > 0);
	CHECK(traces(LOOP("0xfa1e0ff3"), NULL) > 0);
}

static void test_parameter(void)
{
	unsigned int flags = 0;

	if (abi_set_parameter("jit", "N") == -EACCES)
		return;
	CHECK_EQ(traces(LOOP("1"), &flags), 0);
	CHECK(flags & SYSCRIPT_NOJIT);
	CHECK_EQ(abi_set_parameter("jit", "Y"), 0);
	CHECK(traces(LOOP("1"), &flags) > 0);
	CHECK(!(flags & SYSCRIPT_NOJIT));
}

int main(void)
{
	abi_open();
	test_branch_targets();
	test_parameter();
	return abi_verdict();
}
