/* SPDX-License-Identifier: GPL-2.0 */
/* Programs that netfilter calls: uapi/syscript_netfilter.h. */
#ifndef SYSCRIPT_EMBED_NETFILTER_H
#define SYSCRIPT_EMBED_NETFILTER_H

#ifdef CONFIG_NETFILTER
int netfilter_init(void);
void netfilter_exit(void);
#else
static inline int netfilter_init(void) { return 0; }
static inline void netfilter_exit(void) { }
#endif

#endif /* SYSCRIPT_EMBED_NETFILTER_H */
