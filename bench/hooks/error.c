// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Fails, so the packet gets the default verdict. */
#include <linux/syscript_netfilter.h>

const __u32 syscript_copies = 0;

long filter(const struct syscript_packet *packet)
{
	return -1;
}
