/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* Network devices between a client and a server, for measurements: pairs, and taps. */
#ifndef TESTNET_H
#define TESTNET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TESTNET_PORT	40000	/* of the near end, on taps */
#define TESTNET_NAME	16	/* of a device */

/* Two network namespaces: the client's and the servers'. */
enum testnet_end { TESTNET_NEAR = 1, TESTNET_FAR = 2 };

/* These end the program on failure. */
void testnet_init(void);
void testnet_end(void);

/* Moves this thread into the namespace. */
void testnet_enter(enum testnet_end end);

/* The address of an end of wire @n, in network byte order. */
uint32_t testnet_address(unsigned int n, enum testnet_end end);

/*
 * A veth pair, or a tap, whose descriptor takes frames for the server. Leaves this thread in the
 * servers' namespace, where @device is the wire's device; it has an address if @stack, otherwise
 * the stack does not see the frames.
 */
void testnet_make_pair(unsigned int n, bool stack, char *device);
int testnet_make_tap(unsigned int n, bool stack, char *device);

/*
 * Writes a frame for the tap of wire @n to @to: a datagram for @port from its client, with its
 * checksum already verified, as by a card. @odd: of an unknown protocol. Returns its length.
 */
unsigned int testnet_frame(char *to, unsigned int n, bool odd, uint16_t port,
			   const char *payload, unsigned int len);

/* The datagram in the next frame: its length; -1: the frame has none. */
int testnet_read(int tap, char *frame, size_t size, const char **payload);

/* The next datagram, skipping frames without one. */
unsigned int testnet_next(int tap, char *frame, size_t size, const char **payload);

#endif
