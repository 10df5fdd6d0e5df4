/* SPDX-License-Identifier: GPL-2.0 */
/* Subsystems whose programs are called by events of the machine: uapi/syscript_events.h. */
#ifndef SYSCRIPT_EMBED_EVENTS_H
#define SYSCRIPT_EMBED_EVENTS_H

int embed_threads_init(void);
void embed_threads_exit(void);
int embed_files_init(void);
void embed_files_exit(void);
int embed_timer_init(void);
void embed_timer_exit(void);

#endif /* SYSCRIPT_EMBED_EVENTS_H */
