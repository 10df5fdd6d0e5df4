/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Results: counts, and times in HdrHistograms. */
#ifndef STATS_H
#define STATS_H

#include <stdint.h>
#include <stdio.h>

struct hdr_histogram;

/* One kind of request. */
struct kind {
	uint64_t answered;	/* within windows */
	uint64_t all;		/* since the start, to show progress */
	struct hdr_histogram *times;	/* ns, for those started in a window */
};

struct stats {
	/* The measuring window; 0 while its start or end is not set. */
	uint64_t from, until;
	uint64_t window_ns;	/* total of all windows */
	struct kind gets, sets;
	/* Since the start, including the warm-up and the time after the window. */
	uint64_t misses;
	uint64_t wrong;		/* replies that differ from what was stored */
	uint64_t lost;		/* GETs not answered in time, and sent again */
	uint64_t late;		/* replies to those */
	uint64_t duplicate;	/* replies to requests already answered */
	uint64_t stray;		/* replies to requests never sent */
	uint64_t broken;	/* SETs on a connection that the server closed */
	uint64_t unanswered;	/* GETs still in flight at the end */
	uint64_t unsent;	/* requests due when no client was free */
	uint64_t idle_ns;	/* time without work, within the windows */
	uint64_t cpu_ns;	/* this thread's CPU time within the windows */
	unsigned int threads;	/* number of threads in the sums */
};

void stats_init(struct stats *stats);
void stats_free(struct stats *stats);

/* A request that started at @start was answered at @now. */
void stats_answered(struct stats *stats, struct kind *kind, uint64_t start, uint64_t now);

/* Adds another thread's results. */
void stats_add(struct stats *stats, const struct stats *other);

/* Writes JSON members, without braces. */
void stats_print(const struct stats *stats, FILE *file);

#endif
