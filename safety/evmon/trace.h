/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM evmon

#if !defined(EVMON_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define EVMON_TRACE_H

#include <linux/tracepoint.h>
#include <asm/tsc.h>

#include "packed.h"

int evmon_trace_on(void);
void evmon_trace_off(void);
int evmon_batch_on(void);
void evmon_batch_off(void);

/* debugfs's evmon/places describes the numbers. */
TRACE_EVENT_FN(evmon_event,
	TP_PROTO(const void *object, u64 value, u32 site, u16 type),
	TP_ARGS(object, value, site, type),
	TP_STRUCT__entry(
		__field(u64, object)
		__field(u64, value)
		__field(u32, site)
		__field(u16, type)
	),
	TP_fast_assign(
		__entry->object = (unsigned long)object;
		__entry->value = value;
		__entry->site = site;
		__entry->type = type;
	),
	TP_printk("object=%p value=%llu site=%u type=%u",
		  (void *)(unsigned long)__entry->object, __entry->value,
		  __entry->site, __entry->type),
	evmon_trace_on, evmon_trace_off
);

/* Records for libkernevents: see batch.c. */
TRACE_EVENT_FN(evmon_batch,
	TP_PROTO(const struct evmon_packed *events, unsigned int count),
	TP_ARGS(events, count),
	TP_STRUCT__entry(
		__field(u64, cycles)
		__field(u32, khz)
		__dynamic_array(u8, events, count * sizeof(*events))
	),
	TP_fast_assign(
		__entry->cycles = get_cycles();
		__entry->khz = tsc_khz;
		memcpy(__get_dynamic_array(events), events, count * sizeof(*events));
	),
	TP_printk("events=%zu",
		  __get_dynamic_array_len(events) / sizeof(struct evmon_packed)),
	evmon_batch_on, evmon_batch_off
);

TRACE_EVENT(evmon_violation,
	TP_PROTO(const char *monitor, const void *object, u32 here, u32 there,
		 const char *text),
	TP_ARGS(monitor, object, here, there, text),
	TP_STRUCT__entry(
		__field(u64, object)
		__field(u32, here)
		__field(u32, there)
		__array(char, monitor, 16)
		__array(char, text, 96)
	),
	TP_fast_assign(
		__entry->object = (unsigned long)object;
		__entry->here = here;
		__entry->there = there;
		strscpy(__entry->monitor, monitor, 16);
		strscpy(__entry->text, text, 96);
	),
	TP_printk("%s: %s, object=%p here=%u there=%u", __entry->monitor,
		  __entry->text, (void *)(unsigned long)__entry->object,
		  __entry->here, __entry->there)
);

#endif /* EVMON_TRACE_H */

#undef TRACE_INCLUDE_PATH
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_PATH .
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
