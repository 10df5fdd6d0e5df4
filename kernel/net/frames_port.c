// SPDX-License-Identifier: GPL-2.0
/*
 * Implements the ports of frames.h: the sockets and frames that they hold, and the checks that a
 * system call would make.  A received frame stays charged to the socket's receive buffer for as
 * long as a script has it; a sent one is charged to its send buffer.  The socket is held for as
 * long as frames charged to it are: to the end of the run, or of the next one if a script keeps
 * them.
 */
#include <linux/bpf-cgroup.h>
#include <linux/errno.h>
#include <linux/file.h>
#include <linux/if_packet.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/static_call.h>
#include <linux/uaccess.h>
#include <linux/unistd.h>

#include "syscall_jump_table.h"
#include "frames_own.h"
#include "frames_port.h"
#include "frames_rx.h"
#include "kernel/run_priv.h"
#include "kernel/scratch.h"
#include "symbols.h"
#include "syscall_observers.h"

/* -- Security modules ---------------------------------------------------------- */

static int may_not_send(struct socket *sock, struct msghdr *msg, int size)
{
	return -EOPNOTSUPP;
}

static int may_not_receive(struct socket *sock, struct msghdr *msg, int size, int flags)
{
	return -EOPNOTSUPP;
}

static int may_not_set(struct socket *sock, int level, int name)
{
	return -EOPNOTSUPP;
}

DEFINE_STATIC_CALL(frames_may_send, may_not_send);
DEFINE_STATIC_CALL(frames_may_receive, may_not_receive);
DEFINE_STATIC_CALL(frames_may_set, may_not_set);
static bool can_ask __ro_after_init = !IS_ENABLED(CONFIG_SECURITY_NETWORK);

void __init frames_init(void)
{
	void *send = symbols_find("security_socket_sendmsg");
	void *receive = symbols_find("security_socket_recvmsg");
	void *set = symbols_find("security_socket_setsockopt");

	if (!send || !receive)
		return;
	if (set)
		static_call_update(frames_may_set, set);
	static_call_update(frames_may_send, send);
	static_call_update(frames_may_receive, receive);
	can_ask = true;
}

int frames_ask_to_send(struct socket *sock)
{
	struct msghdr msg = { };

	return IS_ENABLED(CONFIG_SECURITY_NETWORK) ?
		static_call(frames_may_send)(sock, &msg, 0) : 0;
}

int frames_ask_to_receive(struct socket *sock)
{
	struct msghdr msg = { };

	return IS_ENABLED(CONFIG_SECURITY_NETWORK) ?
		static_call(frames_may_receive)(sock, &msg, 0, 0) : 0;
}

/* -- The socket ---------------------------------------------------------------- */

struct net_device *frames_device(struct socket *sock)
{
	struct sockaddr_storage address = { };
	struct sockaddr_ll *ll = (struct sockaddr_ll *)&address;

	if (sock->ops->getname(sock, (struct sockaddr *)&address, 0) < 0)
		return NULL;
	return ll->sll_ifindex > 0 ?
		dev_get_by_index_rcu(sock_net(sock->sk), ll->sll_ifindex) : NULL;
}

static bool is_packet(const struct socket *sock)
{
	return sock->sk->sk_family == PF_PACKET && sock->type == SOCK_RAW;
}

static int check_socket(struct socket *sock)
{
	struct net_device *dev;
	int err;

	if (!is_packet(sock))
		return -ESOCKTNOSUPPORT;
	rcu_read_lock();
	dev = frames_device(sock);
	err = dev && frames_is_ethernet(dev) ? 0 : -EDESTADDRREQ;
	rcu_read_unlock();
	return err;
}

/* The cached result is another socket's: the next open asks again. */
static void forget_bypass(struct frames_port *port)
{
	port->direct = false;
	port->inode = 0;
}

/* Binds the port to this socket for the rest of the run. */
static int bind_port(struct frames_port *port, struct socket *sock)
{
	if (port->sk && port->sk != sock->sk)
		return -ESTALE;
	if (!is_packet(sock))
		return -ESOCKTNOSUPPORT;
	if (!port->sk) {
		if (port->inode != SOCK_INODE(sock)->i_ino)
			forget_bypass(port);
		sock_hold(sock->sk);
		port->sk = sock->sk;
	}
	port->nonblock = sock->file->f_flags & O_NONBLOCK;
	return 0;
}

long frames_with_socket(struct frames_work *work, long (*fn)(struct frames_work *work))
{
	long ret;
	int err;

	work->sock = sockfd_lookup(work->port->frames.fd, &err);
	if (!work->sock)
		return err;
	ret = bind_port(work->port, work->sock);
	if (!ret)
		ret = fn(work);
	sockfd_put(work->sock);
	return ret;
}

long frames_call(struct frames_work *work, unsigned int nr, unsigned int n,
		 long (*fn)(struct frames_work *work))
{
	struct observers_call call = { .nr = nr, .args = { work->port->frames.fd, 0, n } };

	if (likely(!observers_watch()))
		return frames_with_socket(work, fn);
	return observers_ask(work->run, &call) ?:
	       observers_done(&call, frames_with_socket(work, fn));
}

/* -- Frames -------------------------------------------------------------------- */

void frames_put_received(struct frames *frames)
{
	unsigned int i;

	for (i = 0; i < frames->n; i++)
		if (frames->in[i].buffer)
			frames_put(&frames->in[i]);
	frames_next_batch(frames);
}

/* -- Ports --------------------------------------------------------------------- */

/* A program's ports, as a keeper of its run. */
struct ports {
	struct run_keeper keeper;
	struct frames_port *first;
};

static struct ports *ports_of_keeper(struct run_keeper *keeper)
{
	return container_of(keeper, struct ports, keeper);
}

static void ports_end_run(struct run_keeper *keeper, bool well);
static void ports_release(struct run_keeper *keeper);

/* NULL if the program has no ports yet. */
static struct ports *find_ports(struct run *run)
{
	struct run_keeper *keeper = run_priv(run)->resources.keepers;

	while (keeper && keeper->release != ports_release)
		keeper = keeper->next;
	return keeper ? ports_of_keeper(keeper) : NULL;
}

static struct ports *find_or_add_ports(struct run *run)
{
	struct run_resources *held = &run_priv(run)->resources;
	struct ports *ports = find_ports(run);

	if (ports)
		return ports;
	ports = kzalloc(sizeof(*ports), GFP_KERNEL_ACCOUNT);
	if (!ports)
		return NULL;
	ports->keeper = (struct run_keeper){
		.next = held->keepers, .end_run = ports_end_run, .release = ports_release,
	};
	held->keepers = &ports->keeper;
	return ports;
}

static struct frames_port *find_port(struct run *run, int fd)
{
	const struct ports *ports = find_ports(run);
	struct frames_port *port = ports ? ports->first : NULL;

	while (port && port->frames.fd != fd)
		port = port->next;
	return port;
}

static long add_port(struct frames_work *work, int fd)
{
	struct ports *ports = find_or_add_ports(work->run);
	struct frames_port *port;
	unsigned int n = 0;

	if (!ports)
		return -ENOMEM;
	for (port = ports->first; port; port = port->next)
		n++;
	if (n >= FRAMES_PORTS)
		return -EMFILE;
	port = kvzalloc(sizeof(*port), GFP_KERNEL_ACCOUNT);
	if (!port)
		return -ENOMEM;
	port->frames.fd = fd;
	port->next = ports->first;
	ports->first = port;
	work->port = port;
	return 0;
}

/* Could the process set this option?  False where an observer might refuse it. */
static bool may_set(struct socket *sock, int level, int name)
{
	if (observers_watch() || cgroup_bpf_enabled(CGROUP_SETSOCKOPT))
		return false;
	return !IS_ENABLED(CONFIG_SECURITY_NETWORK) ||
	       !static_call(frames_may_set)(sock, level, name);
}

/*
 * Does the process want this socket's frames past the queueing discipline?  Only getsockopt(2)
 * knows, which needs user memory for its result.  Another thread may write there, so the answer
 * counts only if the process could set the option itself.  Asked once for each socket, identified
 * by its inode number.
 */
static void ask_for_bypass(struct frames_work *work, int fd, struct socket *sock)
{
	struct frames_port *port = work->port;
	long scratch = run_scratch_mapped(work->run);
	unsigned long at = scratch + SCRATCH_SIZE - 2 * sizeof(int);
	const struct pt_regs regs =
		REGS_ARGS(fd, SOL_PACKET, PACKET_QDISC_BYPASS, at, at + sizeof(int), 0);
	int option[] = { 0, sizeof(int) };	/* the option's value, and the value's length */

	forget_bypass(port);
	if (IS_ERR_VALUE(scratch) || !may_set(sock, SOL_PACKET, PACKET_QDISC_BYPASS) ||
	    copy_to_user((void __user *)at, option, sizeof(option)) ||
	    syscall_entry_getsockopt(&regs) ||
	    copy_from_user(option, (void __user *)at, sizeof(option)))
		return;
	port->direct = option[0];
	port->inode = SOCK_INODE(sock)->i_ino;
}

struct open {
	struct frames_work work;
	int fd;
	enum frames_take take;
};

static long open_port(struct open *open)
{
	struct frames_work *work = &open->work;
	struct socket *sock;
	int err;

	if (!can_ask)
		return -EOPNOTSUPP;
	sock = sockfd_lookup(open->fd, &err);
	if (!sock)
		return err;
	err = check_socket(sock);
	if (!err)
		work->port = find_port(work->run, open->fd);
	if (!err && !work->port)
		err = add_port(work, open->fd);
	if (!err && work->port->inode != SOCK_INODE(sock)->i_ino)
		ask_for_bypass(work, open->fd, sock);
	sockfd_put(sock);
	return err;
}

/* 0 if the port already takes frames from the stack, or leaves them, as requested. */
static long has_to_change(struct frames_work *work)
{
	const struct open *open = container_of(work, struct open, work);
	const struct frames_rx *rx = work->port->rx;

	return open->take ?
	       !frames_rx_serves(rx, work->sock, open->take == FRAMES_TAKE_UNFILTERED) : !!rx;
}

static void stop_taking(struct frames_port *port)
{
	if (port->rx)
		frames_rx_detach(port->rx);
	port->rx = NULL;
}

static long change_taking(struct frames_work *work)
{
	const struct open *open = container_of(work, struct open, work);

	stop_taking(work->port);
	return open->take ? frames_rx_attach(&work->port->rx, work->sock,
					     open->take == FRAMES_TAKE_UNFILTERED) : 0;
}

/* Observers are asked while no reference to the socket is held: they may end the task. */
static long set_taking(struct open *open)
{
	struct frames_work *work = &open->work;
	struct observers_call call = { .nr = __NR_setsockopt, .args = { open->fd, SOL_PACKET } };
	long ret = frames_with_socket(work, has_to_change);

	if (ret <= 0)
		return ret;
	if (likely(!observers_watch()))
		return frames_with_socket(work, change_taking);
	return observers_ask(work->run, &call) ?:
	       observers_done(&call, frames_with_socket(work, change_taking));
}

static long open_call(void *arg)
{
	struct open *open = arg;
	struct observers_call call = { .nr = __NR_getsockname, .args = { open->fd } };
	long ret;

	if (likely(!observers_watch()))
		ret = open_port(open);
	else
		ret = observers_ask(open->work.run, &call) ?:
		      observers_done(&call, open_port(open));
	return ret || (!open->take && !open->work.port->rx) ? ret : set_taking(open);
}

long frames_open(struct run *run, int fd, enum frames_take take, struct frames **frames)
{
	struct open open = { .work = { .run = run }, .fd = fd, .take = take };
	long ret = run_as_syscall(run, open_call, &open, take);

	if (!ret)
		*frames = &open.work.port->frames;
	return ret;
}

/* -- The end of a run, and of a program ---------------------------------------- */

/*
 * Releases all frames and sockets, except those to be kept, if @may_keep.
 *
 * 1. The frames of all ports, because a port's frame may be queued at another port.
 * 2. The sockets that they were charged to.  A socket that the process has closed takes no more
 *    frames from its device.
 */
static void end_run(struct frames_port *ports, bool may_keep)
{
	struct frames_port *port;

	for (port = ports; port; port = port->next) {
		if (!may_keep || !port->frames.keep)
			frames_put_received(&port->frames);
		port->frames.keep = 0;
		while (port->frames.nout)
			frames_put(&port->frames.out[--port->frames.nout]);
	}
	for (port = ports; port; port = port->next) {
		if (port->rx && unlikely(frames_rx_orphaned(port->rx)))
			stop_taking(port);
		if (!port->sk || port->frames.n)
			continue;
		sock_put(port->sk);
		port->sk = NULL;
	}
}

static void ports_end_run(struct run_keeper *keeper, bool well)
{
	end_run(ports_of_keeper(keeper)->first, well);
}

static void ports_release(struct run_keeper *keeper)
{
	struct ports *ports = ports_of_keeper(keeper);
	struct frames_port *port = ports->first, *next;

	end_run(port, false);
	for (; port; port = next) {
		next = port->next;
		stop_taking(port);
		kvfree(port);
	}
	kfree(ports);
}
