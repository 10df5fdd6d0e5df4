/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The load: clients that ask as fast as they are answered, or at a fixed rate. */
#ifndef LOAD_H
#define LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <netinet/in.h>
#include <poll.h>

#include "dataset.h"
#include "gets.h"
#include "server.h"
#include "sets.h"
#include "stats.h"

struct load_options {
	struct sockaddr_in server;
	unsigned int clients;		/* requests out at a time, at most */
	double rate;			/* a second; 0: closed loop */
	unsigned int sockets, connections;
	unsigned int keys;
	size_t key_size, value_size;
	unsigned int get_share, set_share;
	double warm_up, seconds;
	uint64_t requests;		/* 0: as many as fit in the time */
	double timeout;
	int cpu;			/* -1: any, and then without spinning for long */
	int thread;			/* of the server, to be watched; 0: none */
	bool switches;			/* count its mode switches */
	bool filled;			/* the server holds the keys, in some version */
	bool survive;			/* that the server goes, and comes back empty */
	bool segments;
	bool progress;
};

struct load {
	const struct load_options *options;
	struct dataset data;
	struct stats stats;
	struct server server;
	struct get_socket *sockets;
	struct set_connection *connections;
	struct pollfd *fds;		/* the sockets', then the connections' */
	uint64_t random;
	unsigned int turn;		/* the socket whose turn it is */
	/* Of a fixed rate: when the first was due, and how many have been sent. */
	uint64_t schedule;
	uint64_t issued;
	uint64_t last_answer, last_look, last_progress, told;
	bool prefilling, draining;
	uint32_t prefilled;
};

/* Fills the server, loads it, and stores what happened. */
void load_run(struct load *load, const struct load_options *options);
void load_free(struct load *load);

#endif
