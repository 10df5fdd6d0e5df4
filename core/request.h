/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Checks of the structures of uapi/syscript.h before they are used. */
#ifndef SYSCRIPT_REQUEST_H
#define SYSCRIPT_REQUEST_H

struct syscript_call;
struct syscript_info;
struct syscript_invoke;
struct syscript_events;
struct syscript_load;
struct syscript_state;
struct syscript_register;
struct syscript_unload;

/* All return 0, -EINVAL or -E2BIG. */
int request_check_register(const struct syscript_register *reg);
int request_check_call(const struct syscript_call *call);
int request_check_info(const struct syscript_info *info);
int request_check_load(const struct syscript_load *load);
int request_check_events(const struct syscript_events *events);
int request_check_state(const struct syscript_state *state);
int request_check_unload(const struct syscript_unload *unload);
int request_check_invoke(const struct syscript_invoke *invoke);

#endif /* SYSCRIPT_REQUEST_H */
