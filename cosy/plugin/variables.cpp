// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Variables that several files use.  No file knows what segments the others have, so
 * that the mark is on the declaration.  For a variable x with it there are, instead,
 *
 *   x.cosy      a pointer to it, by which all files go
 *   x.initial   where it is defined: what it begins with; cosy_variable() moves it
 *               into the shared buffer before main()
 *
 * and no x: a file that was compiled without the mark does not link.
 */
#include "cosy.hpp"

using namespace llvm;

namespace cosy {

bool is_home(const GlobalVariable &var)
{
	return var.getSection() == VARIABLE;
}

bool move_variable(GlobalVariable *var, GlobalVariable *pointer)
{
	convertUsersOfConstantsToInstructions({var});
	bool fine = all_of(var->users(), [](User *user) { return isa<Instruction>(user); });
	if (!fine)
		error(*var, var->getName().str() +
		      " is shared with a segment, and its address is in the initial value of another variable");
	for (Use &use : make_early_inc_range(var->uses())) {
		auto *i = dyn_cast<Instruction>(use.getUser());

		if (!i)
			continue;
		Instruction *before = i;
		if (auto *phi = dyn_cast<PHINode>(i))
			before = phi->getIncomingBlock(use)->getTerminator();
		IRBuilder<> b(before);
		use.set(b.CreateLoad(var->getType(), pointer));
	}
	return fine;
}

static bool has_address(const Constant *c)
{
	return isa<GlobalValue>(c) || isa<BlockAddress>(c) ||
	       any_of(c->operands(), [](const Use &use) {
		       return has_address(cast<Constant>(use.get()));
	       });
}

static std::string wrong_variable(const GlobalVariable &var)
{
	if (var.isThreadLocal())
		return "is of one thread, and cannot be shared with segments";
	if (!var.hasExternalLinkage())
		return "may be defined more than once, and cannot be shared with segments";
	if (var.hasInitializer() && has_address(var.getInitializer()))
		return "begins with an address, where segments may not reach: set it when the program runs";
	return "";
}

/* cosy_variable(&pointer, size, alignment, name) before main(). */
static void add_move(Module &m, GlobalVariable *pointer, GlobalVariable *var,
		     IRBuilder<> &b)
{
	const DataLayout &layout = m.getDataLayout();
	Type *p = b.getPtrTy(), *i64 = b.getInt64Ty();

	b.CreateCall(m.getOrInsertFunction("cosy_variable", b.getVoidTy(), p, i64, i64, p),
		     {pointer, b.getInt64(layout.getTypeAllocSize(var->getValueType())),
		      b.getInt64(layout.getPreferredAlign(var).value()),
		      b.CreateGlobalString(var->getName())});
}

/* Returns the pointer, or nullptr. */
static GlobalVariable *make_home(Module &m, GlobalVariable *var)
{
	auto *p = PointerType::getUnqual(m.getContext());
	auto *pointer = new GlobalVariable(m, p, false, GlobalValue::ExternalLinkage, nullptr,
					   var->getName() + ".cosy");

	pointer->setVisibility(var->getVisibility());
	pointer->setDSOLocal(var->isDSOLocal());
	pointer->setSection(VARIABLE);
	var->setSection("");
	return move_variable(var, pointer) ? pointer : nullptr;
}

static bool place_variable(Module &m, GlobalVariable *var, IRBuilder<> &b)
{
	std::string wrong = wrong_variable(*var);

	if (!wrong.empty()) {
		error(*var, var->getName().str() + " " + wrong);
		return false;
	}
	GlobalVariable *pointer = make_home(m, var);
	if (!pointer)
		return false;
	if (var->isDeclaration()) {
		var->eraseFromParent();
		return true;
	}
	add_move(m, pointer, var, b);
	var->setName(var->getName() + ".initial");
	var->setLinkage(GlobalValue::InternalLinkage);
	var->setVisibility(GlobalValue::DefaultVisibility);
	var->setConstant(false);
	pointer->setInitializer(var);
	return true;
}

bool place_variables(Module &m)
{
	SmallVector<GlobalVariable *, 16> marked;
	IRBuilder<> b(m.getContext());
	bool fine = true;

	for (GlobalVariable &var : m.globals()) {
		if (var.getSection() != VARIABLE)
			continue;
		if (var.hasLocalLinkage())
			var.setSection("");	/* needs no mark */
		else
			marked.push_back(&var);
	}
	if (marked.empty())
		return true;
	Function *f = Function::Create(FunctionType::get(b.getVoidTy(), false),
				       GlobalValue::InternalLinkage, "__cosy_variables_init", m);
	b.SetInsertPoint(BasicBlock::Create(m.getContext(), "", f));
	for (GlobalVariable *var : marked)
		fine &= place_variable(m, var, b);
	b.CreateRetVoid();
	appendToGlobalCtors(m, f, 101);
	return fine;
}

} // namespace cosy
