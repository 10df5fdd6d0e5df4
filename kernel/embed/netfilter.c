// SPDX-License-Identifier: GPL-2.0
/*
 * Programs that netfilter calls, by <linux/syscript_program.h> and nothing else.  A program sees
 * a copy of the packet's beginning, and loads other parts by calls, so shared and nonlinear
 * packets need no special care. rewrite.c checks and makes its stores, and the stack is told of
 * them after it has returned.
 */
#include <linux/err.h>
#include <linux/icmpv6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/netfilter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/netfilter_ipv6.h>
#include <linux/skbuff.h>
#include <linux/syscript_program.h>
#include <net/dst_metadata.h>
#include <net/icmp.h>
#include <net/ipv6.h>
#include <net/netfilter/nf_conntrack.h>

#include "compat.h"
#include "netfilter.h"
#include "nf_attach.h"
#include "nf_nat.h"
#include "rewrite.h"
#include "uapi/syscript_netfilter.h"

#define FUEL		8192	/* 0.4 ms at most */
#define COST_UNSHARE	512	/* a new head for a packet, besides: */
#define COST_TRANSLATE	2048	/* 240 lookups of a connection at most */
#define COPIED_FOR_ONE	64	/* bytes copied for one unit of fuel, uncached */

/**
 * struct call - state of a program's call, for the functions that it calls
 * @changed: REWRITE_*, all changes so far; valid only if the event has SYSCRIPT_EVENT_OWN
 * @queue:   for SYSCRIPT_QUEUE; validity likewise
 * @nat:     called by NAT (nf_nat.h); validity likewise
 */
struct call {
	struct sk_buff *skb;
	const struct nf_hook_state *state;
	struct syscript_event event;
	u32 changed;
	u32 queue;
	bool nat;
};

/* For a call that may have work after it: initialises @changed, @queue and @nat. */
static struct call *own_call(struct syscript_event *event)
{
	struct call *call = container_of(event, struct call, event);

	if (!(event->rare & SYSCRIPT_EVENT_OWN)) {
		event->rare |= SYSCRIPT_EVENT_OWN;
		call->changed = 0;
		call->queue = 0;
		call->nat = false;
	}
	return call;
}

/* IP's version; 0 for other families. */
static u8 version_of(const struct call *call)
{
	u8 family = call->state->pf;

	return family == NFPROTO_IPV4 ? 4 : family == NFPROTO_IPV6 ? 6 : 0;
}

/* -- The view ---------------------------------------------------------------------- */

static __always_inline int start_of(const struct sk_buff *skb)
{
	return packet_start(skb_network_offset(skb), skb->len);
}

static __always_inline u32 copy_packet(u8 *to, const struct sk_buff *skb, int start, u32 len)
{
	if (!len)
		return 0;
	if (unlikely((int)skb_headlen(skb) - start < (int)len))
		return skb_copy_bits(skb, start, to, len) ? 0 : len;
	memcpy(to, skb->data + start, len);
	return len;
}

#define UNKNOWN		255

/*
 * IPv6's extension headers, as nftables and the stack skip them.  Behind more headers than
 * EXTENSIONS_MAX the transport counts as unknown, which bounds the work for a flood of headers.
 */
#define EXTENSIONS_MAX	8
#define EXTENSIONS	(BIT_ULL(NEXTHDR_HOP) | BIT_ULL(NEXTHDR_ROUTING) | \
			 BIT_ULL(NEXTHDR_FRAGMENT) | BIT_ULL(NEXTHDR_AUTH) | \
			 BIT_ULL(NEXTHDR_DEST))

static __always_inline bool is_extension(u8 protocol)
{
	return protocol < 64 && EXTENSIONS >> protocol & 1;
}

/* The size of the header at @bytes, of kind @protocol; reads four bytes. */
static u32 extension_size(u8 protocol, const u8 *bytes)
{
	switch (protocol) {
	case NEXTHDR_FRAGMENT:
		return sizeof(struct frag_hdr);
	case NEXTHDR_AUTH:
		return (bytes[1] + 2) * 4;
	default:
		return (bytes[1] + 1) * 8;
	}
}

static bool is_later_fragment(u8 protocol, const u8 *bytes)
{
	return protocol == NEXTHDR_FRAGMENT && bytes[2] << 8 | (bytes[3] & ~7);
}

/* Reads the packet itself, because the copy for the program may end earlier. */
static noinline void skip_extensions(struct syscript_packet *p, const struct call *call,
				     u8 protocol)
{
	int start = start_of(call->skb);
	u32 at = sizeof(struct ipv6hdr), n;
	bool later = false;
	u8 bytes[4];

	for (n = 0; n < EXTENSIONS_MAX && is_extension(protocol) && !later; n++) {
		if (skb_copy_bits(call->skb, start + at, bytes, sizeof(bytes)))
			break;
		later = is_later_fragment(protocol, bytes);
		at += extension_size(protocol, bytes);
		protocol = bytes[0];
	}
	p->transport = later || is_extension(protocol) ? UNKNOWN : protocol;
	p->l4 = at;
}

/* Reads the copy, which the program's stores or another CPU may have overwritten with anything. */
static __always_inline void find_transport(struct syscript_packet *p, const struct call *call,
					   u16 protocol, u32 have)
{
	u8 transport = UNKNOWN;
	u16 l4 = 0;

	if (protocol == ETH_P_IP && have >= sizeof(struct iphdr)) {
		l4 = (p->data[0] & 15) * 4;
		if (!((p->data[6] & 0x1f) | p->data[7]))
			transport = p->data[9];
	} else if (protocol == ETH_P_IPV6 && have >= sizeof(struct ipv6hdr)) {
		l4 = sizeof(struct ipv6hdr);
		transport = READ_ONCE(p->data[6]);
		if (unlikely(is_extension(transport)))
			return skip_extensions(p, call, transport);
	}
	p->transport = transport;
	p->l4 = l4;
}

#define FIELD(field)	\
	offsetof(struct syscript_packet, field), sizeof_field(struct syscript_packet, field)
#define SEES(event, field)	syscript_event_sees(event, FIELD(field))

/* Fills in the fields that are read from the packet's bytes, and copies the bytes. */
static __always_inline void show_bytes(struct syscript_packet *p, const struct call *call)
{
	const struct sk_buff *skb = call->skb;
	int start = start_of(skb);
	u32 len = skb->len - start;

	p->have = copy_packet(p->data, skb, start,
			      min(len, syscript_event_copies(&call->event)));
	find_transport(p, call, ntohs(skb->protocol), p->have);
}

static __always_inline void show_devices(struct syscript_packet *p,
					 const struct nf_hook_state *state)
{
	p->in = state->in ? state->in->ifindex : 0;
	p->out = state->out ? state->out->ifindex : 0;
}

/* Reads the packet only, so that nf_conntrack need not be loaded. */
static u32 tracking_state(const struct sk_buff *skb)
{
#if IS_ENABLED(CONFIG_NF_CONNTRACK)
	enum ip_conntrack_info info;

	if (!nf_ct_get(skb, &info))
		return SYSCRIPT_UNTRACKED;
	switch (info) {
	case IP_CT_NEW:
		return SYSCRIPT_NEW;
	case IP_CT_ESTABLISHED:
	case IP_CT_ESTABLISHED_REPLY:
		return SYSCRIPT_ESTABLISHED;
	case IP_CT_RELATED:
	case IP_CT_RELATED_REPLY:
		return SYSCRIPT_RELATED;
	default:
		break;
	}
#endif
	return SYSCRIPT_UNTRACKED;
}

/* Fills in only the fields that the program reads. */
static __always_inline void show_packet(struct call *call)
{
	const struct syscript_event *event = &call->event;
	const struct nf_hook_state *state = call->state;
	struct syscript_packet *p = syscript_event_view(event);
	const struct sk_buff *skb = call->skb;

	if (!syscript_event_sees(event, 0, U32_MAX))
		return;
	if (SEES(event, len))
		p->len = skb->len - start_of(skb);
	if (SEES(event, mark))
		p->mark = skb->mark;
	if (SEES(event, in) || SEES(event, out))
		show_devices(p, state);
	if (SEES(event, protocol)) {
		p->protocol = ntohs(skb->protocol);
		p->family = state->pf;
		p->hook = state->hook;
	}
	if (SEES(event, state))
		p->state = tracking_state(skb);
	if (SEES(event, now))
		p->now = (u64)jiffies * TICK_NSEC;
	if (SEES(event, have) || SEES(event, l4) ||
	    syscript_event_sees(event, offsetof(struct syscript_packet, data),
				SYSCRIPT_PACKET_MAX))
		show_bytes(p, call);
}

/* -- Functions --------------------------------------------------------------------- */

static s64 packet_load(struct syscript_event *event, const s64 *args)
{
	const struct sk_buff *skb = container_of(event, struct call, event)->skb;
	u64 offset = args[0], len = args[2];
	void *to;

	if (len > SYSCRIPT_PACKET_MAX || offset > skb->len)
		return -1;
	to = syscript_event_memory(event, args[1], len);
	/* Reassembled fragments are a list of at least 8 bytes each. */
	syscript_event_charge(event, len + (skb_has_frag_list(skb) ? offset / 8 : 0));
	return to && !skb_copy_bits(skb, start_of(skb) + offset, to, len) ? 0 : -1;
}

static s64 packet_mark(struct syscript_event *event, const s64 *args)
{
	container_of(event, struct call, event)->skb->mark = args[0];
	return 0;
}

static s64 packet_queue(struct syscript_event *event, const s64 *args)
{
	if ((u64)args[0] > U16_MAX)
		return -1;
	own_call(event)->queue = args[0];
	return 0;
}

/* Makes the first @len bytes, which the packet has, private and linear. */
static int make_writable(struct syscript_event *event, struct sk_buff *skb, u32 len)
{
	u32 end = skb_network_offset(skb) + len;

	if (skb_shared(skb))
		return -EBUSY;
	if (end > skb_headlen(skb)) {
		/* The pieces of a GSO packet with a fragment list must keep their lengths. */
		if (skb_is_gso(skb) && skb_has_frag_list(skb))
			return -EBUSY;
		syscript_event_charge(event, COST_UNSHARE + end / COPIED_FOR_ONE);
	} else if (skb_cloned(skb) && !skb_clone_writable(skb, end)) {
		syscript_event_charge(event, COST_UNSHARE + skb_headlen(skb) / COPIED_FOR_ONE);
	}
	return skb_ensure_writable(skb, end);
}

/*
 * The beginning of the bytes whose checksum is still to be computed, relative to the network
 * header.
 */
static int partial_of(const struct sk_buff *skb)
{
	if (skb->ip_summed != CHECKSUM_PARTIAL)
		return REWRITE_WHOLE;
	/*
	 * A tunnel's pending checksum is the inner packet's; one that begins before the network
	 * header is not IP's.
	 */
	if (skb->encapsulation || skb_checksum_start_offset(skb) < skb_network_offset(skb))
		return 0;
	return skb_checksum_start_offset(skb) - skb_network_offset(skb);
}

static void tell_skb(struct sk_buff *skb, u32 changed)
{
	/* The device's checksum of the whole packet is stale now; the headers' own are right. */
	if (changed && skb->ip_summed == CHECKSUM_COMPLETE)
		skb->ip_summed = CHECKSUM_NONE;
	if (changed & ~REWRITE_OTHERS)
		skb_clear_hash(skb);
}

/* Of the call, not of the hook: calls come before attach() has returned, and after detach(). */
static bool in_nat(const struct syscript_event *event)
{
	return event->rare & SYSCRIPT_EVENT_OWN && container_of(event, struct call, event)->nat;
}

static s64 packet_store(struct syscript_event *event, const s64 *args)
{
	struct call *call = container_of(event, struct call, event);
	struct sk_buff *skb = call->skb;
	u8 bytes[SYSCRIPT_PACKET_MAX];
	u64 offset = args[0], len = args[2], whole = skb->len - skb_network_offset(skb);
	const void *from;
	struct rewrite rewrite;

	if (skb_network_offset(skb) < 0 || len > sizeof(bytes) || offset > whole ||
	    len > whole - offset)
		return -1;
	from = syscript_event_memory(event, args[1], len);
	if (!from || !version_of(call) || in_nat(event))
		return -1;
	syscript_event_charge(event, 2 * len + REWRITE_HEADERS);
	/* The packet may change meanwhile, so only the copy is used from here on. */
	memcpy(bytes, from, len);
	rewrite.have = min_t(u64, whole, max_t(u64, offset + len, REWRITE_HEADERS));
	if (make_writable(event, skb, rewrite.have))
		return -1;
	rewrite.bytes = skb_network_header(skb);
	rewrite.version = version_of(call);
	rewrite.partial = partial_of(skb);
	rewrite.offset = offset;
	rewrite.len = len;
	rewrite.to = bytes;
	if (rewrite_packet(&rewrite))
		return -1;
	own_call(event)->changed |= rewrite.changed;
	tell_skb(skb, rewrite.changed);
	return 0;
}

static s64 packet_translate(struct syscript_event *event, const s64 *args)
{
	struct call *call = container_of(event, struct call, event);
	u64 len = args[1], first = args[2], last = args[3];
	u32 address[sizeof(struct in6_addr) / sizeof(u32)];
	struct nat_target target = { .first = first, .last = last };
	const void *from;
	int err;

	if (!in_nat(event) || first > U16_MAX || last > U16_MAX)
		return -1;
	if (len) {
		if (len != (version_of(call) == 4 ? sizeof(struct in_addr) : sizeof(address)))
			return -1;
		from = syscript_event_memory(event, args[0], len);
		if (!from)
			return -1;
		/* The program's memory may change meanwhile. */
		memcpy(address, from, len);
		target.address = address;
	}
	err = nat_translate(call->skb, call->state, &target);
	/* The search for a free port costs; what is refused before costs nothing. */
	if (err != -EINVAL && err != -EEXIST)
		syscript_event_charge(event, COST_TRANSLATE);
	return err ? -1 : 0;
}

static const struct syscript_function functions[] = {
	{ "packet_load", packet_load },
	{ "packet_mark", packet_mark },
	{ "packet_queue", packet_queue },
	{ "packet_store", packet_store },
	{ "packet_translate", packet_translate },
	{ }
};

/* -- Verdicts ---------------------------------------------------------------------- */

/* Sends a packet, which may come to the same hook: only after the program has returned. */
static unsigned int nfprog_reject(struct sk_buff *skb, const struct nf_hook_state *state)
{
	/* As nf_send_unreach() and nf_send_unreach6() do.  A tunnel's metadata is not a route. */
	if (!skb_valid_dst(skb))
		return NF_DROP;
	if (state->pf == NFPROTO_IPV4) {
		icmp_send(skb, ICMP_DEST_UNREACH, ICMP_PORT_UNREACH, 0);
	} else if (state->pf == NFPROTO_IPV6) {
		if (state->hook == NF_INET_LOCAL_OUT && !skb->dev)
			skb->dev = state->net->loopback_dev;
		icmpv6_send(skb, ICMPV6_DEST_UNREACH, ICMPV6_PORT_UNREACH, 0);
	}
	return NF_DROP;
}

/*
 * Routes the packet again, as nft's route chains do: it was routed by its old address.  0 or
 * -errno.
 */
static int route_again(struct sk_buff *skb, const struct nf_hook_state *state)
{
	if (!skb_valid_dst(skb))
		return -EHOSTUNREACH;
	if (state->pf == NFPROTO_IPV4)
		return ip_route_me_harder(state->net, state->sk, skb, RTN_UNSPEC);
	return nf_ip6_route_me_harder(state->net, state->sk, skb);
}

/* Tells the stack that addresses or ports have changed, as NAT does.  0 or -errno. */
static noinline int tell_stack(struct call *call)
{
	const struct nf_hook_state *state = call->state;
	struct sk_buff *skb = call->skb;

	switch (state->hook) {
	case NF_INET_PRE_ROUTING:
		/* A loopback packet carries its sender's route. */
		if (call->changed & REWRITE_DEST)
			skb_dst_drop(skb);
		return 0;
	case NF_INET_LOCAL_IN:
		/* Early demux found the socket by the old addresses. */
		if (skb->sk)
			skb_orphan(skb);
		return 0;
	case NF_INET_LOCAL_OUT:
		if (call->changed & (REWRITE_SOURCE | REWRITE_DEST))
			return route_again(skb, state);
		return 0;
	}
	return 0;
}

static unsigned int nfprog_verdict(struct call *call, s64 result)
{
	const struct nf_hook_state *state = call->state;
	bool own = call->event.rare & SYSCRIPT_EVENT_OWN;
	int err = 0;

	if (own && call->changed & ~REWRITE_OTHERS && result != SYSCRIPT_DROP &&
	    result != SYSCRIPT_REJECT)
		err = tell_stack(call);
	if (err)
		return NF_DROP_ERR(err);
	if (result <= SYSCRIPT_ACCEPT)
		return result;
	if (result == SYSCRIPT_REJECT)
		return nfprog_reject(call->skb, state);
	return version_of(call) ? NF_QUEUE_NR(own ? call->queue : 0) : NF_DROP;
}

/* Ends a call that neither drops nor accepts an unchanged packet, or has more work to do. */
static noinline unsigned int rare_end(struct call *call, s64 result)
{
	return nfprog_verdict(call, syscript_hook_end(&call->event, result));
}

static noinline unsigned int default_verdict(struct call *call)
{
	return nfprog_verdict(call, call->event.result);
}

/* Has no array, so a stack protector would guard nothing. */
static __always_inline __no_stack_protector unsigned int
call_program(void *hook, struct sk_buff *skb, const struct nf_hook_state *state, bool nat)
{
	struct call call __uninitialized;
	s64 result;

	call.skb = skb;
	call.state = state;
	if (unlikely(!syscript_hook_begin(hook, &call.event)))
		return default_verdict(&call);
	if (nat)
		own_call(&call.event)->nat = true;
	show_packet(&call);
	result = syscript_hook_run_program(&call.event);
	if (unlikely((u64)result > SYSCRIPT_ACCEPT || call.event.rare))
		result = rare_end(&call, result);
	return result;
}

static __no_stack_protector unsigned int nfprog_called(void *hook, struct sk_buff *skb,
						       const struct nf_hook_state *state)
{
	return call_program(hook, skb, state, false);
}

/* A packet that comes back from a queue would go on behind NAT's hook, untranslated. */
static __no_stack_protector unsigned int nfprog_called_in_nat(void *hook, struct sk_buff *skb,
							      const struct nf_hook_state *state)
{
	unsigned int verdict = call_program(hook, skb, state, true);

	return (verdict & NF_VERDICT_MASK) == NF_QUEUE ? NF_DROP : verdict;
}

/* -- The program type ------------------------------------------------------------------ */

static_assert(SYSCRIPT_DROP == NF_DROP && SYSCRIPT_ACCEPT == NF_ACCEPT);

static int nfprog_attach(struct syscript_hook *hook, struct net *net, const char *where,
			 char *error, size_t len)
{
	struct nf_attach *attach = nf_attach_get(where, nfprog_called, nfprog_called_in_nat, hook,
						 net, error, len);

	if (IS_ERR(attach))
		return PTR_ERR(attach);
	syscript_hook_set_private(hook, attach);
	return 0;
}

static void nfprog_detach(struct syscript_hook *hook)
{
	struct nf_attach *attach = syscript_hook_private(hook);

	syscript_hook_set_private(hook, NULL);
	if (attach)
		nf_attach_put(attach);
}

static bool nfprog_gone(const struct syscript_hook *hook)
{
	const struct nf_attach *attach = syscript_hook_private(hook);

	return !attach || nf_attach_gone(attach);
}

static const struct syscript_prog_type netfilter = {
	.name = "netfilter",
	.owner = THIS_MODULE,
	.of_net = true,
	.view_size = sizeof(struct syscript_packet),
	.copy_max = SYSCRIPT_PACKET_MAX,
	.fuel = FUEL,
	.low = SYSCRIPT_DROP, .high = SYSCRIPT_QUEUE, .fallback = SYSCRIPT_ACCEPT,
	.functions = functions,
	.attach = nfprog_attach,
	.detach = nfprog_detach,
	.gone = nfprog_gone,
};

int netfilter_init(void)
{
	int err = nf_attach_init();

	if (err)
		return err;
	err = syscript_prog_type_register(&netfilter);
	if (err)
		nf_attach_exit();
	return err;
}

void netfilter_exit(void)
{
	syscript_prog_type_unregister(&netfilter);
	nf_attach_exit();
}
