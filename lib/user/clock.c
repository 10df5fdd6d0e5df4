// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Ends runs that are over their time.  One thread, which ticks while scripts of
 * the user backend run and for a while after, so that a busy program does not
 * pay for waking it up with each call.
 */
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "sys.h"
#include "user.h"

#define TICK_NS		1000000L
#define LINGER_TICKS	20

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static struct run_own *running;		/* through ->running */
static bool started, asleep;
static void (*before_sleep)(void);

static void tick(void)
{
	struct timespec ts = { 0, TICK_NS };

	sys_call(nanosleep, &ts, 0);
}

static void *watch(void *unused)
{
	int idle = 0;

	(void)unused;
	pthread_mutex_lock(&lock);
	for (;;) {
		if (!running && idle++ >= LINGER_TICKS) {
			pthread_mutex_unlock(&lock);
			before_sleep();
			pthread_mutex_lock(&lock);
			while (!running) {
				asleep = true;
				pthread_cond_wait(&wake, &lock);
			}
			asleep = false;
			idle = 0;
		}
		pthread_mutex_unlock(&lock);
		tick();
		pthread_mutex_lock(&lock);
		for (struct run_own *own = running; own; own = own->running) {
			struct run *run = &own->run;

			idle = 0;
			if (run_is_overdue(own) && run->vm && run->engine->interrupt)
				run->engine->interrupt(run->vm);
		}
	}
	return NULL;
}

int clock_start(void (*sweep)(void))
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, old;
	int err = 0;

	pthread_mutex_lock(&lock);
	before_sleep = sweep;
	if (!started) {
		pthread_attr_init(&attr);
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
		/* A thread inherits the mask: this one takes no signal from the program. */
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		err = pthread_create(&thread, &attr, watch, NULL);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		pthread_attr_destroy(&attr);
		if (!err) {
			pthread_setname_np(thread, "syscript");
			started = true;
		}
	}
	pthread_mutex_unlock(&lock);
	return -err;
}

void clock_add(struct run_own *own)
{
	pthread_mutex_lock(&lock);
	own->running = running;
	running = own;
	if (asleep) {
		asleep = false;
		pthread_cond_signal(&wake);
	}
	pthread_mutex_unlock(&lock);
}

/* On return the clock thread does not look at @own any more. */
void clock_del(struct run_own *own)
{
	struct run_own **link;

	pthread_mutex_lock(&lock);
	for (link = &running; *link; link = &(*link)->running) {
		if (*link == own) {
			*link = own->running;
			break;
		}
	}
	pthread_mutex_unlock(&lock);
}

/* The child has neither the thread nor the other threads' runs. */
void clock_fork(enum fork_step step)
{
	if (step == FORK_PREPARE) {
		pthread_mutex_lock(&lock);
		return;
	}
	if (step == FORK_CHILD) {
		running = NULL;
		started = false;
		asleep = false;
		pthread_cond_init(&wake, NULL);
	}
	pthread_mutex_unlock(&lock);
}
