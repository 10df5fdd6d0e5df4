/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Trace events of scripts: call and done around each run, kill when a script dies in
 * it.  Any system calls that a sensor sees in between are the script's.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM syscript

#if !defined(SYSCRIPT_SCRIPT_EVENTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define SYSCRIPT_SCRIPT_EVENTS_H

#include <linux/string.h>
#include <linux/tracepoint.h>
#include <uapi/syscript.h>

/* The user chose the name; it ends with a NUL. */
TRACE_EVENT(call,
	TP_PROTO(u64 id, const char *name),
	TP_ARGS(id, name),
	TP_STRUCT__entry(
		__field(u64, id)
		__array(char, name, SYSCRIPT_NAME_LEN)
	),
	TP_fast_assign(
		__entry->id = id;
		strscpy(__entry->name, name, SYSCRIPT_NAME_LEN);
	),
	TP_printk("id=%llu name=%s", __entry->id, __entry->name)
);

DECLARE_EVENT_CLASS(end,
	TP_PROTO(u64 id, const char *name, int err),
	TP_ARGS(id, name, err),
	TP_STRUCT__entry(
		__field(u64, id)
		__field(int, err)
		__array(char, name, SYSCRIPT_NAME_LEN)
	),
	TP_fast_assign(
		__entry->id = id;
		__entry->err = err;
		strscpy(__entry->name, name, SYSCRIPT_NAME_LEN);
	),
	TP_printk("id=%llu name=%s err=%d", __entry->id, __entry->name, __entry->err)
);

DEFINE_EVENT(end, done,
	TP_PROTO(u64 id, const char *name, int err),
	TP_ARGS(id, name, err)
);

DEFINE_EVENT(end, kill,
	TP_PROTO(u64 id, const char *name, int err),
	TP_ARGS(id, name, err)
);

#endif /* SYSCRIPT_SCRIPT_EVENTS_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE script_events
#include <trace/define_trace.h>
