// SPDX-License-Identifier: GPL-2.0 OR MIT
/* See load.h. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "load.h"
#include "measure.h"

#define SECOND		1000000000ull
#define SEED		88172645463325252ull
/* Timeouts without any reply after which the server counts as dead. */
#define PATIENCE	20
/* Searches for lost requests per timeout. */
#define LOOKS		16
/* At a fixed rate, consecutive requests from the same socket. */
#define ROW		16
/* Without a CPU of its own: how long to poll for work, and how long to sleep. */
#define SPIN_NS		100000
#define SLEEP_NS	1000000
/* Warm-up, excluded. */
#define SLICE_WARM_UP	0.1

static uint64_t ns(double seconds)
{
	return seconds * SECOND;
}

static uint32_t below(struct load *load, uint32_t n)
{
	uint64_t x = load->random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	load->random = x;
	return (x >> 32) * n >> 32;
}

/* A key without a SET in flight, claimed for the next one; -1 if there is none. */
static int64_t key_to_set(struct load *load)
{
	uint32_t key = below(load, load->data->keys);

	for (uint32_t i = 0; i < load->data->keys; i++) {
		if (dataset_claim(load->data, key))
			return key;
		key = key + 1 < load->data->keys ? key + 1 : 0;
	}
	return -1;
}

static struct set_connection *connection_of(struct load *load, const struct client *client)
{
	unsigned int socket = client->socket - load->sockets;
	unsigned int number = client - client->socket->clients;

	return &load->connections[(number * load->options->sockets + socket) %
				  load->options->connections];
}

static int64_t key_to_fill(struct load *load)
{
	dataset_claim(load->data, load->prefilled);
	return load->prefilled++;
}

/*
 * Draws single-key requests until there are enough for a GET, as memaslap does: the ratio applies
 * to keys. A SET is sent at once, and its key returned; -1: send the GET.
 */
static int64_t draw(struct load *load, struct client *client)
{
	const struct load_options *options = load->options;
	int64_t key;

	while (client->keys < options->keys_per_get) {
		if (below(load, options->get_share + options->set_share) >= options->get_share) {
			key = key_to_set(load);
			if (key >= 0)
				return key;
		}
		client->asked[client->keys++].key = below(load, load->data->keys);
	}
	return -1;
}

static void issue(struct load *load, struct client *client, uint64_t start, uint64_t now)
{
	int64_t key = load->prefilling ? key_to_fill(load) : draw(load, client);

	client->start = start;
	load->issued++;
	if (key >= 0)
		sets_queue(connection_of(load, client), client, key, now);
	else
		gets_queue(client->socket, client, now);
}

/* The number of requests due at this time. */
static uint64_t due(const struct load *load, uint64_t now)
{
	const struct load_options *options = load->options;
	uint64_t most = options->requests ? options->requests : UINT64_MAX;

	if (load->draining)
		return 0;
	if (load->prefilling)
		return load->data->keys - load->prefilled;
	if (options->rate) {
		uint64_t by_now = (now - load->schedule) * options->rate / SECOND + 1;

		most = by_now < most ? by_now : most;
	}
	return most > load->issued ? most - load->issued : 0;
}

static uint64_t start_of_next(const struct load *load, uint64_t now)
{
	if (!load->options->rate || load->prefilling)
		return now;
	return load->schedule + load->issued * SECOND / load->options->rate;
}

/* Lets free clients of a socket send requests. Returns their number. */
static unsigned int issue_from(struct load *load, struct get_socket *sock, unsigned int most)
{
	uint64_t now = measure_now();
	unsigned int n = 0;

	while (n < most && sock->queued < GETS_BATCH && sock->free) {
		issue(load, client_pop(&sock->free), start_of_next(load, now), now);
		n++;
	}
	return n;
}

static unsigned int issue_due(struct load *load)
{
	const struct load_options *options = load->options;
	uint64_t n = due(load, options->rate ? measure_now() : 0);
	unsigned int row = options->rate ? ROW : GETS_BATCH, done = 0;

	for (unsigned int i = 0; i < options->sockets && done < n; i++) {
		struct get_socket *sock = &load->sockets[load->turn];

		done += issue_from(load, sock, n - done < row ? n - done : row);
		load->turn = load->turn + 1 < options->sockets ? load->turn + 1 : 0;
	}
	return done;
}

static void flush(struct load *load)
{
	const struct load_options *options = load->options;

	for (unsigned int i = 0; i < options->sockets; i++)
		if (load->sockets[i].queued)
			gets_flush(&load->sockets[i]);
	for (unsigned int i = 0; i < options->connections; i++)
		if (load->connections[i].queued)
			sets_flush(&load->connections[i], measure_now());
}

/* Receives everything queued, without polling first. Returns the amount. */
static int receive(struct load *load)
{
	const struct load_options *options = load->options;
	int n = 0;

	for (unsigned int i = 0; i < options->sockets; i++)
		if (load->sockets[i].waiting || load->draining)
			n += gets_receive(&load->sockets[i]);
	for (unsigned int i = 0; i < options->connections; i++)
		if (load->connections[i].n)
			n += sets_receive(&load->connections[i]);
	if (n)
		load->last_answer = measure_now();
	return n;
}

/* Without a CPU of its own it must not keep others from theirs for long. */
static uint64_t pause_load(struct load *load, uint64_t idle_since, uint64_t now)
{
	const struct load_options *options = load->options;
	struct timespec wait = { 0, SLEEP_NS };
	uint64_t next = start_of_next(load, now);

	if ((options->cpu >= 0 && !options->together) || now < idle_since + SPIN_NS)
		return now;
	if (options->rate && next < now + SLEEP_NS)
		wait.tv_nsec = next > now ? next - now : 0;
	for (unsigned int i = 0; i < options->connections; i++)
		load->fds[options->sockets + i].fd = load->connections[i].fd;
	if (ppoll(load->fds, options->sockets + options->connections, &wait, NULL) < 0 &&
	    errno != EINTR)
		measure_die("waiting for replies failed: %m");
	return measure_now();
}

static void check_alive(const struct load *load, uint64_t now)
{
	const struct load_options *options = load->options;
	uint64_t patience_ns = PATIENCE * ns(options->timeout), oldest = now;

	if (options->survive)
		return;
	for (unsigned int i = 0; i < options->connections; i++) {
		uint64_t at = sets_oldest(&load->connections[i], now);

		oldest = at < oldest ? at : oldest;
	}
	/* Both may be later than @now. */
	if (now > load->last_answer + patience_ns || now > oldest + patience_ns)
		measure_die("the server has not answered for %g s", PATIENCE * options->timeout);
}

static void tell_progress(struct load *load, uint64_t now)
{
	const struct stats *stats = &load->stats;
	uint64_t all = stats->gets.all + stats->sets.all;
	double seconds = (now - load->last_progress) / (double)SECOND;

	if (!load->options->progress || seconds < 1)
		return;
	fprintf(stderr, "udpload: %.0f requests/s; wrong %llu, lost %llu, duplicate %llu\n",
		(all - load->told) / seconds, (unsigned long long)stats->wrong,
		(unsigned long long)stats->lost, (unsigned long long)stats->duplicate);
	load->told = all;
	load->last_progress = now;
}

/* Work that need not be done in each iteration. */
static void look_around(struct load *load, uint64_t now)
{
	uint64_t timeout = ns(load->options->timeout);

	if (now - load->last_look < timeout / LOOKS)
		return;
	load->last_look = now;
	for (unsigned int i = 0; i < load->options->sockets && !load->draining; i++)
		gets_resend(&load->sockets[i], now - timeout, now);
	check_alive(load, now);
	tell_progress(load, now);
}

static unsigned int outstanding(const struct load *load)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < load->options->sockets; i++)
		n += load->sockets[i].waiting;
	for (unsigned int i = 0; i < load->options->connections; i++)
		n += load->connections[i].n;
	return n;
}

static bool all_done(const struct load *load, uint64_t now)
{
	uint64_t requests = load->options->requests;

	if (load->prefilling)
		return load->prefilled == load->data->keys && !outstanding(load);
	return requests && load->issued >= requests && !due(load, now) && !outstanding(load);
}

/* Runs until @end, or until all requested work is done. */
static void run_until(struct load *load, uint64_t end)
{
	uint64_t now = measure_now(), idle_since = now, last = now;

	while (now < end && !all_done(load, now)) {
		int received = receive(load);
		unsigned int issued = issue_due(load);

		flush(load);
		look_around(load, now);
		last = now;
		now = measure_now();
		if (received || issued) {
			idle_since = now;
			continue;
		}
		now = pause_load(load, idle_since, now);
		load->idle_ns += now - last;
	}
}

static uint64_t cpu_time(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * SECOND +
	       (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000ull;
}

static void open_all(struct load *load)
{
	const struct load_options *options = load->options;
	unsigned int clients = (options->clients + options->connections - 1) /
			       options->connections;

	for (unsigned int i = 0; i < options->sockets; i++) {
		struct get_socket *sock = &load->sockets[i];
		unsigned int rest = i < options->clients % options->sockets;

		gets_open(sock, &load->target->address, options->clients / options->sockets + rest,
			  options->keys_per_get, load->data, &load->stats);
		sock->survive = options->survive;
		sock->segments = sock->segments && options->segments;
		load->fds[i] = (struct pollfd){ sock->fd, POLLIN, 0 };
	}
	for (unsigned int i = 0; i < options->connections; i++) {
		sets_open(&load->connections[i], &load->target->address, clients, load->data,
			  &load->stats);
		load->connections[i].survive = options->survive;
		load->fds[options->sockets + i].events = POLLIN;
	}
}

void load_open(struct load *load, const struct load_options *options,
	       const struct load_target *target, struct dataset *data)
{
	*load = (struct load){
		.options = options,
		.target = target,
		.data = data,
		.sockets = calloc(options->sockets, sizeof(*load->sockets)),
		.connections = calloc(options->connections, sizeof(*load->connections)),
		.fds = calloc(options->sockets + options->connections, sizeof(*load->fds)),
		.random = SEED + options->seed,
		.last_progress = measure_now(),
		.last_answer = measure_now(),
	};
	if (!load->sockets || !load->connections || !load->fds)
		measure_die("no memory for %u sockets", options->sockets);
	stats_init(&load->stats);
	open_all(load);
	if (target->thread)
		server_open(&load->server, target->thread, options->calls);
}

void load_fill(struct load *load)
{
	load->prefilling = true;
	run_until(load, UINT64_MAX);
	load->prefilling = false;
	load->stats.sets.all = 0;
}

/* First the work that must not be measured. */
static void begin(struct load *load, double warm_up)
{
	if (load->options->together)
		pthread_barrier_wait(load->options->together);
	load->draining = false;
	load->issued = 0;
	load->schedule = measure_now();
	load->last_answer = load->schedule;
	run_until(load, load->schedule + ns(warm_up));
}

static void measure(struct load *load, double seconds)
{
	const struct load_options *options = load->options;
	uint64_t cpu = cpu_time(), idle = load->idle_ns;
	struct stats *stats = &load->stats;

	if (load->target->thread)
		server_skip(&load->server);
	stats->until = 0;
	stats->from = measure_now();
	run_until(load, options->requests ? UINT64_MAX : stats->from + ns(seconds));
	stats->until = measure_now();
	if (load->target->thread)
		server_count(&load->server);
	stats->window_ns += stats->until - stats->from;
	stats->idle_ns += load->idle_ns - idle;
	stats->cpu_ns += cpu_time() - cpu;
}

/* No new requests: those in flight are answered, or late. */
static void drain(struct load *load)
{
	uint64_t end = measure_now() + ns(load->options->timeout);

	if (load->options->rate) {
		/* Requests that became due in the last iteration. */
		issue_due(load);
		load->stats.unsent += load->stats.until ? due(load, load->stats.until) : 0;
	}
	load->draining = true;
	while (outstanding(load) && measure_now() < end)
		run_until(load, measure_now() + SLEEP_NS);
}

static void end(struct load *load)
{
	for (unsigned int i = 0; i < load->options->sockets; i++)
		load->stats.unanswered += load->sockets[i].waiting;
	/* A duplicate would arrive right after. */
	run_until(load, measure_now() + 10 * SLEEP_NS);
}

static void load_slice(struct load *load, double seconds)
{
	begin(load, load->options->requests ? 0 : SLICE_WARM_UP * seconds);
	measure(load, seconds);
	drain(load);
}

void load_run(struct load *loads, const struct load_options *options)
{
	unsigned int slices = options->slice ? ceil(options->seconds / options->slice) : 1;

	for (unsigned int i = 0; i < options->n && options->warm_up; i++) {
		begin(&loads[i], options->warm_up);
		drain(&loads[i]);
	}
	/* No server always has the same predecessor. */
	for (unsigned int slice = 0; slice < slices; slice++)
		for (unsigned int i = 0; i < options->n; i++)
			load_slice(&loads[slice % 2 ? options->n - 1 - i : i],
				   options->seconds / slices);
	for (unsigned int i = 0; i < options->n; i++)
		end(&loads[i]);
}

void load_free(struct load *load)
{
	for (unsigned int i = 0; i < load->options->sockets; i++)
		gets_close(&load->sockets[i]);
	for (unsigned int i = 0; i < load->options->connections; i++)
		sets_close(&load->connections[i]);
	if (load->target->thread)
		server_close(&load->server);
	free(load->sockets);
	free(load->connections);
	free(load->fds);
	stats_free(&load->stats);
}
