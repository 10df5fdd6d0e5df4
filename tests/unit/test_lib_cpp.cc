// SPDX-License-Identifier: GPL-2.0 OR MIT
// The header in C++: arguments of any integer or pointer type are widened.
#include <fcntl.h>

#include "lib_test.h"

int main()
{
	enum { SEVEN = 7 };
	int fd = load("function run(a, b, c, d) return a + (b or 0) + (c or 0) + (d or 0) end");
	int address = load("function run(p) return util.peek(p, 'i4') end");
	const int value = -12;
	short small = -3;

	CHECK_EQ(lua_syscall(fd, 1, 5), 5);
	CHECK_EQ(lua_syscall(fd, 2, small, 4U), 1);
	CHECK_EQ(lua_syscall(fd, 4, 1L << 40, true, SEVEN, '\1'), (1L << 40) + 9);
	CHECK_EQ(lua_syscall(address, 1, &value), -12);
	CHECK_EQ(lua_syscall(fd, 0), -EPROTO);
	CHECK_EQ(lua_syscall(fd, 9), -EINVAL);
	CHECK_EQ(syscript_close(fd), 0);
	CHECK_EQ(syscript_close(address), 0);
	return 0;
}
