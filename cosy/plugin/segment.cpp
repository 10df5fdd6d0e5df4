// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Finds what lies between COSY_START and COSY_END, and makes a function of it.
 *
 * A segment is what can be reached from its START without passing an END, less
 * what can also be reached from an END without passing that START: so a return,
 * a break or a goto out of it leads to code that is the function's, as before.
 */
#include "cosy.hpp"

using namespace llvm;

namespace cosy {

/* -- Memory shared with the function ----------------------------------------- */

static Type *ptr_type(Module &m)
{
	return PointerType::getUnqual(m.getContext());
}

static void erase_lifetimes(AllocaInst *alloca)
{
	for (User *user : make_early_inc_range(alloca->users()))
		if (auto *intrinsic = dyn_cast<IntrinsicInst>(user))
			if (intrinsic->isLifetimeStartOrEnd())
				intrinsic->eraseFromParent();
}

void HostFrame::take(AllocaInst *alloca)
{
	Module &m = *function.getParent();
	const DataLayout &layout = m.getDataLayout();
	uint64_t align = std::max<uint64_t>(alloca->getAlign().value(), 8);
	IRBuilder<> b(&*function.getEntryBlock().getFirstInsertionPt());

	if (!push) {
		FunctionCallee callee = m.getOrInsertFunction(
			"cosy_push", ptr_type(m), b.getInt64Ty());
		push = b.CreateCall(callee, {b.getInt64(0)}, "cosy.frame");
	}
	erase_lifetimes(alloca);
	size = alignTo(size, align);
	b.SetInsertPoint(push->getNextNode());
	alloca->replaceAllUsesWith(b.CreateConstGEP1_64(b.getInt8Ty(), push, size));
	size += *alloca->getAllocationSize(layout);
	alloca->eraseFromParent();
}

void HostFrame::finish()
{
	Module &m = *function.getParent();

	if (!push)
		return;
	push->setArgOperand(0, ConstantInt::get(Type::getInt64Ty(m.getContext()),
						alignTo(size, 16)));
	for (BasicBlock &block : function) {
		if (!isa<ReturnInst>(block.getTerminator()))
			continue;
		IRBuilder<> b(block.getTerminator());
		b.CreateCall(m.getOrInsertFunction("cosy_pop", b.getVoidTy(), ptr_type(m)),
			     {push});
	}
}

/* -- Where a segment is -------------------------------------------------------- */

static bool is_call_of(const Instruction &i, StringRef name)
{
	auto *call = dyn_cast<CallInst>(&i);

	return call && call->getCalledFunction() &&
	       call->getCalledFunction()->getName() == name;
}

static CallInst *next_start(Function &f)
{
	for (Instruction &i : instructions(f))
		if (is_call_of(i, START))
			return cast<CallInst>(&i);
	return nullptr;
}

/* Blocks begin with each END, so that a walk can stop there. */
static SmallPtrSet<BasicBlock *, 8> split_at_ends(Function &f)
{
	SmallVector<Instruction *, 8> ends;
	SmallPtrSet<BasicBlock *, 8> blocks;

	for (Instruction &i : instructions(f))
		if (is_call_of(i, END))
			ends.push_back(&i);
	for (Instruction *end : ends) {
		BasicBlock *block = end->getParent();

		if (end != &block->front())
			block = block->splitBasicBlock(end, "cosy.end");
		blocks.insert(block);
	}
	return blocks;
}

/* The blocks that can be reached from @from without entering @stop. */
static SmallPtrSet<BasicBlock *, 32> reach(ArrayRef<BasicBlock *> from,
					   const SmallPtrSetImpl<BasicBlock *> &stop)
{
	SmallVector<BasicBlock *, 32> todo(from.begin(), from.end());
	SmallPtrSet<BasicBlock *, 32> seen(from.begin(), from.end());

	while (!todo.empty())
		for (BasicBlock *next : successors(todo.pop_back_val()))
			if (!stop.count(next) && seen.insert(next).second)
				todo.push_back(next);
	return seen;
}

/* Returns stay in the function: each becomes a block of its own. */
static void split_returns(Function &f)
{
	for (BasicBlock &block : make_early_inc_range(f))
		if (isa<ReturnInst>(block.getTerminator()) && block.size() > 1)
			block.splitBasicBlock(block.getTerminator(), "cosy.return");
}

/* Ends that the segment meets. */
static SmallVector<BasicBlock *, 8> find_met(const SmallPtrSetImpl<BasicBlock *> &ends,
					     const SmallPtrSetImpl<BasicBlock *> &inside)
{
	SmallVector<BasicBlock *, 8> met;

	for (BasicBlock *end : ends)
		if (any_of(predecessors(end), [&](BasicBlock *b) { return inside.count(b); }))
			met.push_back(end);
	return met;
}

/* The code at @block is run by others than the segment, and leads to its end. */
static bool refuse_entry(Function &f, BasicBlock *block, ArrayRef<BasicBlock *> met)
{
	SmallPtrSet<BasicBlock *, 32> seen = reach({block}, SmallPtrSet<BasicBlock *, 1>());

	if (none_of(met, [&](BasicBlock *end) { return seen.count(end); }))
		return false;
	auto first = find_if(*block, [](Instruction &i) { return bool(i.getDebugLoc()); });
	error(f, first == block->end() ? DebugLoc() : first->getDebugLoc(),
	      "control can come here, into the middle of a segment, from outside of it");
	return true;
}

/* The segment, all of @inside, meets no end: because of calls that do not return? */
static void refuse_without_end(Function &f, const SmallPtrSetImpl<BasicBlock *> &inside,
			       const DebugLoc &where)
{
	bool told = false;

	for (Instruction &i : instructions(f)) {
		auto *call = dyn_cast<CallBase>(&i);

		if (!call || !inside.count(i.getParent()) || !ends_program(*call))
			continue;
		error(f, i.getDebugLoc(), wrong_end(*call));
		told = true;
	}
	if (!told)
		error(f, where, "COSY_START without a COSY_END that it could reach");
}

/* The blocks of the segment that begins with @header, which comes first. */
static SmallVector<BasicBlock *, 32> find_region(Function &f, BasicBlock *header,
						 const DebugLoc &where)
{
	SmallPtrSet<BasicBlock *, 8> ends = split_at_ends(f), start;
	SmallVector<BasicBlock *, 32> region;

	split_returns(f);
	start.insert(header);
	DominatorTree dominators(f);
	SmallPtrSet<BasicBlock *, 32> inside = reach({header}, ends);
	SmallVector<BasicBlock *, 8> met = find_met(ends, inside);

	if (met.empty()) {
		refuse_without_end(f, inside, where);
		return region;
	}
	SmallPtrSet<BasicBlock *, 32> after = reach(met, start);
	region.push_back(header);
	for (BasicBlock &block : f) {
		if (&block == header || !inside.count(&block) || after.count(&block) ||
		    isa<ReturnInst>(block.getTerminator()))
			continue;
		if (dominators.dominates(header, &block))
			region.push_back(&block);
		else if (refuse_entry(f, &block, met))
			return {};
	}
	return region;
}

/* -- What a segment uses ---------------------------------------------------------- */

static bool is_lifetime(const User *user)
{
	auto *intrinsic = dyn_cast<IntrinsicInst>(user);

	return intrinsic && intrinsic->isLifetimeStartOrEnd();
}

/* Declared in the segment: it is new each time, and private to the segment. */
static bool is_local(AllocaInst *alloca, const SmallPtrSetImpl<BasicBlock *> &inside)
{
	bool begins = false;

	for (User *user : alloca->users()) {
		bool is_inside = inside.count(cast<Instruction>(user)->getParent());

		if (!is_lifetime(user) && !is_inside)
			return false;
		if (is_lifetime(user) && is_inside &&
		    cast<IntrinsicInst>(user)->getIntrinsicID() == Intrinsic::lifetime_start)
			begins = true;
	}
	return begins;
}

static bool is_used(AllocaInst *alloca, const SmallPtrSetImpl<BasicBlock *> &inside)
{
	return any_of(alloca->users(), [&](User *user) {
		return inside.count(cast<Instruction>(user)->getParent());
	});
}

/* Addresses made before the segment are variables that it uses, too. */
static bool leads_inside(Value *v, const SmallPtrSetImpl<BasicBlock *> &inside,
			 SmallPtrSetImpl<Value *> &seen)
{
	if (!seen.insert(v).second)
		return false;
	for (User *user : v->users()) {
		auto *i = dyn_cast<Instruction>(user);

		if (!i || is_lifetime(user))
			continue;
		if (inside.count(i->getParent()))
			return true;
		if ((isa<GetElementPtrInst>(i) || isa<PHINode>(i) || isa<SelectInst>(i) ||
		     isa<CastInst>(i)) && leads_inside(i, inside, seen))
			return true;
	}
	return false;
}

static bool share_variables(Function &f, ArrayRef<BasicBlock *> region, HostFrame &frame,
			    const DebugLoc &where)
{
	SmallPtrSet<BasicBlock *, 32> inside(region.begin(), region.end());
	SmallVector<AllocaInst *, 16> allocas;

	for (Instruction &i : instructions(f))
		if (auto *alloca = dyn_cast<AllocaInst>(&i))
			allocas.push_back(alloca);
	for (AllocaInst *alloca : allocas) {
		SmallPtrSet<Value *, 16> seen;

		if (!leads_inside(alloca, inside, seen))
			continue;
		if (!alloca->isStaticAlloca()) {
			error(f, where, "an array of variable length, or alloca(), in a function with a segment that uses it");
			return false;
		}
		if (is_used(alloca, inside) && is_local(alloca, inside)) {
			erase_lifetimes(alloca);
			alloca->moveBefore(&*region[0]->getFirstInsertionPt());
		} else {
			frame.take(alloca);
		}
	}
	return true;
}

/* -- What leads where --------------------------------------------------------------- */

static bool returns_shared(const CallBase *call)
{
	const Function *callee = call->getCalledFunction();
	StringRef name = callee ? callee->getName() : "";

	return name == SHARED || name == "cosy_malloc" || name == "cosy_calloc" ||
	       name == "cosy_realloc" || name == "cosy_push";
}

static bool is_shared(const Value *v, SmallPtrSetImpl<const Value *> &seen)
{
	v = v->stripPointerCasts();
	if (!seen.insert(v).second || isa<ConstantPointerNull>(v) || isa<UndefValue>(v))
		return true;
	if (auto *gep = dyn_cast<GEPOperator>(v))
		return is_shared(gep->getPointerOperand(), seen);
	if (auto *phi = dyn_cast<PHINode>(v))
		return all_of(phi->incoming_values(),
			      [&](const Use &u) { return is_shared(u.get(), seen); });
	if (auto *select = dyn_cast<SelectInst>(v))
		return is_shared(select->getTrueValue(), seen) &&
		       is_shared(select->getFalseValue(), seen);
	if (auto *call = dyn_cast<CallBase>(v))
		return returns_shared(call);
	/* Pointers in the shared buffer lead into it. */
	if (auto *load = dyn_cast<LoadInst>(v))
		return is_shared(load->getPointerOperand(), seen);
	auto *var = dyn_cast<GlobalVariable>(v);
	return var && is_home(*var);
}

bool is_shared(const Value *v)
{
	SmallPtrSet<const Value *, 16> seen;

	return is_shared(v, seen);
}

static std::string source_name(const Value *v)
{
	StringRef name = v->getName();
	auto *call = dyn_cast<CallBase>(v);

	/* The compiler names results "call". */
	if (call)
		return call->getCalledFunction() ? (call->getCalledFunction()->getName() + "()").str() : "";
	return name.split('.').first.str();
}

/* -- Taking it out --------------------------------------------------------------------- */

/*
 * long entry(struct { arguments } *frame): calls @body with them.  Returns by which
 * way control left the segment.
 */
static Function *make_entry(Function *body, StructType *type)
{
	IRBuilder<> b(body->getContext());
	auto *signature = FunctionType::get(b.getInt64Ty(), {b.getPtrTy()}, false);
	Function *entry = Function::Create(signature, GlobalValue::InternalLinkage,
					   body->getName() + ".entry", body->getParent());
	SmallVector<Value *, 8> args;
	Value *result = b.getInt64(0);

	b.SetInsertPoint(BasicBlock::Create(b.getContext(), "", entry));
	for (Argument &arg : body->args())
		args.push_back(b.CreateLoad(
			arg.getType(), b.CreateStructGEP(type, entry->getArg(0), arg.getArgNo())));
	CallInst *call = b.CreateCall(body, args);
	if (!call->getType()->isVoidTy())
		result = b.CreateZExt(call, b.getInt64Ty());
	b.CreateRet(result);
	return entry;
}

/* The call of the segment becomes one by way of its frame. */
static void change_call(Segment &segment, CallInst *call, HostFrame &frame)
{
	SmallVector<Type *, 8> types;
	IRBuilder<> b(call);

	/* Results go where the call says, which both sides have to reach. */
	for (Value *arg : SmallVector<Value *, 8>(call->args()))
		if (auto *alloca = dyn_cast<AllocaInst>(arg))
			frame.take(alloca);
	for (Value *arg : call->args())
		types.push_back(arg->getType());
	StructType *type = StructType::get(b.getContext(), types);
	IRBuilder<> at_entry(&*call->getFunction()->getEntryBlock().getFirstInsertionPt());
	AllocaInst *room = at_entry.CreateAlloca(type);
	for (unsigned i = 0; i < types.size(); i++)
		b.CreateStore(call->getArgOperand(i), b.CreateStructGEP(type, room, i));
	segment.entry = make_entry(segment.body, type);
	segment.call = b.CreateCall(segment.entry, {room});
	segment.call->setDebugLoc(call->getDebugLoc());
	if (!call->getType()->isVoidTy())
		call->replaceAllUsesWith(b.CreateTrunc(segment.call, call->getType()));
	call->eraseFromParent();
	frame.take(room);
}

static bool extract(Function &f, ArrayRef<BasicBlock *> region, HostFrame &frame,
		    const DebugLoc &where, std::vector<Segment> &segments)
{
	DominatorTree dominators(f);
	CodeExtractorAnalysisCache cache(f);
	CodeExtractor extractor(region, &dominators, false, nullptr, nullptr, nullptr, false,
				true, nullptr, "cosy");
	SetVector<Value *> inputs, outputs;
	Segment segment = {};

	segment.body = extractor.isEligible() ?
		extractor.extractCodeRegion(cache, inputs, outputs) : nullptr;
	if (!segment.body) {
		error(f, where, "this segment cannot be taken out of its function");
		return false;
	}
	for (unsigned i = 0; i < inputs.size(); i++)
		if (inputs[i]->getType()->isPointerTy() && !is_shared(inputs[i]))
			segment.foreign.push_back({i, source_name(inputs[i])});
	for (Instruction &i : make_early_inc_range(instructions(*segment.body)))
		if (isa<AllocaInst>(&i))
			i.moveBefore(&*segment.body->getEntryBlock().getFirstInsertionPt());
	change_call(segment, cast<CallInst>(*segment.body->user_begin()), frame);
	segments.push_back(segment);
	return true;
}

static bool take_segment(Function &f, CallInst *start, HostFrame &frame,
			 std::vector<Segment> &segments)
{
	DebugLoc where = start->getDebugLoc();
	BasicBlock *header = start->getParent()->splitBasicBlock(start, "cosy.start");

	start->eraseFromParent();
	if (is_call_of(header->front(), END))
		return true;	/* nothing in it */
	SmallVector<BasicBlock *, 32> region = find_region(f, header, where);

	return !region.empty() && share_variables(f, region, frame, where) &&
	       extract(f, region, frame, where, segments);
}

static void mark_function(Function &f)
{
	Module &m = *f.getParent();
	Type *nothing = Type::getVoidTy(m.getContext());
	Instruction *first = &f.getEntryBlock().front();
	DISubprogram *program = f.getSubprogram();
	DebugLoc where = DILocation::get(m.getContext(), program->getLine(), 1, program);

	while (isa<AllocaInst>(first))
		first = first->getNextNode();
	IRBuilder<> b(first);
	b.SetCurrentDebugLocation(where);
	b.CreateCall(m.getOrInsertFunction(START, nothing));
	for (BasicBlock &block : f) {
		if (!isa<ReturnInst>(block.getTerminator()))
			continue;
		b.SetInsertPoint(block.getTerminator());
		b.SetCurrentDebugLocation(where);
		b.CreateCall(m.getOrInsertFunction(END, nothing));
	}
}

void mark_functions(Module &m)
{
	auto *list = m.getGlobalVariable("llvm.global.annotations");

	if (!list)
		return;
	for (Use &use : cast<ConstantArray>(list->getInitializer())->operands()) {
		auto *entry = cast<ConstantStruct>(use);
		auto *text = dyn_cast<GlobalVariable>(entry->getOperand(1)->stripPointerCasts());
		auto *f = dyn_cast<Function>(entry->getOperand(0)->stripPointerCasts());

		if (f && !f->isDeclaration() && f->getSubprogram() && text &&
		    cast<ConstantDataArray>(text->getInitializer())->getAsCString() ==
			    "cosy_function")
			mark_function(*f);
	}
}

static void erase_marks(Function &f)
{
	for (Instruction &i : make_early_inc_range(instructions(f)))
		if (is_call_of(i, START) || is_call_of(i, END))
			i.eraseFromParent();
}

/* Variables become values, as far as they can. */
static void make_values(Function &f, FunctionAnalysisManager &fam)
{
	f.removeFnAttr(Attribute::OptimizeNone);
	fam.invalidate(f, PreservedAnalyses::none());
	SROAPass(SROAOptions::PreserveCFG).run(f, fam);
	fam.invalidate(f, PreservedAnalyses::none());
}

bool take_segments(Function &f, FunctionAnalysisManager &fam, std::vector<Segment> &segments)
{
	HostFrame frame(f);
	bool fine = true;

	make_values(f, fam);
	while (CallInst *start = next_start(f))
		fine &= take_segment(f, start, frame, segments);
	erase_marks(f);
	frame.finish();
	fam.invalidate(f, PreservedAnalyses::none());
	return fine;
}

} // namespace cosy
