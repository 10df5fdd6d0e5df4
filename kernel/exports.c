// SPDX-License-Identifier: GPL-2.0
/*
 * Symbols exported to engines in separate modules, in one namespace: batches, frames, and the
 * functions that a non-preemptible engine needs (run_priv.h, syscall_thunks_priv.h). run.c,
 * syscall_thunks.c, usermem.c, engine.c and hook.c export their own functions.
 */
#include <linux/export.h>

#include "fs/attributes.h"
#include "fs/files.h"
#include "fs/readdirplus.h"
#include "net/accept.h"
#include "net/frame.h"
#include "net/frames.h"
#include "net/mmsg.h"
#include "net/mmsg_entry.h"
#include "compat.h"
#include "syscall_jump_table.h"
#include "seccomp.h"
#include "limits.h"
#include "kernel/run_priv.h"
#include "symbols.h"
#include "usermode.h"
#include "syscall_observers.h"

#define EXPORT(name)	EXPORT_SYMBOL_NS_GPL(name, COMPAT_NS(SYSCRIPT))

/* Batches and frames. */
EXPORT(accept_batch);
EXPORT(files_batch);
EXPORT(files_read);
EXPORT(frame_headers);
EXPORT(frame_ports);
EXPORT(frame_readdress);
EXPORT(frame_reply);
EXPORT(frame_udp);
EXPORT(frames_build);
EXPORT(frames_flush);
EXPORT(frames_grow);
EXPORT(frames_open);
EXPORT(frames_put_slot);
EXPORT(frames_receive);
EXPORT(frames_take_slot);
EXPORT(mmsg_import);
EXPORT(mmsg_recv);
EXPORT(mmsg_send);
EXPORT(readdirplus);

/* Runs of a non-preemptible engine. */
EXPORT(__usermode_works);
EXPORT(filters_ask);
EXPORT(limits_account_uid);
EXPORT(mmsg_entry_recv);
EXPORT(mmsg_entry_send);
EXPORT(run_after_syscall);
EXPORT(run_create);
EXPORT(run_destroy);
EXPORT(run_may_call);
EXPORT(run_outside);
EXPORT(run_syscall_answered);
EXPORT(run_syscall_sleepable);
EXPORT(symbols_done);
EXPORT(symbols_find);
EXPORT(usermode_close);
EXPORT(observers_ask_filters_guarded);

#define SYSCALL(name, kinds, flags)	ARCH_SYSCALL_EXPORT(name)
#include "syscalls.def"
