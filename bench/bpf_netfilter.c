// SPDX-License-Identifier: GPL-2.0 OR MIT
/* See bpf_netfilter.h. Constants that this machine's headers may lack are written as numbers. */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/netfilter.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf_netfilter.h"

#define PROG_TYPE_NETFILTER	32
#define ATTACH_NETFILTER	45

static int program = -1, link_fd = -1;

/* The part of union bpf_attr for BPF_LINK_CREATE. */
struct link_create {
	uint32_t program, target, attach_type, flags;
	struct {
		uint32_t family, hook;
		int32_t priority;
		uint32_t flags;
	} netfilter;
	uint8_t zeros[32];
};

static int load(void)
{
	static const struct bpf_insn accept[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = NF_ACCEPT },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = {
		.prog_type = PROG_TYPE_NETFILTER,
		.expected_attach_type = ATTACH_NETFILTER,
		.insns = (uintptr_t)accept,
		.insn_cnt = sizeof(accept) / sizeof(*accept),
		.license = (uintptr_t)"GPL",
	};

	return syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr));
}

int bpf_netfilter_on(void)
{
	struct link_create create = {
		.attach_type = ATTACH_NETFILTER,
		.netfilter = { .family = NFPROTO_IPV4, .hook = NF_INET_LOCAL_IN },
	};

	program = load();
	if (program < 0)
		return -1;
	create.program = program;
	link_fd = syscall(SYS_bpf, BPF_LINK_CREATE, &create, sizeof(create));
	if (link_fd >= 0)
		return 0;
	close(program);
	return -1;
}

void bpf_netfilter_off(void)
{
	close(link_fd);
	close(program);
}
