/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Network devices between a client and a server, to measure on: pairs, and taps. */
#ifndef WIRES_H
#define WIRES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRES_PORT	40000	/* of the near end, on taps */
#define WIRES_NAME	16	/* of a device */

/* Two network namespaces: the client's and the servers'. */
enum wires_end { WIRES_NEAR = 1, WIRES_FAR = 2 };

/* All of these end the program if they fail. */
void wires_init(void);
void wires_end(void);

/* This thread goes there. */
void wires_enter(enum wires_end end);

/* Of an end of wire @n, in the byte order of the network. */
uint32_t wires_address(unsigned int n, enum wires_end end);

/*
 * A veth pair, or a tap, to whose descriptor frames for the server are written.  This
 * thread is in the servers' namespace then, where @device is the wire's; it has an
 * address if @stack, else the stack does not see what comes.
 */
void wires_make_pair(unsigned int n, bool stack, char *device);
int wires_make_tap(unsigned int n, bool stack, char *device);

/*
 * Writes to @to a frame for the tap of wire @n, a datagram for @port from its client,
 * with its checksum already verified, as by a card.  @odd: of an unknown protocol.
 * Returns its length.
 */
unsigned int wires_frame(char *to, unsigned int n, bool odd, uint16_t port,
			 const char *payload, unsigned int len);

/* The datagram in the next frame: its length; -1: it has none. */
int wires_read(int tap, char *frame, size_t size, const char **payload);

/* The next datagram, past frames without one. */
unsigned int wires_next(int tap, char *frame, size_t size, const char **payload);

#endif
