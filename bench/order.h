/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The order in which to measure variants that are compared: it changes in each round. */
#ifndef ORDER_H
#define ORDER_H

static inline unsigned int order_common_divisor(unsigned int a, unsigned int b)
{
	while (b) {
		unsigned int rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/*
 * The index at place @i of @n in round @round: each occurs once per round, and none always has the
 * same predecessor.
 */
static inline unsigned int order_at(unsigned int i, unsigned int n, unsigned int round)
{
	unsigned int stride = 1 + round % (n > 1 ? n - 1 : 1);

	/* With a common divisor, the order would repeat some variants and miss others. */
	while (order_common_divisor(stride, n) > 1)
		stride++;
	return (i * stride + round) % n;
}

#endif
