/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * UDP traffic on loopback from a process of its own: bursts of packets whose
 * length and content follow from their number.
 */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include <netinet/in.h>
#include <stdint.h>
#include <sys/types.h>

#define PACKET_MIN	64
#define PACKET_MAX	512
#define BURST_MIN	16
#define BURST_MAX	128

struct traffic {
	int sock;			/* where it arrives */
	int orders;			/* to the sender */
	pid_t sender;
	struct sockaddr_in from;	/* the sender's address */
	unsigned int sent;		/* packets, all of them */
	uint32_t random;
};

/* Each ends the program with a message if something fails. */
void traffic_start(struct traffic *traffic);
void traffic_stop(struct traffic *traffic);

/*
 * Waits until @n packets have been sent, at the sender's pace, and wait in the
 * socket's buffer.  Returns the number of the first.
 */
unsigned int traffic_burst(struct traffic *traffic, int n);

/* The same numbers in every run. */
int traffic_random(struct traffic *traffic, int from, int to);

/* Writes packet @number.  Returns its length. */
int traffic_packet(unsigned char *packet, unsigned int number);

#endif
