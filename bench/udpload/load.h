/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * The load: clients that send a request after each reply, or at a fixed rate. Several servers are
 * loaded in turn, in slices of time, so that a temporary slowdown of the machine affects them all.
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
	int thread;			/* of the server, to watch; 0: none */
};

struct load_options {
	struct load_target targets[TARGETS_MAX];
	unsigned int n;
	unsigned int clients;		/* requests in flight, at most */
	double rate;			/* per second; 0: closed loop */
	unsigned int sockets, connections;
	unsigned int keys, keys_per_get;
	size_t key_size, value_size;
	unsigned int get_share, set_share;
	double warm_up, seconds;	/* of each server */
	double slice;			/* seconds of a slice; 0: all at once */
	uint64_t requests;		/* 0: as many as fit in the time */
	double timeout;
	int cpu;			/* -1: any, and then it polls only briefly */
	bool calls;			/* count the servers' system calls */
	bool filled;			/* the server holds the keys already, in some version */
	bool survive;			/* the server may disappear, and return empty */
	bool segments;
	bool progress;
	/* Barrier of several threads at the begin of each slice. */
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
	unsigned int turn;		/* the next socket to serve */
	/* When the slice began, and how many requests were sent in it. */
	uint64_t schedule;
	uint64_t issued;
	uint64_t idle_ns;	/* with nothing to receive or send */
	uint64_t last_answer, last_look, last_progress, told;
	bool prefilling, draining;
	uint32_t prefilled;
};

/* The data set may be shared by several loads. */
void load_open(struct load *load, const struct load_options *options,
	       const struct load_target *target, struct dataset *data);

/* Makes the server store all values. */
void load_fill(struct load *load);

/* Loads all servers of the options, and stores the results. */
void load_run(struct load *loads, const struct load_options *options);
void load_free(struct load *load);

#endif
