/* SPDX-License-Identifier: GPL-2.0 */
/* Programs that netfilter calls: uapi/syscript_netfilter.h. */
#ifndef SYSCRIPT_EMBED_NETFILTER_H
#define SYSCRIPT_EMBED_NETFILTER_H

int netfilter_init(void);
void netfilter_exit(void);

#endif /* SYSCRIPT_EMBED_NETFILTER_H */
