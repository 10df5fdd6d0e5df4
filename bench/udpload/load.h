/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The load: clients that ask as fast as they are answered, or at a fixed rate.
 * Several servers are loaded in turn, a slice of the time each, so that what
 * slows the machine for a while slows them all.
 */
#ifndef LOAD_H
#define LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>

#include "dataset.h"
#include "gets.h"
#include "server.h"
#include "sets.h"
#include "stats.h"

#define TARGETS_MAX	16

struct load_target {
	struct sockaddr_in address;
	int thread;			/* of the server, to be watched; 0: none */
};

struct load_options {
	struct load_target targets[TARGETS_MAX];
	unsigned int n;
	unsigned int clients;		/* requests out at a time, at most */
	double rate;			/* a second; 0: closed loop */
	unsigned int sockets, connections;
	unsigned int keys, keys_per_get;
	size_t key_size, value_size;
	unsigned int get_share, set_share;
	double warm_up, seconds;	/* of each server */
	double slice;			/* of those seconds; 0: all at once */
	uint64_t requests;		/* 0: as many as fit in the time */
	double timeout;
	int cpu;			/* -1: any, and then without spinning for long */
	bool calls;			/* count the servers' system calls */
	bool filled;			/* the server holds the keys, in some version */
	bool survive;			/* that the server goes, and comes back empty */
	bool segments;
	bool progress;
	/* Of one of several threads: where they begin each slice. */
	unsigned int threads;
	pthread_barrier_t *together;
	uint64_t seed;
};

struct load {
	const struct load_options *options;
	const struct load_target *target;
	struct dataset *data;
	struct stats stats;
	struct server server;
	struct get_socket *sockets;
	struct set_connection *connections;
	struct pollfd *fds;		/* the sockets', then the connections' */
	uint64_t random;
	unsigned int turn;		/* the socket whose turn it is */
	/* Of a slice: when it began, and how many requests have been sent. */
	uint64_t schedule;
	uint64_t issued;
	uint64_t idle_ns;	/* nothing to receive or to send */
	uint64_t last_answer, last_look, last_progress, told;
	bool prefilling, draining;
	uint32_t prefilled;
};

/* What is stored there may be several loads' at once. */
void load_open(struct load *load, const struct load_options *options,
	       const struct load_target *target, struct dataset *data);

/* Has the server store all values. */
void load_fill(struct load *load);

/* Loads all servers of the options, and stores what happened. */
void load_run(struct load *loads, const struct load_options *options);
void load_free(struct load *load);

#endif
