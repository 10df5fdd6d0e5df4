// SPDX-License-Identifier: GPL-2.0 OR MIT
/* See stats.h. */
#include <stdbool.h>
#include <stdlib.h>

#include <hdr_histogram.h>

#include "measure.h"
#include "stats.h"

/* ns */
#define TIME_MAX	100000000000
#define DIGITS		3

static const struct {
	const char *name;
	double percent;
} percentiles[] = {
	{ "p50", 50 }, { "p90", 90 }, { "p99", 99 }, { "p999", 99.9 }, { "max", 100 },
};

static void init_kind(struct kind *kind)
{
	if (hdr_init(1, TIME_MAX, DIGITS, &kind->times))
		measure_die("no memory for a histogram");
}

void stats_init(struct stats *stats)
{
	*stats = (struct stats){ .threads = 1 };
	init_kind(&stats->gets);
	init_kind(&stats->sets);
}

void stats_free(struct stats *stats)
{
	free(stats->gets.times);
	free(stats->sets.times);
}

void stats_answered(struct stats *stats, struct kind *kind, uint64_t start, uint64_t now)
{
	bool ended = stats->until && now >= stats->until;
	uint64_t took = now > start ? now - start : 1;

	kind->all++;
	if (!stats->from || now < stats->from)
		return;
	kind->answered += !ended;
	if (start >= stats->from && (!stats->until || start < stats->until))
		hdr_record_value(kind->times, took < TIME_MAX ? took : TIME_MAX);
}

static void add_kind(struct kind *kind, const struct kind *other)
{
	kind->answered += other->answered;
	kind->all += other->all;
	hdr_add(kind->times, other->times);
}

void stats_add(struct stats *stats, const struct stats *other)
{
	add_kind(&stats->gets, &other->gets);
	add_kind(&stats->sets, &other->sets);
	stats->misses += other->misses;
	stats->wrong += other->wrong;
	stats->lost += other->lost;
	stats->late += other->late;
	stats->duplicate += other->duplicate;
	stats->stray += other->stray;
	stats->broken += other->broken;
	stats->unanswered += other->unanswered;
	stats->unsent += other->unsent;
	stats->idle_ns += other->idle_ns;
	stats->cpu_ns += other->cpu_ns;
	stats->threads += other->threads;
}

static void print_kind(const struct kind *kind, const char *name, double seconds, FILE *file)
{
	fprintf(file, "\"%s\": {\"answered\": %llu, \"per_s\": %.1f, \"us\": {", name,
		(unsigned long long)kind->answered, kind->answered / seconds);
	if (kind->times->total_count) {
		fprintf(file, "\"mean\": %.3f, \"stddev\": %.3f", hdr_mean(kind->times) / 1000,
			hdr_stddev(kind->times) / 1000);
		for (size_t i = 0; i < sizeof(percentiles) / sizeof(*percentiles); i++)
			fprintf(file, ", \"%s\": %.3f", percentiles[i].name,
				hdr_value_at_percentile(kind->times, percentiles[i].percent) /
					1000.0);
	}
	fprintf(file, "}},\n");
}

void stats_print(const struct stats *stats, FILE *file)
{
	const struct {
		const char *name;
		uint64_t n;
	} counts[] = {
		{ "misses", stats->misses },	     { "wrong", stats->wrong },
		{ "lost", stats->lost },	     { "late", stats->late },
		{ "duplicate", stats->duplicate },   { "stray", stats->stray },
		{ "broken", stats->broken },	     { "unanswered", stats->unanswered },
		{ "unsent", stats->unsent },
	};
	double ns = stats->window_ns;

	fprintf(file, "\"seconds\": %.6f,\n", ns / 1e9);
	print_kind(&stats->gets, "get", ns / 1e9, file);
	print_kind(&stats->sets, "set", ns / 1e9, file);
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		fprintf(file, "\"%s\": %llu,\n", counts[i].name, (unsigned long long)counts[i].n);
	fprintf(file, "\"busy\": %.4f,\n\"cpu\": %.4f", 1 - stats->idle_ns / ns / stats->threads,
		stats->cpu_ns / ns);
}
