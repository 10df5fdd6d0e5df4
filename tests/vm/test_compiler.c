// SPDX-License-Identifier: GPL-2.0 OR MIT
/* What may be compiled: nothing if the parameter is off, and never a branch target. */
#include "abi.h"

#define LOOP(constant) \
	"function run() local s = 0 for i = 1, 10000 do " \
	"s = bit.bxor(s, " constant ") end return s end"

/* The number of traces after a call; @flags are the registration's, from then on. */
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

/* f3 0f 1e fa (endbr64): a trace that contains it is dropped; as a constant it never occurs. */
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
