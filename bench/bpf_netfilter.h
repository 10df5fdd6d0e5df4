/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* A program of eBPF for netfilter that does nothing, where the kernel has such (6.4). */
#ifndef BPF_NETFILTER_H
#define BPF_NETFILTER_H

/* 0; or -1 with errno set, and there is none. */
int bpf_netfilter_on(void);
void bpf_netfilter_off(void);

#endif
