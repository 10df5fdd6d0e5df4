// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Loads a memcached with GETs over UDP and SETs over TCP; checks and times every reply. */
#include <arpa/inet.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "load.h"
#include "measure.h"
#include "threads.h"

#define REPLIES_WRONG	3
#define SOCKETS_MAX	1024
/* Bytes of a datagram besides keys and value, at most. */
#define OVERHEAD	64

static const char usage[] =
	"usage: udpload [OPTION...] PORT[:TID]...\n"
	"\n"
	"Loads a memcached: GETs over UDP, SETs over TCP, each reply checked.\n"
	"Writes JSON; the times are in microseconds.  Several are loaded in turn.  With\n"
	"TID the CPU time of that thread, the server's, is reported.\n"
	"\n"
	"  --host ADDRESS        IPv4 address of the server (127.0.0.1)\n"
	"  --outstanding N       requests out at a time: a closed loop (128)\n"
	"  --rate R              requests a second, whatever the answers; their times count\n"
	"                        from when they were to be sent.  --outstanding bounds\n"
	"                        those that are out (4096)\n"
	"  --ratio GETS:SETS     (9:1)\n"
	"  --threads N           share sockets and requests (1)\n"
	"  --sockets N           UDP sockets (one for each 8 requests, at most 16; one for\n"
	"                        each, if they are of several keys)\n"
	"  --connections N       TCP connections (as many)\n"
	"  --keys N              (10000)\n"
	"  --keys-per-get N      drawn one by one, as --ratio says; a SET goes out at once (1)\n"
	"  --key-size N          bytes (16)\n"
	"  --value-size N        bytes (64)\n"
	"  --warm-up SECONDS     not measured (0.5)\n"
	"  --seconds SECONDS     measured, of each server (5)\n"
	"  --slice SECONDS       loaded in turns of this length (all at once)\n"
	"  --requests N          measured, instead of a time; no warm-up\n"
	"  --timeout SECONDS     after which a GET is lost, and sent again (1)\n"
	"  --cpu N               stay on this CPU, and never sleep in a single thread\n"
	"  --system-calls        count the system calls of TID (disturbs it: needs root)\n"
	"  --filled              the server holds these keys since an earlier run\n"
	"  --survive             the server may go and come back empty\n"
	"  --no-segments         send datagrams with sendmmsg(2), without UDP_SEGMENT\n"
	"  --quiet               no progress on standard error\n"
	"  --machine             write only what kernel and CPU this runs on\n"
	"\n"
	"Exit status: 0, 1 if it could not be done, 2 for usage, 3 for wrong replies or\n"
	"misses.\n";

static const char unsent[] =
	"udpload: %llu requests came due and were not sent: the server is slower than the rate,\n"
	"and its times are worse than these\n";

static const char wrong[] =
	"udpload: %llu replies were wrong, %llu missed a key that is stored\n";

enum option_code {
	HOST, OUTSTANDING, RATE, RATIO, THREADS, SOCKETS, CONNECTIONS, KEYS, KEYS_PER_GET,
	KEY_SIZE, VALUE_SIZE,
	WARM_UP, SECONDS, SLICE, REQUESTS, TIMEOUT, CPU, SYSTEM_CALLS, FILLED, SURVIVE,
	NO_SEGMENTS, QUIET, MACHINE, HELP,
};

static const struct option options[] = {
	{ "host", required_argument, NULL, HOST },
	{ "outstanding", required_argument, NULL, OUTSTANDING },
	{ "rate", required_argument, NULL, RATE },
	{ "ratio", required_argument, NULL, RATIO },
	{ "sockets", required_argument, NULL, SOCKETS },
	{ "connections", required_argument, NULL, CONNECTIONS },
	{ "keys", required_argument, NULL, KEYS },
	{ "keys-per-get", required_argument, NULL, KEYS_PER_GET },
	{ "threads", required_argument, NULL, THREADS },
	{ "key-size", required_argument, NULL, KEY_SIZE },
	{ "value-size", required_argument, NULL, VALUE_SIZE },
	{ "warm-up", required_argument, NULL, WARM_UP },
	{ "seconds", required_argument, NULL, SECONDS },
	{ "slice", required_argument, NULL, SLICE },
	{ "requests", required_argument, NULL, REQUESTS },
	{ "timeout", required_argument, NULL, TIMEOUT },
	{ "cpu", required_argument, NULL, CPU },
	{ "system-calls", no_argument, NULL, SYSTEM_CALLS },
	{ "filled", no_argument, NULL, FILLED },
	{ "survive", no_argument, NULL, SURVIVE },
	{ "no-segments", no_argument, NULL, NO_SEGMENTS },
	{ "quiet", no_argument, NULL, QUIET },
	{ "machine", no_argument, NULL, MACHINE },
	{ "help", no_argument, NULL, HELP },
	{ 0 },
};

static double number(const char *text, double from, double to)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= from && value <= to))
		measure_die("%s is not a number from %g to %g", text, from, to);
	return value;
}

static void parse_ratio(struct load_options *load, const char *text)
{
	char rest;

	if (sscanf(text, "%u:%u%c", &load->get_share, &load->set_share, &rest) != 2 ||
	    load->get_share + load->set_share < 1 || load->get_share > 1000000 ||
	    load->set_share > 1000000)
		measure_die("%s is not a ratio of GETs to SETs like 9:1", text);
}

/* Options with a number, or without one, which are booleans. */
static const struct setting {
	size_t offset;
	enum { INT, UNSIGNED, SIZE, LONG, DOUBLE, FLAG } type;
	double from, to;
} settings[] = {
#define SETTING(member, ...) { offsetof(struct load_options, member), __VA_ARGS__ }
	[OUTSTANDING] = SETTING(clients, UNSIGNED, 1, 65536),
	[RATE] = SETTING(rate, DOUBLE, 0.1, 1e9),
	[SOCKETS] = SETTING(sockets, UNSIGNED, 1, SOCKETS_MAX),
	[CONNECTIONS] = SETTING(connections, UNSIGNED, 1, SOCKETS_MAX),
	[KEYS] = SETTING(keys, UNSIGNED, 1, KEYS_MAX),
	[KEYS_PER_GET] = SETTING(keys_per_get, UNSIGNED, 1, KEYS_PER_GET_MAX),
	[THREADS] = SETTING(threads, UNSIGNED, 1, THREADS_MAX),
	[KEY_SIZE] = SETTING(key_size, SIZE, KEY_SIZE_MIN, KEY_SIZE_MAX),
	[VALUE_SIZE] = SETTING(value_size, SIZE, VALUE_SIZE_MIN, VALUE_SIZE_MAX),
	[WARM_UP] = SETTING(warm_up, DOUBLE, 0, 1e6),
	[SECONDS] = SETTING(seconds, DOUBLE, 0.001, 1e6),
	[SLICE] = SETTING(slice, DOUBLE, 0.001, 1e6),
	[REQUESTS] = SETTING(requests, LONG, 1, 1e15),
	[TIMEOUT] = SETTING(timeout, DOUBLE, 0.001, 1000),
	[CPU] = SETTING(cpu, INT, 0, 4095),
	[SYSTEM_CALLS] = SETTING(calls, FLAG, true),
	[FILLED] = SETTING(filled, FLAG, true),
	[SURVIVE] = SETTING(survive, FLAG, true),
	[NO_SEGMENTS] = SETTING(segments, FLAG, false),
	[QUIET] = SETTING(progress, FLAG, false),
};

static void parse_setting(struct load_options *load, const struct setting *setting,
			  const char *text)
{
	void *to = (char *)load + setting->offset;
	double value = setting->from;

	if (setting->type != FLAG)
		value = number(text, setting->from, setting->to);
	switch (setting->type) {
	case INT:
		*(int *)to = value;
		break;
	case UNSIGNED:
		*(unsigned int *)to = value;
		break;
	case SIZE:
		*(size_t *)to = value;
		break;
	case LONG:
		*(uint64_t *)to = value;
		break;
	case DOUBLE:
		*(double *)to = value;
		break;
	default:
		*(bool *)to = value;
	}
}

static void parse_option(struct load_options *load, int option, const char *text)
{
	switch (option) {
	case HOST:
		for (unsigned int i = 0; i < TARGETS_MAX; i++)
			if (inet_pton(AF_INET, text, &load->targets[i].address.sin_addr) != 1)
				measure_die("%s is not an IPv4 address", text);
		break;
	case RATIO:
		parse_ratio(load, text);
		break;
	case MACHINE:
		printf("{\"kernel\": \"%s\", \"accel\": \"%s\"}\n", measure_kernel(),
		       measure_accel());
		exit(0);
	case HELP:
		fputs(usage, stdout);
		exit(0);
	case '?':
		fputs("try udpload --help\n", stderr);
		exit(2);
	default:
		parse_setting(load, &settings[option], text);
	}
}

static unsigned int at_least(unsigned int n, unsigned int least)
{
	return n > least ? n : least;
}

static unsigned int at_most(unsigned int n, unsigned int most)
{
	return n < most ? n : most;
}

/* Each thread needs at least one. */
static void complete_sockets(struct load_options *load)
{
	unsigned int usual = at_least(at_most((load->clients + 7) / 8, 16), load->threads);

	if (load->clients < load->threads)
		measure_die("%u requests out are too few for %u threads", load->clients,
			    load->threads);
	if (load->requests && load->requests < load->threads)
		measure_die("%llu requests are too few for %u threads",
			    (unsigned long long)load->requests, load->threads);
	if (!load->sockets)
		load->sockets = usual;
	load->sockets = at_most(at_least(load->sockets, load->threads), load->clients);
	if (!load->connections)
		load->connections = at_most(load->sockets, usual);
	load->connections = at_most(at_least(load->connections, load->threads), load->clients);
}

/* A request must fit into one datagram; so must each of the replies, one for each value. */
static void check_keys(const struct load_options *load)
{
	if (load->keys_per_get > 1 &&
	    (load->keys_per_get * (load->key_size + 1) + OVERHEAD > GET_SIZE_MAX ||
	     load->key_size + load->value_size + OVERHEAD > GET_SIZE_MAX))
		measure_die("%u keys of %zu bytes, or a value of %zu, are more than a datagram",
			    load->keys_per_get, load->key_size, load->value_size);
}

/* Defaults that depend on other options. */
static void complete(struct load_options *load)
{
	if (!load->clients)
		load->clients = load->rate ? 4096 : 128;
	if (!load->sockets && load->keys_per_get > 1)
		load->sockets = at_most(load->clients, SOCKETS_MAX);
	complete_sockets(load);
	check_keys(load);
	if (load->clients / load->sockets >= CLIENTS_MAX)
		measure_die("%u requests out on %u sockets are too many: use more --sockets",
			    load->clients, load->sockets);
	if (load->requests)
		load->warm_up = 0;
	for (unsigned int i = 0; i < load->n; i++)
		if (load->calls && !load->targets[i].thread)
			measure_die("--system-calls needs PORT:TID");
	if (load->requests && load->slice)
		measure_die("--requests has no --slice: it takes the time that it takes");
}

static void parse_target(struct load_target *target, char *text)
{
	char *thread = strchr(text, ':');

	if (thread) {
		*thread++ = '\0';
		target->thread = number(thread, 1, 1 << 22);
	}
	target->address.sin_port = htons(number(text, 1, 65535));
}

static void parse(struct load_options *load, int argc, char **argv)
{
	int option;

	*load = (struct load_options){
		.keys = 10000,
		.keys_per_get = 1,
		.threads = 1,
		.key_size = 16,
		.value_size = 64,
		.get_share = 9,
		.set_share = 1,
		.warm_up = 0.5,
		.seconds = 5,
		.timeout = 1,
		.cpu = -1,
		.segments = true,
		.progress = true,
	};
	for (unsigned int i = 0; i < TARGETS_MAX; i++)
		load->targets[i].address = (struct sockaddr_in){
			.sin_family = AF_INET,
			.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		};
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
		parse_option(load, option, optarg);
	load->n = argc - optind;
	if (optind >= argc || load->n > TARGETS_MAX) {
		fputs(usage, stderr);
		exit(2);
	}
	for (unsigned int i = 0; i < load->n; i++)
		parse_target(&load->targets[i], argv[optind + i]);
	complete(load);
}

static void print(const struct load *load, const struct load_options *o)
{

	printf("{\n\"port\": %u,\n", ntohs(load->target->address.sin_port));
	printf("\"kernel\": \"%s\",\n\"accel\": \"%s\",\n", measure_kernel(), measure_accel());
	printf("\"outstanding\": %u,\n\"rate\": %g,\n\"ratio\": \"%u:%u\",\n", o->clients, o->rate,
	       o->get_share, o->set_share);
	printf("\"sockets\": %u,\n\"connections\": %u,\n\"segments\": %s,\n", o->sockets,
	       o->connections, load->sockets[0].segments ? "true" : "false");
	printf("\"threads\": %u,\n\"keys_per_get\": %u,\n", o->threads, o->keys_per_get);
	printf("\"keys\": %u,\n\"key_size\": %zu,\n\"value_size\": %zu,\n", o->keys, o->key_size,
	       o->value_size);
	if (load->target->thread)
		printf("\"server_cpu_ns\": %llu,\n", (unsigned long long)load->server.cpu_ns);
	if (o->calls)
		printf("\"server_system_calls\": %llu,\n",
		       (unsigned long long)load->server.system_calls);
	stats_print(&load->stats, stdout);
	printf("\n}");
}

/* Returns whether a reply was wrong. */
static bool judge(const struct load *load)
{
	const struct stats *stats = &load->stats;
	bool bad = stats->wrong || (stats->misses && !load->options->survive);

	if (stats->unsent)
		fprintf(stderr, unsent, (unsigned long long)stats->unsent);
	if (bad)
		fprintf(stderr, wrong, (unsigned long long)stats->wrong,
			(unsigned long long)stats->misses);
	return bad;
}

int main(int argc, char **argv)
{
	static struct threads threads;
	struct load *loads = threads.thread[0].loads;
	struct load_options load_options;
	bool bad = false;

	parse(&load_options, argc, argv);
	if (load_options.cpu >= 0)
		measure_pin(load_options.cpu);
	threads_open(&threads, &load_options);
	threads_run(&threads, &load_options);
	if (load_options.n > 1)
		printf("{\"servers\": [\n");
	for (unsigned int i = 0; i < load_options.n; i++) {
		print(&loads[i], &load_options);
		printf("%s\n", i + 1 < load_options.n ? "," : "");
		bad = judge(&loads[i]) || bad;
	}
	threads_free(&threads, &load_options);
	if (load_options.n > 1)
		printf("]}\n");
	return bad ? REPLIES_WRONG : 0;
}
