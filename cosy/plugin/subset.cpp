// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Refuses code that compounds cannot have, with its line.  Checks the compound as
 * it was written, with the runtime's functions, before optimisation removes lines.
 */
#include "cosy.hpp"

#include <map>
#include <set>

using namespace llvm;

namespace cosy {

/* The runtime has no lines of its own: what goes wrong there is its caller's. */
static bool is_runtime(const Function &f)
{
	return !f.getSubprogram();
}

/* -- Single instructions -------------------------------------------------------- */

static bool is_float(Type *type)
{
	return type->getScalarType()->isFloatingPointTy();
}

static bool uses_float(const Instruction &i)
{
	if (is_float(i.getType()))
		return true;
	return any_of(i.operands(), [](const Use &u) { return is_float(u->getType()); });
}

static bool uses_wide(const Instruction &i)
{
	auto wide = [](Type *t) { return t->isIntegerTy() && t->getIntegerBitWidth() > 64; };

	return wide(i.getType()) ||
	       any_of(i.operands(), [&](const Use &u) { return wide(u->getType()); });
}

/* -- System calls of the machine that the program is compiled for --------------- */

struct SystemCall {
	unsigned args;
	std::string wrong;
};

static std::map<uint64_t, SystemCall> system_calls;

bool learn_system_calls(const Module &runtime)
{
	const GlobalVariable *var = runtime.getNamedGlobal(CALLS);
	const auto *calls = var ? dyn_cast<ConstantArray>(var->getInitializer()) : nullptr;

	if (!calls)
		return false;
	system_calls.clear();
	for (const Use &call : calls->operands()) {
		auto number = [&](unsigned i) {
			return cast<ConstantInt>(cast<Constant>(call)->getAggregateElement(i))->getZExtValue();
		};
		StringRef wrong;

		getConstantStringInfo(cast<Constant>(call)->getAggregateElement(2), wrong);
		system_calls.insert({number(0), {(unsigned)number(1), wrong.str()}});
	}
	return true;
}

std::string wrong_number(uint64_t nr)
{
	auto call = system_calls.find(nr);

	return call != system_calls.end() ? call->second.wrong :
	       "system call " + std::to_string(nr) + ", which does not exist in a segment";
}

unsigned system_call_args(uint64_t nr)
{
	auto call = system_calls.find(nr);

	return call != system_calls.end() ? call->second.args : 6;
}

/* syscall() of the runtime's, with a number that stands there. */
static std::string wrong_syscall(const CallBase &call)
{
	auto *number = call.arg_empty() ? nullptr : dyn_cast<ConstantInt>(call.getArgOperand(0));

	return number ? wrong_number(number->getZExtValue()) : "";
}

bool ends_program(const CallBase &call)
{
	const Function *callee = callee_of(call);

	return call.doesNotReturn() && !(callee && callee->isIntrinsic());
}

std::string wrong_end(const CallBase &call)
{
	const Function *callee = callee_of(call);

	return "calls " + (callee ? callee->getName().str() + "()" : "a function") +
	       ", which does not return: leave the segment first";
}

static std::string wrong_call(const CallBase &call)
{
	const Function *callee = callee_of(call);

	if (call.isInlineAsm())
		return is_runtime(*call.getFunction()) ? "" : "assembler in a segment";
	if (!callee)
		return call.getFunctionType()->isVarArg() ?
			"calls a function with variable arguments by a pointer" : "";
	if (callee->isIntrinsic()) {
		/* va_end() needs no message: the va_start() is in the same function. */
		if (callee->getName().starts_with("llvm.va_") && !isa<VAEndInst>(call))
			return "a function with variable arguments in a segment";
		return "";
	}
	if (callee->getName() == "syscall" && is_runtime(*callee))
		return wrong_syscall(call);
	if (callee->getName() == SYSCALL || callee->getName() == SHARED || !callee->isDeclaration())
		return "";
	if (ends_program(call))
		return wrong_end(call);
	return callee->getName().str() + "() cannot be called in a segment: its source is not in "
	       "this file and cosy has no version of it";
}

static std::string wrong_global(const Instruction &i)
{
	for (const Use &use : i.operands())
		if (auto *var = dyn_cast<GlobalVariable>(use->stripPointerCasts()))
			if (var->isThreadLocal())
				return var->getName().str() + " is of one thread, and cannot be in a segment";
	return "";
}

static std::string what_is_wrong(const Instruction &i)
{
	if (uses_float(i))
		return "floating point in a segment";
	if (uses_wide(i))
		return "an integer of more than 64 bits in a segment";
	if (auto *alloca = dyn_cast<AllocaInst>(&i); alloca && !alloca->isStaticAlloca())
		return "an array of variable length, or alloca(), in a segment";
	if (isa<IndirectBrInst>(i))
		return "a computed goto in a segment";
	if (isa<VAArgInst>(i))
		return "variable arguments in a segment";
	if (isa<InvokeInst>(i) || isa<LandingPadInst>(i) || isa<ResumeInst>(i))
		return "exceptions in a segment";
	if (auto *call = dyn_cast<CallBase>(&i)) {
		std::string text = wrong_call(*call);

		if (!text.empty())
			return text;
	}
	return wrong_global(i);
}

/* Reports each error in @f once a line; errors without a line if not reported with one. */
static bool check_function(Function &f)
{
	std::set<std::pair<std::string, unsigned>> told;
	std::set<std::string> texts;

	for (bool with_line : {true, false})
		for (const Instruction &i : instructions(f)) {
			unsigned line = i.getDebugLoc() ? i.getDebugLoc().getLine() : 0;
			std::string text = with_line == (line != 0) ? what_is_wrong(i) : "";

			if (text.empty() || (!line && texts.count(text)) ||
			    !told.insert({text, line}).second)
				continue;
			texts.insert(text);
			error(f, i.getDebugLoc(), text);
		}
	return told.empty();
}

static bool check_instructions(Module &m)
{
	bool fine = true;

	for (Function &f : m) {
		if (f.isVarArg() && !f.isDeclaration()) {
			error(f, DebugLoc(), f.getName().str() +
			      "() has variable arguments, and cannot be in a segment");
			fine = false;
		}
		/* The segment says what is wrong with its arguments. */
		if (f.hasFnAttribute(ENTRY))
			continue;
		fine &= check_function(f);
	}
	return fine;
}

/* -- Pointers that lead anywhere -------------------------------------------------- */

/* Follows values that came from outside through the whole compound. */
class Tracker {
public:
	void add(Value *v, const std::string &name, const DebugLoc &where);
	bool run();

private:
	struct Origin {
		std::string name;
		DebugLoc where;		/* the call of the runtime that it went into */
	};

	void follow(Value *v, Use &use);
	void follow_call(Value *v, CallBase &call, Use &use);
	void refuse(Value *v, Instruction &i);

	MapVector<Value *, Origin> origins;
	SetVector<Value *> todo;
	std::set<std::pair<unsigned, std::string>> refused;
};

void Tracker::add(Value *v, const std::string &name, const DebugLoc &where)
{
	if (origins.insert({v, {name, where}}).second)
		todo.insert(v);
}

void Tracker::refuse(Value *v, Instruction &i)
{
	const Origin &origin = origins[v];
	std::string what = origin.name.empty() ? "this" : "'" + origin.name + "'";

	DebugLoc where = is_runtime(*i.getFunction()) ? origin.where : i.getDebugLoc();
	/* Once for each line. */
	if (!refused.insert({where ? where.getLine() : 0, what}).second)
		return;
	if (isa<CallBase>(i) && cast<CallBase>(i).getCalledOperand() == v)
		error(*i.getFunction(), where,
		      what + " may lead to a function of the program, which segments cannot call");
	else
		error(*i.getFunction(), where,
		      what + " may point outside the shared buffer: allocate what it points to with "
		      "cosy_malloc() and mark it COSY_SHARED(), or copy it to a local variable");
}

void Tracker::follow_call(Value *v, CallBase &call, Use &use)
{
	Function *callee = callee_of(call);
	Origin origin = origins[v];

	if (call.isCallee(&use) || isa<MemIntrinsic>(call))
		return refuse(v, call);
	if (!callee || !call.isArgOperand(&use))
		return;
	if (callee->getName() == SHARED || callee->isDeclaration())
		return;
	unsigned number = call.getArgOperandNo(&use);
	if (number >= callee->arg_size())
		return;
	if (!is_runtime(*call.getFunction()))
		origin.where = call.getDebugLoc();
	add(callee->getArg(number), origin.name, origin.where);
}

void Tracker::follow(Value *v, Use &use)
{
	auto *i = dyn_cast<Instruction>(use.getUser());
	Origin origin = origins[v];

	if (!i) {
		if (isa<Operator>(use.getUser()))
			add(use.getUser(), origin.name, origin.where);
	} else if (auto *call = dyn_cast<CallBase>(i)) {
		follow_call(v, *call, use);
	} else if (auto *store = dyn_cast<StoreInst>(i)) {
		if (use.getOperandNo() == store->getPointerOperandIndex())
			refuse(v, *i);
	} else if (isa<LoadInst>(i)) {
		refuse(v, *i);
	} else if (isa<AtomicRMWInst>(i) || isa<AtomicCmpXchgInst>(i)) {
		if (use.getOperandNo() == 0)
			refuse(v, *i);
	} else if (isa<ReturnInst>(i)) {
		for (User *user : i->getFunction()->users())
			if (auto *caller = dyn_cast<CallBase>(user))
				if (callee_of(*caller) == i->getFunction())
					add(caller, origin.name, origin.where);
	} else if (isa<GetElementPtrInst>(i)) {
		if (use.getOperandNo() == 0)
			add(i, origin.name, origin.where);
	} else if (isa<PHINode>(i) || isa<SelectInst>(i) || isa<CastInst>(i) ||
		   isa<BinaryOperator>(i) || isa<FreezeInst>(i) || isa<ExtractValueInst>(i) ||
		   isa<InsertValueInst>(i)) {
		if (i->getType()->isPointerTy() || i->getType()->isAggregateType() ||
		    i->getType()->isIntegerTy(64))
			add(i, origin.name, origin.where);
	}
}

bool Tracker::run()
{
	while (!todo.empty()) {
		Value *v = todo.pop_back_val();

		for (Use &use : v->uses())
			follow(v, use);
	}
	return refused.empty();
}

bool check_subset(Module &compound,
		  const DenseMap<Function *, std::vector<Foreign>> &foreign)
{
	bool fine = check_instructions(compound);
	Tracker tracker;

	for (const auto &[body, pointers] : foreign)
		for (const Foreign &pointer : pointers)
			tracker.add(body->getArg(pointer.argument), pointer.name, DebugLoc());
	return tracker.run() && fine;
}

} // namespace cosy
