// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Does nothing: the cost of the call itself. */
#include <linux/syscript_netfilter.h>

const __u32 syscript_copies = 0;

long filter(const struct syscript_packet *packet)
{
	return SYSCRIPT_ACCEPT;
}
