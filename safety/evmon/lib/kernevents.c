// SPDX-License-Identifier: LGPL-2.1
/*
 * Rings are the kernel's own: a tracefs instance, read a page at a time. libtraceevent parses the
 * pages; the kernel describes the fields of a record.
 *
 * A record is a batch of events of one CPU, or, with a filter, a single event, because the kernel
 * applies filters to whole records.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tracefs/tracefs.h>
#include <traceevent/event-parse.h>
#include <traceevent/kbuffer.h>

#include "kernevents.h"
#include "packed.h"

#define SYSTEM		"evmon"
#define PLACES		"/sys/kernel/debug/evmon/places"
#define FLUSH		"/sys/kernel/debug/evmon/flush"
/* Interval between attempts to open the ring of a CPU that has none. */
#define LOOK_MS		1000

enum field {
	FIELD_ID,
	/* of a single event */
	FIELD_OBJECT, FIELD_VALUE, FIELD_PLACE, FIELD_TYPE, FIELD_PID,
	/* of a batch */
	FIELD_CYCLES, FIELD_KHZ, FIELD_EVENTS,
	FIELDS
};

struct ring {
	int fd;
	struct tracefs_cpu *cpu;
	struct kbuffer *page;
	size_t taken;		/* next event within the current record */
	uint64_t missed;	/* records lost before this page */
	bool unread;		/* the page has events left */
};

struct kernevents {
	struct tracefs_instance *instance;
	struct tep_handle *tep;
	const char *name;	/* of the trace event */
	unsigned short offsets[FIELDS];
	unsigned int id;
	bool batches;
	int flush;		/* writing to it flushes the CPUs' batches */
	uint64_t lost;
	int cpus;
	struct ring *rings;
	struct pollfd *polled;	/* .fd < 0: no ring yet, the CPU was never online */
	void *pages;
	size_t page_size;
	struct kernevent_place *places;
	uint32_t places_count;
};

/* -- opening ------------------------------------------------------------------ */

static int write_setting(struct kernevents *ke, const char *file, const char *format, ...)
{
	char text[256];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	errno = 0;
	if (tracefs_instance_file_write(ke->instance, file, text) < 0)
		return errno ? -errno : -EINVAL;
	return 0;
}

static int find_field(struct kernevents *ke, struct tep_event *event, enum field field,
		      const char *name, bool common)
{
	struct tep_format_field *found = common ? tep_find_common_field(event, name) :
						  tep_find_field(event, name);

	if (!found)
		return -ENOENT;
	ke->offsets[field] = found->offset;
	return 0;
}

static int find_fields(struct kernevents *ke, struct tep_event *event)
{
	if (ke->batches)
		return find_field(ke, event, FIELD_CYCLES, "cycles", false) ?:
		       find_field(ke, event, FIELD_KHZ, "khz", false) ?:
		       find_field(ke, event, FIELD_EVENTS, "events", false);
	return find_field(ke, event, FIELD_OBJECT, "object", false) ?:
	       find_field(ke, event, FIELD_VALUE, "value", false) ?:
	       find_field(ke, event, FIELD_PLACE, "site", false) ?:
	       find_field(ke, event, FIELD_TYPE, "type", false) ?:
	       find_field(ke, event, FIELD_PID, "common_pid", true);
}

static int find_format(struct kernevents *ke)
{
	struct tep_event *event;
	const char *systems[] = { SYSTEM, NULL };

	ke->tep = tracefs_local_events_system(NULL, systems);
	event = ke->tep ? tep_find_event_by_name(ke->tep, SYSTEM, ke->name) : NULL;
	if (!event)
		return -ENOENT;
	ke->id = event->id;
	return find_field(ke, event, FIELD_ID, "common_type", true) ?:
	       find_fields(ke, event);
}

/* Returns 1 if a page was read, 0 if there is none, or -errno. */
static int load_page(struct kernevents *ke, int cpu)
{
	struct ring *ring = &ke->rings[cpu];
	char *page = (char *)ke->pages + cpu * ke->page_size;
	int n, missed;

	errno = 0;
	n = tracefs_cpu_read(ring->cpu, page, true);
	/* Without a ring, poll(2) must ignore the entry. */
	ke->polled[cpu].fd = n < 0 && errno == ENODEV ? -1 : ring->fd;
	if (n <= 0)
		return n < 0 && errno && errno != EAGAIN && errno != ENODEV ? -errno : 0;
	kbuffer_load_subbuffer(ring->page, page);
	missed = kbuffer_missed_events(ring->page);
	ring->missed += missed > 0 ? missed : missed < 0;
	ring->unread = true;
	return 1;
}

static int open_ring(struct kernevents *ke, int cpu)
{
	struct ring *ring = &ke->rings[cpu];
	char path[64];

	snprintf(path, sizeof(path), "per_cpu/cpu%d/trace_pipe_raw", cpu);
	ring->fd = tracefs_instance_file_open(ke->instance, path, O_RDONLY | O_NONBLOCK);
	if (ring->fd < 0)
		return -errno;
	ke->polled[cpu].events = POLLIN;
	ring->cpu = tracefs_cpu_alloc_fd(ring->fd, ke->page_size, true);
	ring->page = kbuffer_alloc(KBUFFER_LSIZE_SAME_AS_HOST, KBUFFER_ENDIAN_SAME_AS_HOST);
	if (!ring->cpu || !ring->page)
		return -ENOMEM;
	return load_page(ke, cpu);
}

static int open_rings(struct kernevents *ke)
{
	int cpu, err = 0;

	ke->cpus = sysconf(_SC_NPROCESSORS_CONF);
	ke->page_size = tep_get_page_size(ke->tep) > 0 ? tep_get_page_size(ke->tep) :
							 getpagesize();
	ke->rings = calloc(ke->cpus, sizeof(*ke->rings));
	ke->polled = calloc(ke->cpus, sizeof(*ke->polled));
	ke->pages = calloc(ke->cpus, ke->page_size);
	for (cpu = 0; ke->rings && cpu < ke->cpus; cpu++)
		ke->rings[cpu].fd = -1;
	if (!ke->rings || !ke->polled || !ke->pages)
		return -ENOMEM;
	for (cpu = 0; cpu < ke->cpus && err >= 0; cpu++)
		err = open_ring(ke, cpu);
	return err < 0 ? err : 0;
}

/* Writes to the trace event's own files. */
static int write_event_setting(struct kernevents *ke, const char *file, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "events/" SYSTEM "/%s/%s", ke->name, file);
	return write_setting(ke, path, "%s", text);
}

/* Makes CPUs write their batches to the rings. */
static int flush(const struct kernevents *ke)
{
	return ke->batches && write(ke->flush, "1", 1) < 0 ? -errno : 0;
}

static int open_flush(struct kernevents *ke)
{
	if (!ke->batches)
		return 0;
	ke->flush = open(FLUSH, O_WRONLY | O_CLOEXEC);
	return ke->flush < 0 ? -errno : 0;
}

static int set_up(struct kernevents *ke, const struct kernevents_options *options)
{
	int err = find_format(ke);

	if (!err)
		err = open_flush(ke);
	if (!err)
		err = write_setting(ke, "buffer_size_kb", "%zu",
				    options->buffer_kib ? options->buffer_kib : 1024);
	if (!err)
		err = write_setting(ke, "buffer_percent", "%u",
				    options->percent ? options->percent : 25);
	if (!err && options->filter)
		err = write_event_setting(ke, "filter", options->filter);
	if (!err)
		err = open_rings(ke);
	/* Events collected before for other rings do not belong in this one. */
	if (!err)
		err = flush(ke);
	if (!err)
		err = write_event_setting(ke, "enable", "1");
	return err;
}

int kernevents_open(struct kernevents **out, const struct kernevents_options *options)
{
	static const struct kernevents_options defaults;
	struct kernevents *ke = calloc(1, sizeof(*ke));
	int err;

	*out = NULL;
	if (!ke)
		return -ENOMEM;
	if (!options)
		options = &defaults;
	ke->flush = -1;
	ke->batches = !options->filter;
	ke->name = ke->batches ? "evmon_batch" : "evmon_event";
	errno = 0;
	ke->instance = tracefs_instance_create(options->instance ? options->instance :
								   "kernevents");
	if (!ke->instance) {
		err = errno ? -errno : -ENOENT;
		free(ke);
		return err;
	}
	err = set_up(ke, options);
	if (err) {
		kernevents_close(ke);
		return err;
	}
	*out = ke;
	return 0;
}

void kernevents_close(struct kernevents *ke)
{
	int cpu;

	if (!ke)
		return;
	write_event_setting(ke, "enable", "0");
	for (cpu = 0; ke->rings && cpu < ke->cpus; cpu++) {
		if (ke->rings[cpu].page)
			kbuffer_free(ke->rings[cpu].page);
		if (ke->rings[cpu].cpu)
			tracefs_cpu_free_fd(ke->rings[cpu].cpu);
		if (ke->rings[cpu].fd >= 0)
			close(ke->rings[cpu].fd);
	}
	if (tracefs_instance_is_new(ke->instance))
		tracefs_instance_destroy(ke->instance);
	tracefs_instance_free(ke->instance);
	if (ke->flush >= 0)
		close(ke->flush);
	tep_free(ke->tep);
	free(ke->rings);
	free(ke->polled);
	free(ke->pages);
	free(ke->places);
	free(ke);
}

/* -- reading ------------------------------------------------------------------ */

static uint64_t field(const struct kernevents *ke, const void *record, enum field field,
		      size_t size)
{
	uint64_t value = 0;

	memcpy(&value, (const char *)record + ke->offsets[field], size);
	return value;
}

static void take_event(const struct kernevents *ke, const void *record, int cpu,
		       uint64_t time, struct kernevent *event)
{
	*event = (struct kernevent){
		.time = time,
		.object = field(ke, record, FIELD_OBJECT, 8),
		.value = field(ke, record, FIELD_VALUE, 8),
		.place = field(ke, record, FIELD_PLACE, 4),
		.pid = field(ke, record, FIELD_PID, 4),
		.type = field(ke, record, FIELD_TYPE, 2),
		.cpu = cpu,
	};
}

/* Cycle counter to nanoseconds, relative to the record's time stamp. */
static uint64_t time_of(const struct evmon_packed *event, uint64_t time, uint64_t cycles,
			uint32_t khz)
{
	uint64_t ago = cycles - event->cycles;

	return khz ? time - ago / khz * 1000000 - ago % khz * 1000000 / khz : time;
}

/* Takes @n events of a batch, from @packed on. */
static void take_batch(const struct kernevents *ke, const void *record, int cpu,
		       uint64_t time, const struct evmon_packed *packed, size_t n,
		       struct kernevent *events)
{
	uint64_t cycles = field(ke, record, FIELD_CYCLES, 8);
	uint32_t khz = field(ke, record, FIELD_KHZ, 4);
	size_t i;

	for (i = 0; i < n; i++)
		events[i] = (struct kernevent){
			.time = time_of(&packed[i], time, cycles, khz),
			.object = packed[i].object,
			.value = packed[i].value,
			.place = packed[i].place,
			.pid = packed[i].pid,
			.type = packed[i].type,
			.cpu = cpu,
		};
}

/* The number of events in a record; for a batch, *@packed is set to the first. */
static size_t events_of(const struct kernevents *ke, const void *record,
			const struct evmon_packed **packed)
{
	uint32_t where;

	/*
	 * Other trace events do not belong in this instance, but any root process may enable them.
	 */
	if (field(ke, record, FIELD_ID, 2) != ke->id)
		return 0;
	if (!ke->batches)
		return 1;
	/* An array's field holds its offset, and its length in the upper half. */
	where = field(ke, record, FIELD_EVENTS, 4);
	*packed = (const void *)((const char *)record + (where & 0xffff));
	return (where >> 16) / sizeof(**packed);
}

static size_t take_page(struct kernevents *ke, int cpu, struct kernevent *events, size_t count)
{
	const struct evmon_packed *packed = NULL;
	struct ring *ring = &ke->rings[cpu];
	unsigned long long time;
	size_t n = 0, all, some;
	void *record;

	while (n < count) {
		record = kbuffer_read_event(ring->page, &time);
		if (!record) {
			ring->unread = false;
			break;
		}
		all = events_of(ke, record, &packed);
		/* Lost batches were nearly always as full as this one. */
		ke->lost += ring->missed * all;
		ring->missed = 0;
		some = all - ring->taken < count - n ? all - ring->taken : count - n;
		if (ke->batches)
			take_batch(ke, record, cpu, time, packed + ring->taken, some,
				   events + n);
		else if (some)
			take_event(ke, record, cpu, time, events + n);
		n += some;
		ring->taken += some;
		if (ring->taken == all) {
			ring->taken = 0;
			kbuffer_next_event(ring->page, NULL);
		}
	}
	return n;
}

static ssize_t take_all(struct kernevents *ke, struct kernevent *events, size_t count)
{
	size_t n = 0;
	int cpu, got = 0;

	for (cpu = 0; cpu < ke->cpus; cpu++) {
		for (;;) {
			if (ke->rings[cpu].unread)
				n += take_page(ke, cpu, events + n, count - n);
			if (n == count)
				return n;
			got = load_page(ke, cpu);
			if (got <= 0)
				break;
		}
		if (got < 0 && !n)
			return got;
	}
	return n;
}

static bool is_unread(const struct kernevents *ke)
{
	int cpu;

	for (cpu = 0; cpu < ke->cpus; cpu++)
		if (ke->rings[cpu].unread)
			return true;
	return false;
}

/* Are there CPUs without a ring? */
static bool lacks_rings(const struct kernevents *ke)
{
	int cpu;

	for (cpu = 0; cpu < ke->cpus; cpu++)
		if (ke->polled[cpu].fd < 0)
			return true;
	return false;
}

/* Have any of them got a ring with events? */
static bool look_for_rings(struct kernevents *ke)
{
	bool found = false;
	int cpu;

	for (cpu = 0; cpu < ke->cpus; cpu++)
		if (ke->polled[cpu].fd < 0)
			found |= load_page(ke, cpu) > 0;
	return found;
}

/* As poll(2). */
static int wait_for_rings(struct kernevents *ke, int timeout_ms)
{
	int full, step;

	for (;;) {
		step = timeout_ms;
		if (lacks_rings(ke) && (step < 0 || step > LOOK_MS))
			step = LOOK_MS;
		full = poll(ke->polled, ke->cpus, step);
		if (full || step == timeout_ms)
			return full;
		if (look_for_rings(ke))
			return 1;
		if (timeout_ms > 0)
			timeout_ms -= step;
	}
}

ssize_t kernevents_read(struct kernevents *ke, struct kernevent *events, size_t count,
			int timeout_ms)
{
	int full = 1, err;

	if (!count)
		return 0;
	/* Events left over from the last call need no waiting. */
	if (!is_unread(ke))
		full = wait_for_rings(ke, timeout_ms);
	if (full < 0)
		return -errno;
	err = full ? 0 : flush(ke);
	if (err)
		return err;
	return take_all(ke, events, count);
}

uint64_t kernevents_lost(const struct kernevents *ke)
{
	return ke->lost;
}

/* -- places ------------------------------------------------------------------- */

static bool parse_place(const char *line, struct kernevent_place *place, uint32_t *number)
{
	const char *module = strchr(line, '\t'), *rest;
	unsigned int type = 0;

	memset(place, 0, sizeof(*place));
	if (!module || sscanf(line, "%u", number) != 1)
		return false;
	/* The kernel's module name is empty, which sscanf() would skip. */
	module++;
	rest = module + strcspn(module, "\t");
	snprintf(place->module, sizeof(place->module), "%.*s", (int)(rest - module), module);
	if (sscanf(rest, "\t%47[^\t]\t%u\t%u\t%47[^\t\n]", place->file, &place->line, &type,
		   place->name) < 3)
		return false;
	place->type = type;
	return true;
}

static int add_place(struct kernevents *ke, const struct kernevent_place *place,
		     uint32_t number)
{
	struct kernevent_place *more;

	if (number >= ke->places_count) {
		more = realloc(ke->places, (number + 1) * sizeof(*more));
		if (!more)
			return -ENOMEM;
		memset(more + ke->places_count, 0,
		       (number + 1 - ke->places_count) * sizeof(*more));
		ke->places = more;
		ke->places_count = number + 1;
	}
	ke->places[number] = *place;
	return 0;
}

static void read_places(struct kernevents *ke)
{
	struct kernevent_place place;
	char line[512];
	uint32_t number;
	FILE *file = fopen(PLACES, "re");

	if (!file)
		return;
	while (fgets(line, sizeof(line), file))
		if (parse_place(line, &place, &number) && add_place(ke, &place, number))
			break;
	fclose(file);
}

/* A call site known only by its address has no line number. */
static bool is_known(const struct kernevents *ke, uint32_t number)
{
	return number && number < ke->places_count && ke->places[number].file[0];
}

const struct kernevent_place *kernevents_place(struct kernevents *ke, uint32_t number)
{
	/* A place is listed only after its first event. */
	if (!is_known(ke, number))
		read_places(ke);
	if (!is_known(ke, number))
		return NULL;
	return &ke->places[number];
}

const char *kernevents_text(uint16_t type)
{
	static const char *const texts[] = {
#define EVENT(name, class, text) text,
#include "events.def"
#undef EVENT
	};

	return texts[type < KERNEVENT_USER ? type : KERNEVENT_USER];
}
