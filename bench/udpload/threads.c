// SPDX-License-Identifier: GPL-2.0 OR MIT
/* See threads.h. */
#include <stdlib.h>

#include "measure.h"
#include "threads.h"

/*
 * A run's first version is the clock in these units, so versions grow from run to run. SETs of a
 * key must be further apart than this.
 */
#define VERSION_NS	1000000

static uint64_t share_of(uint64_t all, unsigned int threads, unsigned int number)
{
	return all / threads + (number < all % threads);
}

static void take_share(struct threads *threads, const struct load_options *all,
		       unsigned int number)
{
	struct load_options *own = &threads->thread[number].options;

	*own = *all;
	own->clients = share_of(all->clients, all->threads, number);
	own->sockets = share_of(all->sockets, all->threads, number);
	own->connections = share_of(all->connections, all->threads, number);
	own->requests = share_of(all->requests, all->threads, number);
	own->rate = all->rate / all->threads;
	own->seed = number;
	if (all->threads > 1)
		own->together = &threads->together;
	if (!number)
		return;
	own->progress = false;
	for (unsigned int i = 0; i < all->n; i++)
		own->targets[i].thread = 0;
}

/* The first thread makes the server store all values. */
static void open_server(struct threads *threads, const struct load_options *all,
			unsigned int server)
{
	struct dataset *data = &threads->data[server];

	dataset_init(data, all->keys, all->key_size, all->value_size);
	for (unsigned int i = 0; i < all->threads; i++) {
		struct thread *thread = &threads->thread[i];

		load_open(&thread->loads[server], &thread->options,
			  &thread->options.targets[server], data);
	}
	if (all->filled)
		dataset_is_stored(data, measure_now() / VERSION_NS);
	else
		load_fill(&threads->thread[0].loads[server]);
}

void threads_open(struct threads *threads, const struct load_options *options)
{
	if (pthread_barrier_init(&threads->together, NULL, options->threads))
		measure_die("no barrier for %u threads", options->threads);
	for (unsigned int i = 0; i < options->threads; i++)
		take_share(threads, options, i);
	for (unsigned int i = 0; i < options->n; i++)
		open_server(threads, options, i);
}

static void *run(void *arg)
{
	struct thread *thread = arg;

	if (thread->options.cpu >= 0)
		measure_pin(thread->options.cpu);
	load_run(thread->loads, &thread->options);
	return NULL;
}

void threads_run(struct threads *threads, const struct load_options *options)
{
	struct thread *first = &threads->thread[0];

	for (unsigned int i = 1; i < options->threads; i++)
		if (pthread_create(&threads->thread[i].id, NULL, run, &threads->thread[i]))
			measure_die("no thread %u", i);
	run(first);
	for (unsigned int i = 1; i < options->threads; i++) {
		pthread_join(threads->thread[i].id, NULL);
		for (unsigned int server = 0; server < options->n; server++)
			stats_add(&first->loads[server].stats,
				  &threads->thread[i].loads[server].stats);
	}
}

void threads_free(struct threads *threads, const struct load_options *options)
{
	for (unsigned int server = 0; server < options->n; server++) {
		for (unsigned int i = 0; i < options->threads; i++)
			load_free(&threads->thread[i].loads[server]);
		dataset_free(&threads->data[server]);
	}
	pthread_barrier_destroy(&threads->together);
}
