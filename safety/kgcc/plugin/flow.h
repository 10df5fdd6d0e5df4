/* SPDX-License-Identifier: GPL-2.0 */
/* Sets of facts at each point of a function: see check_elim.cc. */
#ifndef KGCC_FLOW_H
#define KGCC_FLOW_H

#include "check.h"

class flow {
public:
	flow(function *fun, vec<struct check *> &checks);
	~flow();

	/* Drop checks of what was shown before; merge those that follow for certain. */
	unsigned int drop_available();
	unsigned int merge_certain();

	/* After solve_certain(): will a check be made on all paths from a block's begin? */
	void solve_certain();
	bool certain_at(basic_block bb, unsigned int check);

private:
	function *fun;
	vec<struct check *> &checks;
	unsigned int n, blocks;
	auto_vec<struct part> facts;				/* initial state of the checks */
	hash_map<void *, auto_vec<unsigned int> *> at;		/* by statement or block */
	hash_map<tree, auto_vec<unsigned int> *> depends;	/* by name */
	sbitmap *shown, *in, *out;

	void place(unsigned int i);
	void note(unsigned int i);
	void forget(sbitmap set, tree name);
	void forget_results(sbitmap set, gimple *stmt);
	void allocate(sbitmap set, gimple *stmt);
	void solve_available();
	void meet_before(basic_block bb);
	void meet_after(basic_block bb);
	void find_endless(sbitmap endless);
	void widen(unsigned int i, sbitmap later);
	bool dereferenced(unsigned int i, sbitmap later);
	template <typename Visit> void each_at(void *key, bool after, Visit visit);
	template <typename Visit> void forward(basic_block bb, sbitmap set, Visit visit);
	template <typename Visit> void backward(basic_block bb, sbitmap set, Visit visit);
};

#endif
