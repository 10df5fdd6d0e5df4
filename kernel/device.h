/* SPDX-License-Identifier: GPL-2.0 */
/* /dev/syscript and the script fds: the requests of uapi/syscript.h. */
#ifndef SYSCRIPT_DEVICE_H
#define SYSCRIPT_DEVICE_H

int device_init(void);
void device_exit(void);

#endif /* SYSCRIPT_DEVICE_H */
