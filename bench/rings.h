/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * What else there is for a server: frames of a device in memory that the kernel shares
 * with a process, which does the headers by itself (AF_PACKET's rings of frames, TPACKET_V2,
 * and of blocks, TPACKET_V3; AF_XDP's in copy mode); and io_uring.
 */
#ifndef RINGS_H
#define RINGS_H

/*
 * What a server does with a request of @len bytes at @payload: puts a reply in its
 * place, and returns its length; 0: it is no request, and passed over.
 */
typedef unsigned int rings_answer(char *payload, unsigned int len);

struct rings;

/* All of these end the program if they fail; AF_XDP needs CAP_BPF. */
struct rings *rings_open_packet(const char *device);
struct rings *rings_open_blocks(const char *device);
struct rings *rings_open_xdp(const char *device);
/* Datagrams of an ordinary socket, for whichever thread serves first: io_uring. */
struct rings *rings_open_uring(int sock);

/*
 * Waits for requests, answers those that are there, and sends the replies.  Blocks are
 * there when they are full, or when their time is up; how many requests there were.
 */
unsigned int rings_serve_blocks(struct rings *rings, rings_answer *answer);
void rings_serve_packet(struct rings *rings, rings_answer *answer);
void rings_serve_xdp(struct rings *rings, rings_answer *answer);
void rings_serve_uring(struct rings *rings, rings_answer *answer);

#endif
