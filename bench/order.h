/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* In which order to measure what is compared: another one in each round. */
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
 * What comes at place @i of @n in round @round: each once a round, and none has the
 * same one before it every time.
 */
static inline unsigned int order_at(unsigned int i, unsigned int n, unsigned int round)
{
	unsigned int stride = 1 + round % (n > 1 ? n - 1 : 1);

	/* With a divisor in common some would come again, and others not at all. */
	while (order_common_divisor(stride, n) > 1)
		stride++;
	return (i * stride + round) % n;
}

#endif
