/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* An eBPF program for netfilter that does nothing, on kernels that support it (6.4). */
#ifndef BPF_NETFILTER_H
#define BPF_NETFILTER_H

/* Returns 0; or -1 with errno if the kernel does not support it. */
int bpf_netfilter_on(void);
void bpf_netfilter_off(void);

#endif
