// SPDX-License-Identifier: GPL-2.0 OR MIT
/* syscript disasm, where the engine interprets compounds and has no machine code to show. */
#include "cli.h"

int cmd_disasm(int argc, char **argv)
{
	(void)argc, (void)argv;
	return complain("disasm shows machine code for x86-64: use a syscript that is built for it");
}
