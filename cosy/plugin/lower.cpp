// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Expresses operations that BPF's code generator lacks by others.
 *
 * lower_types(), once, before optimisation: functions have at most five
 * arguments and return a number or a pointer; calls have the types of what they
 * call.  lower_operations(), before and after: atomic operations, copies of
 * memory, ends that are not reached.  allow_unaligned(), at the end.
 */
#include "cosy.hpp"

#include "../../include/uapi/syscript_image.h"
#include "../file.h"


using namespace llvm;

namespace cosy {

/* -- Arguments and results --------------------------------------------------------- */

constexpr unsigned ARGS_MAX = 5;

/*
 * How a function of type @from is called instead: a result that is a structure
 * goes to the memory that a first argument leads to; of more than five arguments,
 * the last ones lie in memory that the fifth leads to.
 */
struct Convention {
	FunctionType *from, *to;
	bool result;			/* in memory */
	StructType *rest;		/* or nullptr */
	unsigned plain;			/* arguments as they are */

	explicit Convention(FunctionType *type);
	bool changes() const { return from != to; }
};

Convention::Convention(FunctionType *type) : from(type), to(type), rest(nullptr)
{
	LLVMContext &context = type->getContext();
	Type *pointer = PointerType::getUnqual(context);
	SmallVector<Type *, 8> params;
	unsigned n = type->getNumParams(), room;

	result = type->getReturnType()->isAggregateType();
	room = ARGS_MAX - result;
	plain = n <= room ? n : room - 1;
	if (result)
		params.push_back(pointer);
	for (unsigned i = 0; i < plain; i++)
		params.push_back(type->getParamType(i));
	if (plain < n) {
		rest = StructType::get(context, type->params().drop_front(plain));
		params.push_back(pointer);
	}
	if (result || rest)
		to = FunctionType::get(result ? Type::getVoidTy(context) :
					type->getReturnType(), params, false);
}

static AllocaInst *make_room(Function &f, Type *type)
{
	IRBuilder<> b(&*f.getEntryBlock().getFirstInsertionPt());

	return b.CreateAlloca(type);
}

static void change_call(CallInst *call)
{
	Convention c(call->getFunctionType());
	Function &f = *call->getFunction();
	SmallVector<Value *, 8> args;
	AllocaInst *result = nullptr;
	IRBuilder<> b(call);

	if (c.result) {
		result = make_room(f, call->getType());
		args.push_back(result);
	}
	for (unsigned i = 0; i < c.plain; i++)
		args.push_back(call->getArgOperand(i));
	if (c.rest) {
		AllocaInst *rest = make_room(f, c.rest);

		for (unsigned i = c.plain; i < call->arg_size(); i++)
			b.CreateStore(call->getArgOperand(i),
				      b.CreateStructGEP(c.rest, rest, i - c.plain));
		args.push_back(rest);
	}
	CallInst *changed = b.CreateCall(c.to, call->getCalledOperand(), args);
	changed->setDebugLoc(call->getDebugLoc());
	if (result)
		call->replaceAllUsesWith(b.CreateLoad(call->getType(), result));
	else if (!call->getType()->isVoidTy())
		call->replaceAllUsesWith(changed);
	call->eraseFromParent();
}

static void change_returns(Function &f, Value *result)
{
	for (BasicBlock &block : f) {
		auto *ret = dyn_cast<ReturnInst>(block.getTerminator());

		if (!ret || !ret->getReturnValue())
			continue;
		IRBuilder<> b(ret);
		b.CreateStore(ret->getReturnValue(), result);
		b.CreateRetVoid()->setDebugLoc(ret->getDebugLoc());
		ret->eraseFromParent();
	}
}

static void change_function(Function &f)
{
	Convention c(f.getFunctionType());
	Function *changed = Function::Create(c.to, f.getLinkage(), "", f.getParent());
	unsigned next = 0;

	changed->takeName(&f);
	changed->setSubprogram(f.getSubprogram());
	changed->splice(changed->begin(), &f);
	if (c.result)
		change_returns(*changed, changed->getArg(next++));
	for (unsigned i = 0; i < c.plain; i++)
		f.getArg(i)->replaceAllUsesWith(changed->getArg(next++));
	if (c.rest) {
		IRBuilder<> b(&*changed->getEntryBlock().getFirstInsertionPt());

		for (unsigned i = c.plain; i < f.arg_size(); i++) {
			Value *at = b.CreateStructGEP(c.rest, changed->getArg(next), i - c.plain);

			f.getArg(i)->replaceAllUsesWith(
				b.CreateLoad(f.getArg(i)->getType(), at));
		}
	}
	f.replaceAllUsesWith(changed);
	f.eraseFromParent();
}

/* -- Calls as they are written ------------------------------------------------------- */

/* A structure passed by value is a copy that the caller makes. */
static void copy_byval(CallInst *call)
{
	const DataLayout &layout = call->getModule()->getDataLayout();
	IRBuilder<> b(call);

	for (unsigned i = 0; i < call->arg_size(); i++) {
		Type *type = call->getParamByValType(i);

		if (!type)
			continue;
		AllocaInst *copy = make_room(*call->getFunction(), type);
		b.CreateMemCpy(copy, copy->getAlign(), call->getArgOperand(i),
			       call->getParamAlign(i), layout.getTypeAllocSize(type));
		call->setArgOperand(i, copy);
		call->removeParamAttr(i, Attribute::ByVal);
	}
}

/* open(path, flags), where open() here has a mode: 0 stands for what is missing. */
static void fix_variadic(CallInst *call)
{
	Function *callee = callee_of(*call);
	SmallVector<Value *, 8> args;
	IRBuilder<> b(call);

	if (!callee || callee->getFunctionType() == call->getFunctionType())
		return;
	for (Argument &arg : callee->args()) {
		Value *v = Constant::getNullValue(arg.getType());

		if (arg.getArgNo() < call->arg_size())
			v = call->getArgOperand(arg.getArgNo());
		if (v->getType()->isIntegerTy() && arg.getType()->isIntegerTy())
			v = b.CreateSExtOrTrunc(v, arg.getType());
		else if (v->getType()->isPointerTy() && arg.getType()->isIntegerTy())
			v = b.CreatePtrToInt(v, arg.getType());
		args.push_back(v);
	}
	CallInst *changed = b.CreateCall(callee, args);
	changed->setDebugLoc(call->getDebugLoc());
	if (call->getType() == changed->getType())
		call->replaceAllUsesWith(changed);
	else if (!call->use_empty())
		call->replaceAllUsesWith(b.CreateSExtOrTrunc(changed, call->getType()));
	call->eraseFromParent();
}

/* -- Functions of cosy.h --------------------------------------------------------------- */

/* A call of @what with what is in r1 to r5 and in r0: for a sixth argument. */
static InlineAsm *call_with_six(uint64_t what, FunctionType *type)
{
	return InlineAsm::get(type, "call " + std::to_string(what),
			      "={r0},{r1},{r2},{r3},{r4},{r5},0,"
			      "~{r1},~{r2},~{r3},~{r4},~{r5},~{memory}", true);
}

/* Number and arguments, of which those are passed that there are. */
static void lower_syscall(CallInst *call)
{
	auto *number = dyn_cast<ConstantInt>(call->getArgOperand(0));
	SmallVector<Value *, 8> args(drop_begin(call->args()));
	IRBuilder<> b(call);
	Type *i64 = b.getInt64Ty();

	if (!number)
		return;
	/* Known only now: check_subset() has seen those that are written as numbers. */
	std::string wrong = wrong_number(number->getZExtValue());
	if (!wrong.empty())
		error(*call->getFunction(), call->getDebugLoc(), wrong);
	uint64_t what = IMAGE_SYSCALL + number->getZExtValue();
	args.truncate(system_call_args(number->getZExtValue()));
	FunctionType *type = FunctionType::get(i64, SmallVector<Type *, 6>(args.size(), i64), false);
	Value *callee = args.size() > 5 ? (Value *)call_with_six(what, type) :
			ConstantExpr::getIntToPtr(b.getInt64(what), b.getPtrTy());
	CallInst *result = b.CreateCall(type, callee, args);

	result->setDebugLoc(call->getDebugLoc());
	call->replaceAllUsesWith(result);
	call->eraseFromParent();
}

/* -- Operations -------------------------------------------------------------------------- */

/* The processor orders loads; the exchange orders the rest. */
static void lower_atomic_access(Instruction *i)
{
	IRBuilder<> b(i);

	if (auto *load = dyn_cast<LoadInst>(i)) {
		load->setVolatile(true);
		load->setAtomic(AtomicOrdering::NotAtomic);
	} else if (auto *store = dyn_cast<StoreInst>(i)) {
		Type *type = store->getValueOperand()->getType();
		Value *v = store->getValueOperand();

		if (store->getOrdering() != AtomicOrdering::SequentiallyConsistent) {
			store->setVolatile(true);
			store->setAtomic(AtomicOrdering::NotAtomic);
			return;
		}
		if (type->isPointerTy())
			v = b.CreatePtrToInt(v, b.getInt64Ty());
		b.CreateAtomicRMW(AtomicRMWInst::Xchg, store->getPointerOperand(), v,
				  store->getAlign(), AtomicOrdering::SequentiallyConsistent);
		store->eraseFromParent();
	} else {
		AllocaInst *word = make_room(*i->getFunction(), b.getInt64Ty());

		b.CreateAtomicRMW(AtomicRMWInst::Xchg, word, b.getInt64(0), Align(8),
				  AtomicOrdering::SequentiallyConsistent);
		i->eraseFromParent();
	}
}

static Value *combine(IRBuilder<> &b, AtomicRMWInst *rmw, Value *old)
{
	Value *v = rmw->getValOperand();

	switch (rmw->getOperation()) {
	case AtomicRMWInst::And: return b.CreateAnd(old, v);
	case AtomicRMWInst::Or: return b.CreateOr(old, v);
	case AtomicRMWInst::Xor: return b.CreateXor(old, v);
	case AtomicRMWInst::Nand: return b.CreateNot(b.CreateAnd(old, v));
	case AtomicRMWInst::Max: return b.CreateSelect(b.CreateICmpSGT(old, v), old, v);
	case AtomicRMWInst::Min: return b.CreateSelect(b.CreateICmpSLT(old, v), old, v);
	case AtomicRMWInst::UMax: return b.CreateSelect(b.CreateICmpUGT(old, v), old, v);
	default: return b.CreateSelect(b.CreateICmpULT(old, v), old, v);
	}
}

static bool has_instruction(AtomicRMWInst *rmw)
{
	switch (rmw->getOperation()) {
	case AtomicRMWInst::Xchg: case AtomicRMWInst::Add: case AtomicRMWInst::Sub:
		return true;
	case AtomicRMWInst::And: case AtomicRMWInst::Or: case AtomicRMWInst::Xor:
		return rmw->use_empty();
	default:
		return false;
	}
}

/* An atomic operation without an instruction: a loop of load, combine, compare and exchange. */
static void lower_rmw(AtomicRMWInst *rmw)
{
	BasicBlock *before = rmw->getParent();
	BasicBlock *loop = before->splitBasicBlock(rmw, "atomic");
	BasicBlock *after = loop->splitBasicBlock(rmw->getNextNode(), "atomic.done");
	IRBuilder<> b(before->getTerminator());
	LoadInst *first = b.CreateLoad(rmw->getType(), rmw->getPointerOperand(), true);

	b.SetInsertPoint(rmw);
	PHINode *old = b.CreatePHI(rmw->getType(), 2);
	Value *pair = b.CreateAtomicCmpXchg(rmw->getPointerOperand(), old,
					    combine(b, rmw, old), rmw->getAlign(),
					    AtomicOrdering::SequentiallyConsistent,
					    AtomicOrdering::SequentiallyConsistent);
	Value *seen = b.CreateExtractValue(pair, 0);
	old->addIncoming(first, before);
	old->addIncoming(seen, loop);
	b.CreateCondBr(b.CreateExtractValue(pair, 1), after, loop);
	loop->getTerminator()->eraseFromParent();
	rmw->replaceAllUsesWith(seen);
	rmw->eraseFromParent();
}

/* Small copies become loads and stores; the rest are calls of the runtime. */
static void lower_copy(MemIntrinsic *i)
{
	auto *size = dyn_cast<ConstantInt>(i->getLength());
	Module &m = *i->getModule();
	IRBuilder<> b(i);
	bool is_set = isa<MemSetInst>(i);

	if (!is_set && size && size->getZExtValue() <= 64)
		return;
	if (is_set && size && size->getZExtValue() <= 64 &&
	    isa<ConstantInt>(cast<MemSetInst>(i)->getValue()))
		return;
	StringRef name = is_set ? "memset" : isa<MemMoveInst>(i) ? "memmove" : "memcpy";
	Function *f = m.getFunction(name);
	if (!f || f == i->getFunction())
		return;
	Value *second = is_set ?
		b.CreateZExt(cast<MemSetInst>(i)->getValue(), b.getInt32Ty()) :
		cast<MemTransferInst>(i)->getRawSource();
	Value *args[] = { i->getRawDest(), second,
			  b.CreateZExtOrTrunc(i->getLength(), b.getInt64Ty()) };
	b.CreateCall(f, args)->setDebugLoc(i->getDebugLoc());
	i->eraseFromParent();
}

/* The run aborts. */
static void create_abort(IRBuilder<> &b, int64_t code = -1)
{
	Type *i64 = b.getInt64Ty();

	b.CreateCall(FunctionType::get(i64, {i64}, false),
		     ConstantExpr::getIntToPtr(b.getInt64(IMAGE_CALL_ABORT), b.getPtrTy()),
		     {b.getInt64(code)});
}

/* If code that the compiler takes for unreachable runs, it aborts. */
static void lower_unreachable(UnreachableInst *i)
{
	IRBuilder<> b(i);
	Type *result = i->getFunction()->getReturnType();

	create_abort(b);
	if (result->isVoidTy())
		b.CreateRetVoid();
	else
		b.CreateRet(Constant::getNullValue(result));
	i->eraseFromParent();
}

static void lower_intrinsic(IntrinsicInst *i)
{
	IRBuilder<> b(i);

	switch (i->getIntrinsicID()) {
	case Intrinsic::ubsantrap:
		create_abort(b, COSY_CHECK_FAILED);
		i->eraseFromParent();
		break;
	case Intrinsic::trap: case Intrinsic::debugtrap:
		create_abort(b);
		i->eraseFromParent();
		break;
	case Intrinsic::prefetch: case Intrinsic::assume: case Intrinsic::lifetime_start:
	case Intrinsic::lifetime_end:
		i->eraseFromParent();
		break;
	default:
		break;
	}
}

static void lower_operation(Instruction *i)
{
	if (auto *copy = dyn_cast<MemIntrinsic>(i))
		lower_copy(copy);
	else if (auto *intrinsic = dyn_cast<IntrinsicInst>(i))
		lower_intrinsic(intrinsic);
	else if (auto *rmw = dyn_cast<AtomicRMWInst>(i))
		has_instruction(rmw) ? (void)0 : lower_rmw(rmw);
	else if (isa<FenceInst>(i) || (isa<LoadInst>(i) && i->isAtomic()) ||
		 (isa<StoreInst>(i) && i->isAtomic()))
		lower_atomic_access(i);
	else if (auto *end = dyn_cast<UnreachableInst>(i))
		lower_unreachable(end);
	else if (auto *call = dyn_cast<CallInst>(i); call && callee_of(*call) &&
		 callee_of(*call)->getName() == SYSCALL)
		lower_syscall(call);
}

static std::vector<Instruction *> all_instructions(Module &m)
{
	std::vector<Instruction *> all;

	for (Function &f : m)
		for (Instruction &i : instructions(f))
			all.push_back(&i);
	return all;
}

void lower_operations(Module &compound)
{
	for (Instruction *i : all_instructions(compound))
		lower_operation(i);
}

/*
 * BPF's code generator takes what may not be aligned byte by byte.  Processors that the
 * engine makes code for do not mind; said after optimisation, so that nothing follows
 * from it but that.
 */
void allow_unaligned(Module &compound)
{
	const DataLayout &layout = compound.getDataLayout();
	auto natural = [&](Type *type, Align known) {
		return std::max(known, layout.getABITypeAlign(type));
	};

	for (Instruction *i : all_instructions(compound)) {
		if (auto *load = dyn_cast<LoadInst>(i)) {
			load->setAlignment(natural(load->getType(), load->getAlign()));
		} else if (auto *store = dyn_cast<StoreInst>(i)) {
			Type *type = store->getValueOperand()->getType();
			store->setAlignment(natural(type, store->getAlign()));
		} else if (auto *memory = dyn_cast<MemIntrinsic>(i)) {
			memory->setDestAlignment(std::max(memory->getDestAlign().valueOrOne(), Align(8)));
			if (auto *copy = dyn_cast<MemTransferInst>(i))
				copy->setSourceAlignment(
					std::max(copy->getSourceAlign().valueOrOne(), Align(8)));
		}
	}
}

void lower_types(Module &compound)
{
	std::vector<Function *> functions;

	for (Instruction *i : all_instructions(compound))
		if (auto *call = dyn_cast<CallInst>(i)) {
			copy_byval(call);
			fix_variadic(call);
		}
	for (Instruction *i : all_instructions(compound)) {
		auto *call = dyn_cast<CallInst>(i);

		if (call && !call->isInlineAsm() &&
		    !(callee_of(*call) && callee_of(*call)->isDeclaration()) &&
		    Convention(call->getFunctionType()).changes())
			change_call(call);
	}
	for (Function &f : compound)
		if (!f.isDeclaration())
			functions.push_back(&f);
	for (Function *f : functions)
		if (Convention(f->getFunctionType()).changes())
			change_function(*f);
	for (Function &f : compound)
		for (Argument &arg : f.args())
			f.removeParamAttrs(arg.getArgNo(),
					   AttributeMask()
						.addAttribute(Attribute::ByVal)
						.addAttribute(Attribute::StructRet));
}

} // namespace cosy
