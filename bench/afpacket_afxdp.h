/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * Alternatives for a server: frames of a device in memory shared with the kernel, with headers
 * processed in user space (AF_PACKET's rings of frames, TPACKET_V2, and of blocks, TPACKET_V3;
 * AF_XDP in copy mode); and io_uring.
 */
#ifndef AFPACKET_AFXDP_H
#define AFPACKET_AFXDP_H

/*
 * A server's work on a request of @len bytes at @payload: puts a reply in its place and returns its
 * length; 0: not a request, skip it.
 */
typedef unsigned int rings_answer(char *payload, unsigned int len);

struct rings;

/* These end the program on failure; AF_XDP needs CAP_BPF. */
struct rings *rings_open_packet(const char *device);
struct rings *rings_open_blocks(const char *device);
struct rings *rings_open_xdp(const char *device);
/* Datagrams of an ordinary socket by io_uring, for whichever thread serves first. */
struct rings *rings_open_uring(int sock);

/*
 * Waits for requests, answers those present, and sends the replies. Blocks become available when
 * they are full, or time out; returns the number of requests.
 */
unsigned int rings_serve_blocks(struct rings *rings, rings_answer *answer);
void rings_serve_packet(struct rings *rings, rings_answer *answer);
void rings_serve_xdp(struct rings *rings, rings_answer *answer);
void rings_serve_uring(struct rings *rings, rings_answer *answer);

#endif
