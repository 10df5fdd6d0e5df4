/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* What happened: counts, and times in HdrHistograms. */
#ifndef STATS_H
#define STATS_H

#include <stdint.h>
#include <stdio.h>

struct hdr_histogram;

/* One kind of request. */
struct kind {
	uint64_t answered;	/* within windows */
	uint64_t all;		/* since the start, for the progress */
	struct hdr_histogram *times;	/* ns, of those that started in one */
};

struct stats {
	/* The window, what is measured; 0 while it has no start or no end. */
	uint64_t from, until;
	uint64_t window_ns;	/* of all windows that there were */
	struct kind gets, sets;
	/* Since the start, the warm-up and what followed the window included. */
	uint64_t misses;
	uint64_t wrong;		/* replies that are not what was stored */
	uint64_t lost;		/* GETs not answered in time, and sent again */
	uint64_t late;		/* replies to those */
	uint64_t duplicate;	/* replies to what had been answered */
	uint64_t stray;		/* replies to nothing that was sent */
	uint64_t broken;	/* SETs whose connection was closed by the server */
	uint64_t unanswered;	/* GETs still out at the end */
	uint64_t unsent;	/* requests that came due, and no client was free */
	uint64_t idle_ns;	/* of windows: nothing to receive or send */
	uint64_t cpu_ns;	/* of windows: of this thread */
	unsigned int threads;	/* that the sums are of */
};

void stats_init(struct stats *stats);
void stats_free(struct stats *stats);

/* A request that started at @start was answered at @now. */
void stats_answered(struct stats *stats, struct kind *kind, uint64_t start, uint64_t now);

/* What happened in another thread meanwhile. */
void stats_add(struct stats *stats, const struct stats *other);

/* Writes JSON members, without braces. */
void stats_print(const struct stats *stats, FILE *file);

#endif
