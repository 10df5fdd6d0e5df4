// SPDX-License-Identifier: GPL-2.0
/*
 * Several checks of one root share one lookup of its object. The lookup stores the object's room,
 * the bytes from the root to its end, in a variable. Later checks compare with the room, and look
 * the object up only if their bytes exceed it. A room of 0 means unknown: at first, and again after
 * the object may have been freed.
 *
 * The room is known on some paths only, as other facts are, but need not be on all.
 *
 * Roots that are loaded from the same place, in a loop's rounds or again after a store,
 * mostly have the same value. They share a variable for the room, and one for the root that was
 * loaded last: where the next root is loaded, the room stays valid if the two roots are equal.
 *
 * Functions that the function calls do not free its callers' locals: the room of an argument
 * that points to one stays, by a mask that is made when the function is entered.
 */
#include "check.h"

namespace {

enum direction { FORWARD, BACKWARD };

/* Roots that share a room: it is always that of the root defined last. */
struct group {
	tree place;			/* memory they are loaded from; NULL: a single root */
	unsigned int members;
	bool argument;
	tree room, last, above;		/* variables, or NULL */
	bool masked;			/* somewhere */
};

struct root {
	tree name;
	unsigned int group;
};

/* A statement that changes the knowledge about rooms, in order of execution. */
struct event {
	enum { CHECKED, DEFINED, FREED } kind;
	struct check *check;		/* CHECKED */
	struct root *root;		/* CHECKED, DEFINED */
	gimple *stmt;			/* FREED: the statement that may free */
};

class rooms {
public:
	rooms(function *fun, vec<struct check *> &checks);
	~rooms();
	void share();

private:
	function *fun;
	vec<struct check *> &checks;
	hash_map<tree, unsigned int> numbers;			/* of roots */
	auto_vec<struct root> roots;
	auto_vec<struct group> groups;
	hash_map<void *, auto_vec<struct check *> *> at;	/* by statement or block */
	std::vector<std::vector<struct event>> events;		/* by block */
	sbitmap *in, *out;
	sbitmap arguments;					/* those groups */

	/* Bits by root or by group: roots removed from a group get their own. */
	unsigned int bits() { return 2 * roots.length() + 1; }
	struct root *root_of(tree name);
	void place(struct check *check);
	unsigned int group_of(tree place);
	void gather();
	void find_stale(sbitmap stale);
	void follow_stale(basic_block bb, sbitmap set, sbitmap stale);
	void choose();
	void make_variables(struct group *group);
	void clear(gimple *stmt, struct group *group);
	void define(const struct root *root, bool known);
	void clear_all();
	void begin();
	void list_checks(std::vector<struct event> &list, void *key, bool after);
	void list_roots(std::vector<struct event> &list, gimple *stmt);
	void list_events(basic_block bb);
	template <typename Visit>
	void walk(enum direction direction, basic_block bb, sbitmap set, Visit visit);
	template <typename Transfer> void solve(enum direction direction, Transfer transfer);
	void solve_for(enum direction direction);
};

}

/* Whether a check looks up the root's object when the root is defined. */
static bool is_lookup(const struct check *check)
{
	tree root = check->root;
	gimple *def;

	if (check->gone || TREE_CODE(root) != SSA_NAME || !POINTER_TYPE_P(TREE_TYPE(root)) ||
	    SSA_NAME_OCCURS_IN_ABNORMAL_PHI(root) || is_of_page(root))
		return false;
	def = SSA_NAME_DEF_STMT(root);
	return gimple_code(def) == GIMPLE_NOP || gimple_code(def) == GIMPLE_PHI ||
	       !stmt_ends_bb_p(def);
}

/* The room's bounds are relative to the root, so only such accesses can be compared. */
static bool can_compare(const struct check *check)
{
	return check->addr || check->lo >= 0;
}

/* The memory that a root is loaded from, or NULL. */
static tree loaded_from(const struct root *root)
{
	gimple *def = SSA_NAME_DEF_STMT(root->name);

	return gimple_assign_load_p(def) && !gimple_has_volatile_ops(def)
	       ? gimple_assign_rhs1(def) : NULL_TREE;
}

static tree is_of_loop(tree *expression, int *, void *data)
{
	const class loop *loop = (const class loop *)data;
	basic_block bb = TREE_CODE(*expression) == SSA_NAME
			 ? gimple_bb(SSA_NAME_DEF_STMT(*expression)) : NULL;

	return bb && flow_bb_inside_loop_p(loop, bb) ? *expression : NULL_TREE;
}

/* Whether a loop loads it from the same place in each iteration. */
static bool is_repeated(const struct root *root, tree place)
{
	class loop *loop = gimple_bb(SSA_NAME_DEF_STMT(root->name))->loop_father;

	return loop_outer(loop) && !walk_tree(&place, is_of_loop, loop, NULL);
}

rooms::rooms(function *f, vec<struct check *> &all) : fun(f), checks(all)
{
	basic_block bb;

	for (struct check *check : checks)
		if (is_lookup(check))
			place(check);
	events.resize(last_basic_block_for_fn(fun));
	FOR_EACH_BB_FN(bb, fun)
		list_events(bb);
	in = sbitmap_vector_alloc(last_basic_block_for_fn(fun), bits());
	out = sbitmap_vector_alloc(last_basic_block_for_fn(fun), bits());
	arguments = sbitmap_alloc(bits());
}

rooms::~rooms()
{
	sbitmap_vector_free(in);
	sbitmap_vector_free(out);
	sbitmap_free(arguments);
	for (auto entry : at)
		delete entry.second;
}

void rooms::place(struct check *check)
{
	void *key = check->end_of ? (void *)check->end_of : (void *)check->stmt;
	auto_vec<struct check *> *&list = at.get_or_insert(key);
	bool known;
	unsigned int &number = numbers.get_or_insert(check->root, &known);

	if (!known) {
		number = roots.length();
		roots.safe_push({ check->root, 0 });
	}
	if (!list)
		list = new auto_vec<struct check *>();
	list->safe_push(check);
}

/* NULL if the name is not a root. */
struct root *rooms::root_of(tree name)
{
	unsigned int *number = name && TREE_CODE(name) == SSA_NAME ? numbers.get(name) : NULL;

	return number ? &roots[*number] : NULL;
}

void rooms::list_checks(std::vector<struct event> &list, void *key, bool after)
{
	auto_vec<struct check *> **found = at.get(key);

	if (found)
		for (struct check *check : **found)
			if (check->after == after)
				list.push_back({ event::CHECKED, check, root_of(check->root), NULL });
}

/* Roots that a statement defines. */
void rooms::list_roots(std::vector<struct event> &list, gimple *stmt)
{
	ssa_op_iter iterator;
	def_operand_p def;

	FOR_EACH_PHI_OR_STMT_DEF(def, stmt, iterator, SSA_OP_DEF) {
		struct root *root = root_of(DEF_FROM_PTR(def));

		if (root)
			list.push_back({ event::DEFINED, NULL, root, NULL });
	}
}

void rooms::list_events(basic_block bb)
{
	std::vector<struct event> &list = events[bb->index];

	for (auto gsi = gsi_start_phis(bb); !gsi_end_p(gsi); gsi_next(&gsi))
		list_roots(list, gsi_stmt(gsi));
	for (auto gsi = gsi_start_bb(bb); !gsi_end_p(gsi); gsi_next(&gsi)) {
		gimple *stmt = gsi_stmt(gsi);

		list_checks(list, stmt, false);
		if (may_free(stmt))
			list.push_back({ event::FREED, NULL, NULL, stmt });
		list_roots(list, stmt);
		list_checks(list, stmt, true);
	}
	list_checks(list, bb, false);
}

/* Solves for what holds at each block's begin and end, on at least one path to or from it. */
template <typename Transfer> void rooms::solve(enum direction direction, Transfer transfer)
{
	sbitmap *first = direction == FORWARD ? in : out, *last = direction == FORWARD ? out : in;
	auto_sbitmap set(bits());
	bool changed = true;
	edge_iterator iterator;
	basic_block bb;
	edge e;

	bitmap_vector_clear(in, last_basic_block_for_fn(fun));
	bitmap_vector_clear(out, last_basic_block_for_fn(fun));
	while (changed) {
		changed = false;
		FOR_EACH_BB_FN(bb, fun) {
			sbitmap from = first[bb->index];

			if (direction == FORWARD)
				FOR_EACH_EDGE(e, iterator, bb->preds)
					bitmap_ior(from, from, last[e->src->index]);
			else
				FOR_EACH_EDGE(e, iterator, bb->succs)
					bitmap_ior(from, from, last[e->dest->index]);
			bitmap_copy(set, from);
			transfer(bb, set);
			changed |= !bitmap_equal_p(set, last[bb->index]);
			bitmap_copy(last[bb->index], set);
		}
	}
}

/* -- which roots share ------------------------------------------------------------- */

unsigned int rooms::group_of(tree place)
{
	for (unsigned int i = 0; place && i < groups.length(); i++)
		if (groups[i].place && operand_equal_p(groups[i].place, place))
			return i;
	groups.safe_push({ place, 0, false, NULL_TREE, NULL_TREE, NULL_TREE, false });
	return groups.length() - 1;
}

/* The set has roots after which another one of their group was defined. */
void rooms::follow_stale(basic_block bb, sbitmap set, sbitmap stale)
{
	for (const struct event &event : events[bb->index]) {
		unsigned int number;

		if (event.kind == event::FREED)
			continue;
		number = event.root - roots.address();
		if (event.kind == event::CHECKED) {
			if (bitmap_bit_p(set, number))
				bitmap_set_bit(stale, number);
			continue;
		}
		for (unsigned int i = 0; i < roots.length(); i++)
			if (roots[i].group == event.root->group)
				bitmap_set_bit(set, i);
		bitmap_clear_bit(set, number);
	}
}

/* Finds roots that are checked while the room may be another root's. */
void rooms::find_stale(sbitmap stale)
{
	bitmap_clear(stale);
	solve(FORWARD, [&](basic_block bb, sbitmap set) { follow_stale(bb, set, stale); });
}

/* Forms groups; a root that gains nothing from sharing stays alone. */
void rooms::gather()
{
	auto_sbitmap stale(bits());

	for (struct root &root : roots)
		root.group = group_of(loaded_from(&root));
	find_stale(stale);
	for (unsigned int i = 0; i < roots.length(); i++)
		if (bitmap_bit_p(stale, i))
			roots[i].group = group_of(NULL_TREE);
	bitmap_clear(arguments);
	for (const struct root &root : roots) {
		groups[root.group].members++;
		if (SSA_NAME_IS_DEFAULT_DEF(root.name)) {
			groups[root.group].argument = true;
			bitmap_set_bit(arguments, root.group);
		}
	}
	for (const struct root &root : roots) {
		struct group *group = &groups[root.group];

		if (group->place && group->members == 1 && !is_repeated(&root, group->place))
			group->place = NULL_TREE;
	}
}

/* -- whose rooms are known, and whose are wanted -------------------------------------- */

/*
 * The rooms that are known after each event, or wanted before it. A check makes its root's room
 * known; a check that compares with the room wants it.
 */
template <typename Visit>
void rooms::walk(enum direction direction, basic_block bb, sbitmap set, Visit visit)
{
	const std::vector<struct event> &list = events[bb->index];

	for (size_t i = 0; i < list.size(); i++) {
		const struct event &event = list[direction == FORWARD ? i : list.size() - 1 - i];

		visit(event);
		switch (event.kind) {
		case event::CHECKED:
			if (direction == FORWARD || event.check->compares)
				bitmap_set_bit(set, event.root->group);
			break;
		case event::DEFINED:
			if (!groups[event.root->group].place)
				bitmap_clear_bit(set, event.root->group);
			break;
		case event::FREED:
			bitmap_and(set, set, arguments);
		}
	}
}

void rooms::solve_for(enum direction direction)
{
	solve(direction, [this, direction](basic_block bb, sbitmap set) {
		walk(direction, bb, set, [](const struct event &) {});
	});
}

void rooms::make_variables(struct group *group)
{
	if (!group->room)
		group->room = create_tmp_reg(long_unsigned_type_node, "room");
	if (!group->last && group->place)
		group->last = create_tmp_reg(ptr_type_node, "last");
	if (!group->above && group->argument)
		group->above = create_tmp_reg(long_unsigned_type_node, "above");
}

/* Chooses the checks that compare, and the lookups that must store their result. */
void rooms::choose()
{
	auto_sbitmap set(bits());
	basic_block bb;

	solve_for(FORWARD);
	FOR_EACH_BB_FN(bb, fun) {
		bitmap_copy(set, in[bb->index]);
		walk(FORWARD, bb, set, [&](const struct event &event) {
			if (event.kind != event::CHECKED)
				return;
			event.check->compares = can_compare(event.check) &&
						bitmap_bit_p(set, event.root->group);
			if (event.check->compares)
				make_variables(&groups[event.root->group]);
		});
	}
	solve_for(BACKWARD);
	FOR_EACH_BB_FN(bb, fun) {
		bitmap_copy(set, out[bb->index]);
		walk(BACKWARD, bb, set, [&](const struct event &event) {
			if (event.kind == event::CHECKED &&
			    (event.check->compares || bitmap_bit_p(set, event.root->group)))
				event.check->room = groups[event.root->group].room;
		});
	}
}

/* -- where nothing is known any more ---------------------------------------------------- */

static gimple *assign(tree variable, tree value)
{
	return gimple_build_assign(variable, value ? value : build_zero_cst(TREE_TYPE(variable)));
}

static void insert_after(function *fun, gimple *stmt, gimple_seq seq)
{
	gimple_stmt_iterator gsi;

	switch (gimple_code(stmt)) {
	case GIMPLE_NOP:
		gsi_insert_seq_on_edge_immediate(
			single_succ_edge(ENTRY_BLOCK_PTR_FOR_FN(fun)), seq);
		break;
	case GIMPLE_PHI:
		gsi = gsi_after_labels(gimple_bb(stmt));
		gsi_insert_seq_before(&gsi, seq, GSI_NEW_STMT);
		break;
	default:
		gsi = gsi_for_stmt(stmt);
		gsi_insert_seq_after(&gsi, seq, GSI_NEW_STMT);
	}
}

/* Something may have been freed. */
void rooms::clear(gimple *stmt, struct group *group)
{
	gimple_seq seq = NULL;

	if (group->above)
		gimple_seq_add_stmt(&seq, gimple_build_assign(group->room, BIT_AND_EXPR,
							      group->room, group->above));
	else
		gimple_seq_add_stmt(&seq, assign(group->room, NULL_TREE));
	group->masked = group->above;
	insert_after(fun, stmt, seq);
}

/* A root's room is unknown, unless its value equals the last one's. */
void rooms::define(const struct root *root, bool known)
{
	const struct group *group = &groups[root->group];
	tree zero = build_zero_cst(long_unsigned_type_node);
	gimple_seq seq = NULL;

	if (group->last && known) {
		tree same = make_ssa_name(boolean_type_node);

		gimple_seq_add_stmt(&seq, gimple_build_assign(same, EQ_EXPR, root->name,
							      group->last));
		gimple_seq_add_stmt(&seq, gimple_build_assign(group->room, COND_EXPR, same,
							      group->room, zero));
	} else {
		gimple_seq_add_stmt(&seq, assign(group->room, zero));
	}
	if (group->last)
		gimple_seq_add_stmt(&seq, assign(group->last, root->name));
	insert_after(fun, SSA_NAME_DEF_STMT(root->name), seq);
}

void rooms::clear_all()
{
	auto_vec<std::pair<gimple *, unsigned int>> freed;
	auto_sbitmap set(bits()), follows(bits());
	basic_block bb;

	bitmap_clear(follows);
	solve_for(FORWARD);
	FOR_EACH_BB_FN(bb, fun) {
		bitmap_copy(set, in[bb->index]);
		walk(FORWARD, bb, set, [&](const struct event &event) {
			if (event.kind == event::DEFINED && bitmap_bit_p(set, event.root->group))
				bitmap_set_bit(follows, event.root - roots.address());
			if (event.kind != event::FREED)
				return;
			for (unsigned int i = 0; i < groups.length(); i++)
				if (groups[i].room && bitmap_bit_p(set, i))
					freed.safe_push({ event.stmt, i });
		});
	}
	for (const auto &one : freed)
		clear(one.first, &groups[one.second]);
	for (unsigned int i = 0; i < roots.length(); i++)
		if (groups[roots[i].group].room)
			define(&roots[i], bitmap_bit_p(follows, i));
}

/* Initialises a group's variables, before its first root is defined, and the masks. */
void rooms::begin()
{
	gimple_seq seq = NULL;

	for (const struct group &group : groups)
		if (group.last)
			gimple_seq_add_stmt(&seq, assign(group.room, NULL_TREE));
	for (const struct root &root : roots)
		if (groups[root.group].masked)
			gimple_seq_add_stmt(&seq, mask_of_stack(groups[root.group].above,
								root.name));
	if (seq)
		gsi_insert_seq_on_edge_immediate(
			single_succ_edge(ENTRY_BLOCK_PTR_FOR_FN(fun)), seq);
}

void rooms::share()
{
	gather();
	choose();
	clear_all();
	begin();
}

/* Nothing can be inserted after a call that ends a block. */
static bool can_insert(function *fun)
{
	basic_block bb;

	FOR_EACH_BB_FN(bb, fun) {
		gimple *last = last_statement(bb);

		if (last && may_free(last) && stmt_ends_bb_p(last) && EDGE_COUNT(bb->succs))
			return false;
	}
	return true;
}

void share_rooms(function *fun, vec<struct check *> &checks)
{
	if (!binds_register(fun) && can_insert(fun))
		rooms(fun, checks).share();
}
