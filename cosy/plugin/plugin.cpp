// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * The pass: before clang optimises a file it takes the segments out, compiles them
 * for the confined engine and leaves calls of cosy_call() in their place.
 *
 * What is in the program afterwards, see host.h:
 *
 *   the segments   as functions, in case that the engine cannot be used
 *   the unit       struct cosy_unit: the image file, and which variables of the
 *                  program lie in its data
 */
#include "cosy.hpp"

#include "../../include/uapi/syscript_image.h"

#include <dlfcn.h>

#include <map>

using namespace llvm;

namespace cosy {

void error(const Function &f, const DebugLoc &where, const std::string &text)
{
	DiagnosticLocation location = where ? DiagnosticLocation(where) :
				      f.getSubprogram() ? DiagnosticLocation(f.getSubprogram()) :
				      DiagnosticLocation();

	f.getContext().diagnose(DiagnosticInfoUnsupported(f, text, location));
}

/* Instructions that use @v, also by way of constants: one of each line, 0 for none. */
static void find_uses(const Value &v, std::map<unsigned, const Instruction *> &uses)
{
	for (const User *user : v.users()) {
		auto *i = dyn_cast<Instruction>(user);

		if (i)
			uses.insert({i->getDebugLoc() ? i->getDebugLoc().getLine() : 0, i});
		else if (!isa<GlobalValue>(user))
			find_uses(*user, uses);
	}
}

void error(const GlobalVariable &var, const std::string &text, bool everywhere)
{
	std::map<unsigned, const Instruction *> uses;

	find_uses(var, uses);
	if (uses.size() > 1)
		uses.erase(0);
	for (const auto &[line, i] : uses) {
		error(*i->getFunction(), i->getDebugLoc(), text);
		if (!everywhere)
			return;
	}
	if (uses.empty())
		var.getContext().emitError(var.getParent()->getSourceFileName() + ": " + text);
}

/* -- The compound as a module ------------------------------------------------------- */

static std::string plugin_directory()
{
	Dl_info info;

	dladdr(reinterpret_cast<void *>(&plugin_directory), &info);
	return sys::path::parent_path(info.dli_fname).str();
}

/* Adds @f and the functions of this file that it calls, directly or not. */
static void add_callees(Function *f, SetVector<Function *> &functions)
{
	if (f->isDeclaration() || !functions.insert(f))
		return;
	SmallVector<const Value *, 16> todo;
	for (Instruction &i : instructions(*f))
		for (Use &use : i.operands())
			todo.push_back(use);
	SmallPtrSet<const Value *, 16> seen;
	while (!todo.empty()) {
		const Value *v = todo.pop_back_val();

		if (!isa<Constant>(v) || !seen.insert(v).second)
			continue;
		if (auto *callee = dyn_cast<Function>(v)) {
			add_callees(const_cast<Function *>(callee), functions);
		} else if (auto *user = dyn_cast<User>(v)) {
			auto *var = dyn_cast<GlobalVariable>(v);

			if (!var || var->hasDefinitiveInitializer())
				todo.append(user->value_op_begin(), user->value_op_end());
		}
	}
}

/* Static variables and constants come along; of others the linker decides. */
static bool is_taken(const GlobalValue *value, const SetVector<Function *> &functions)
{
	if (auto *f = dyn_cast<Function>(value))
		return functions.contains(const_cast<Function *>(f));
	auto *var = dyn_cast<GlobalVariable>(value);

	return var && var->hasDefinitiveInitializer() && !var->isThreadLocal() &&
	       (var->isConstant() || var->hasLocalLinkage());
}

static void forget_target(Function &f)
{
	static const StringRef strings[] = {
		"target-cpu", "target-features", "tune-cpu", "stack-protector-buffer-size",
		"frame-pointer", "probe-stack", "stack-probe-size",
	};

	for (StringRef name : strings)
		f.removeFnAttr(name);
	for (Attribute::AttrKind kind :
	     { Attribute::OptimizeNone, Attribute::StackProtect, Attribute::StackProtectReq,
	       Attribute::StackProtectStrong, Attribute::UWTable, Attribute::SanitizeAddress,
	       Attribute::NoReturn })
		f.removeFnAttr(kind);
	f.setCallingConv(CallingConv::C);
	f.setDLLStorageClass(GlobalValue::DefaultStorageClass);
	f.setComdat(nullptr);
}

/* A function without lines would lose those of what is made a part of it. */
static void give_lines(Function *f, const Function *like)
{
	const DISubprogram *program = like->getSubprogram();

	if (!program || f->getSubprogram())
		return;
	f->addFnAttr(ENTRY);
	DIBuilder builder(*f->getParent(), false, program->getUnit());
	auto *type = builder.createSubroutineType(builder.getOrCreateTypeArray({}));
	f->setSubprogram(builder.createFunction(program->getFile(), f->getName(), "",
						program->getFile(), program->getLine(), type,
						program->getLine(), DINode::FlagArtificial,
						DISubprogram::SPFlagDefinition));
	builder.finalize();
	for (Instruction &i : instructions(*f))
		if (isa<CallInst>(i))
			i.setDebugLoc(DILocation::get(f->getContext(), program->getLine(), 1,
						      f->getSubprogram()));
}

/* __cosy_main(which, frame) calls segment number which. */
static Function *make_main(Module &compound, ArrayRef<Function *> entries)
{
	IRBuilder<> b(compound.getContext());
	Type *i64 = b.getInt64Ty();
	auto *type = FunctionType::get(i64, {i64, b.getPtrTy()}, false);
	Function *f = Function::Create(type, GlobalValue::ExternalLinkage, MAIN, compound);
	auto *none = BasicBlock::Create(b.getContext(), "none", f);

	/* The image calls its first function. */
	compound.getFunctionList().remove(f);
	compound.getFunctionList().push_front(f);
	b.SetInsertPoint(none);
	b.CreateUnreachable();
	auto *entry = BasicBlock::Create(b.getContext(), "entry", f, none);
	b.SetInsertPoint(entry);
	SwitchInst *choice = b.CreateSwitch(f->getArg(0), none, entries.size());
	for (unsigned i = 0; i < entries.size(); i++) {
		auto *block = BasicBlock::Create(b.getContext(), "", f);

		b.SetInsertPoint(block);
		b.CreateRet(b.CreateCall(entries[i], {f->getArg(1)}));
		choice->addCase(b.getInt64(i), block);
	}
	return f;
}

/* memcmp() finds out what differs, and which is less; mostly nobody asks. */
static void prefer_bcmp(Module &compound)
{
	Function *f = compound.getFunction("memcmp");

	if (!f || !f->isDeclaration())
		return;
	FunctionCallee bcmp = compound.getOrInsertFunction("bcmp", f->getFunctionType());
	for (User *user : make_early_inc_range(f->users())) {
		auto *call = dyn_cast<CallInst>(user);

		if (call && call->getCalledOperand() == f &&
		    isOnlyUsedInZeroEqualityComparison(call))
			call->setCalledFunction(bcmp);
	}
}

static bool link_runtime(Module &compound, std::string &why)
{
	std::string path = plugin_directory() + "/cosy-runtime.bc";
	auto buffer = MemoryBuffer::getFile(path);

	if (!buffer) {
		why = path + ": " + buffer.getError().message();
		return false;
	}
	auto runtime = parseBitcodeFile(**buffer, compound.getContext());
	if (!runtime) {
		why = path + ": " + toString(runtime.takeError());
		return false;
	}
	Triple built((*runtime)->getTargetTriple()), wanted(compound.getTargetTriple());
	if (built.getArch() != wanted.getArch()) {
		why = path + " is for " + built.getArchName().str() + ", not for " +
		      wanted.getArchName().str() + ": use that machine's cosy-cc";
		return false;
	}
	(*runtime)->setDataLayout(compound.getDataLayout());
	(*runtime)->setTargetTriple(compound.getTargetTriple());
	for (Function &f : **runtime)
		forget_target(f);
	if (!learn_system_calls(**runtime) ||
	    Linker::linkModules(compound, std::move(*runtime), Linker::LinkOnlyNeeded)) {
		why = path + " does not fit";
		return false;
	}
	return true;
}

/* Adds the variables that @v, an operand or an initial value, refers to. */
static void add_globals(const Value *v, SetVector<const GlobalVariable *> &found,
			SmallPtrSetImpl<const Value *> &seen)
{
	if (!isa<Constant>(v) || isa<Function>(v) || !seen.insert(v).second)
		return;
	if (auto *var = dyn_cast<GlobalVariable>(v)) {
		found.insert(var);
		if (var->hasInitializer())
			add_globals(var->getInitializer(), found, seen);
		return;
	}
	for (const Use &use : cast<User>(v)->operands())
		add_globals(use.get(), found, seen);
}

static SetVector<const GlobalVariable *> globals_of(const Value *v)
{
	SetVector<const GlobalVariable *> found;
	SmallPtrSet<const Value *, 32> seen;

	add_globals(v, found, seen);
	return found;
}

/*
 * The variables that the compound uses, and variables with the address of one in
 * their initial value: they belong into the same memory.
 */
static StringSet<> find_used(Module &compound)
{
	SetVector<const GlobalVariable *> used;
	StringSet<> names;
	bool more = true;

	for (Function &f : compound)
		for (Instruction &i : instructions(f))
			for (Use &use : i.operands())
				for (const GlobalVariable *var : globals_of(use))
					used.insert(var);
	while (more) {
		more = false;
		for (GlobalVariable &var : compound.globals()) {
			if (used.contains(&var) || !var.hasInitializer())
				continue;
			auto named = globals_of(var.getInitializer());
			if (none_of(named, [&](const GlobalVariable *other) {
				    return used.contains(other) && !other->isConstant();
			    }))
				continue;
			used.insert(&var);
			used.insert(named.begin(), named.end());
			more = true;
		}
	}
	for (const GlobalVariable *var : used)
		names.insert(var->getName());
	return names;
}

/* Optimisation may replace copies by calls of these functions, so they stay if unused. */
static bool is_kept(const GlobalValue &value)
{
	StringRef name = value.getName();

	return name == MAIN || name == "memcpy" || name == "memmove" || name == "memset";
}

static void drop_unused(Module &m)
{
	StringSet<> used = find_used(m);
	ModuleAnalysisManager mam;
	PassBuilder builder;

	for (GlobalVariable &var : m.globals())
		if (used.contains(var.getName()) && var.hasLocalLinkage() && var.hasName())
			var.setLinkage(GlobalValue::ExternalLinkage);
	builder.registerModuleAnalyses(mam);
	internalizeModule(m, [&](const GlobalValue &value) {
		return is_kept(value) ||
		       (isa<GlobalVariable>(value) && used.contains(value.getName()));
	});
	GlobalDCEPass().run(m, mam);
}

static void declare_copies(Module &m)
{
	IRBuilder<> b(m.getContext());
	Type *p = b.getPtrTy(), *n = b.getInt64Ty();

	m.getOrInsertFunction("memcpy", p, p, p, n);
	m.getOrInsertFunction("memmove", p, p, p, n);
	m.getOrInsertFunction("memset", p, p, b.getInt32Ty(), n);
}

/* -- Code generation ------------------------------------------------------------------ */

/*
 * Short loops are unrolled, where -fno-unroll-loops does not forbid it: each jump back
 * pays fuel, and a pointer is masked once for all that is close to it.
 */
struct UnrollShortLoops : PassInfoMixin<UnrollShortLoops> {
	static constexpr unsigned ROOM = 48, MOST = 4;

	PreservedAnalyses run(Function &f, FunctionAnalysisManager &fam)
	{
		for (Loop *loop : fam.getResult<LoopAnalysis>(f).getLoopsInPreorder())
			if (loop->isInnermost() && !has_wish(loop) && !has_calls(loop))
				addStringMetadataToLoop(loop, "llvm.loop.unroll.count",
							times(loop));
		return PreservedAnalyses::all();
	}

private:
	static bool has_wish(const Loop *loop)
	{
		return hasUnrollTransformation(loop) != TM_Unspecified;
	}

	/* Which cost more than what is saved. */
	static bool has_calls(const Loop *loop)
	{
		return any_of(loop->blocks(), [](const BasicBlock *block) {
			return any_of(*block, [](const Instruction &insn) {
				return isa<CallBase>(insn) && !isa<IntrinsicInst>(insn);
			});
		});
	}

	static unsigned times(const Loop *loop)
	{
		unsigned size = 0;

		for (const BasicBlock *block : loop->blocks())
			size += block->sizeWithoutDebug();
		return std::max(1U, std::min(MOST, ROOM / std::max(size, 1U)));
	}
};

class Generator {
public:
	Generator();
	std::unique_ptr<TargetMachine> machine;
	void optimize(Module &m);
	SmallVector<char, 0> object(Module &m);
};

static void set_option(const char *name, const char *value)
{
	auto option = cl::getRegisteredOptions().find(name);

	if (option != cl::getRegisteredOptions().end())
		option->second->addOccurrence(0, name, value);
}

Generator::Generator()
{
	std::string why;

	LLVMInitializeBPFTargetInfo();
	LLVMInitializeBPFTarget();
	LLVMInitializeBPFTargetMC();
	LLVMInitializeBPFAsmPrinter();
	set_option("bpf-stack-size", "32768");
	/* LLVM 19's peephole removes shifts by 32 that the program needs; then clang crashes. */
	set_option("disable-bpf-peephole", "true");
	/* These keep code simple for the kernel's own verifier, at the cost of instructions. */
	set_option("bpf-disable-serialize-icmp", "true");
	set_option("bpf-disable-avoid-speculation", "true");
	TargetOptions options;
	options.EmitStackSizeSection = true;
	const Target *target = TargetRegistry::lookupTarget("bpfel", why);
	machine.reset(target->createTargetMachine("bpfel", "v4", "", options, Reloc::Static,
						  std::nullopt, CodeGenOptLevel::Default));
}

void Generator::optimize(Module &m)
{
	LoopAnalysisManager lam;
	FunctionAnalysisManager fam;
	CGSCCAnalysisManager cgam;
	ModuleAnalysisManager mam;
	PipelineTuningOptions tuning;

	tuning.LoopVectorization = false;
	tuning.SLPVectorization = false;
	PassBuilder builder(machine.get(), tuning);
	builder.registerVectorizerStartEPCallback(
		[](FunctionPassManager &passes, OptimizationLevel) {
			passes.addPass(UnrollShortLoops());
		});
	builder.registerModuleAnalyses(mam);
	builder.registerCGSCCAnalyses(cgam);
	builder.registerFunctionAnalyses(fam);
	builder.registerLoopAnalyses(lam);
	builder.crossRegisterProxies(lam, fam, cgam, mam);
	builder.buildPerModuleDefaultPipeline(OptimizationLevel::O2).run(m, mam);
}

SmallVector<char, 0> Generator::object(Module &m)
{
	SmallVector<char, 0> out;
	raw_svector_ostream stream(out);
	legacy::PassManager passes;

	machine->addPassesToEmitFile(passes, stream, nullptr, CodeGenFileType::ObjectFile);
	passes.run(m);
	return out;
}

/* Made values again what is not, so that check_subset() can follow it. */
static void make_values(Module &m)
{
	LoopAnalysisManager lam;
	FunctionAnalysisManager fam;
	CGSCCAnalysisManager cgam;
	ModuleAnalysisManager mam;
	PassBuilder builder;

	builder.registerModuleAnalyses(mam);
	builder.registerCGSCCAnalyses(cgam);
	builder.registerFunctionAnalyses(fam);
	builder.registerLoopAnalyses(lam);
	builder.crossRegisterProxies(lam, fam, cgam, mam);
	for (Function &f : m)
		if (!f.isDeclaration())
			SROAPass(SROAOptions::PreserveCFG).run(f, fam);
}

/* -- Variables that program and compound share ------------------------------------------- */

/* Constants that lead to what is shared are shared as well: so do they say the same. */
static bool leads_to_variables(const Constant *c, SmallPtrSetImpl<const Constant *> &seen)
{
	if (!seen.insert(c).second)
		return false;
	auto *var = dyn_cast<GlobalVariable>(c);
	if (var && !var->isConstant())
		return true;
	if (var)
		return var->hasInitializer() && leads_to_variables(var->getInitializer(), seen);
	return any_of(c->operands(), [&](const Use &use) {
		auto *operand = dyn_cast<Constant>(use.get());
		return operand && leads_to_variables(operand, seen);
	});
}

static bool is_shared_variable(const GlobalVariable &var)
{
	SmallPtrSet<const Constant *, 16> seen;

	return leads_to_variables(&var, seen);
}

/* The compound has a copy of the pointer, which place_image() of the library fills in. */
static void import_home(GlobalVariable &pointer)
{
	pointer.setInitializer(Constant::getNullValue(pointer.getValueType()));
	pointer.setExternallyInitialized(true);
	pointer.setSection("");
	for (User *user : pointer.users())
		if (auto *load = dyn_cast<LoadInst>(user))
			load->setMetadata(LLVMContext::MD_invariant_load,
					  MDNode::get(pointer.getContext(), {}));
}

static bool find_shared_variables(Module &host, Module &compound,
				  std::vector<SharedVariable> &shared)
{
	bool fine = true;

	for (GlobalVariable &var : compound.globals()) {
		GlobalVariable *original = host.getGlobalVariable(var.getName(), true);

		if (is_home(var)) {
			import_home(var);
			shared.push_back({original, var.getName().str(), 0, true});
		} else if (var.isDeclaration() && !var.isThreadLocal()) {
			error(var, "uses the variable " + var.getName().str() +
			      ", which other files can see as well: mark its declaration with COSY_VARIABLE, or take a copy before the segment", true);
			fine = false;
		} else if (original && is_shared_variable(var)) {
			shared.push_back({original, var.getName().str(), 0, false});
		}
	}
	return fine;
}

/* -- The unit --------------------------------------------------------------------------- */

static Constant *make_array(Module &m, ArrayRef<Constant *> values, Type *type,
			    const char *name)
{
	auto *array = ArrayType::get(type, values.size());

	return new GlobalVariable(m, array, true, GlobalValue::PrivateLinkage,
				  ConstantArray::get(array, values), name);
}

/* struct cosy_unit of host.h; its last part is the runtime's. */
static GlobalVariable *declare_unit(Module &m)
{
	LLVMContext &c = m.getContext();
	Type *p = PointerType::getUnqual(c), *i64 = Type::getInt64Ty(c);
	StructType *type = StructType::create(c, {p, i64, p, i64, p, i64, p, p, i64}, "struct.cosy_unit");

	return new GlobalVariable(m, type, false, GlobalValue::InternalLinkage,
				  ConstantAggregateZero::get(type), "__cosy_unit");
}

/* Moves @var to the data.  Returns the pointer that leads to it, or nullptr. */
static GlobalVariable *share_variable(Module &m, const SharedVariable &var)
{
	auto *p = PointerType::getUnqual(m.getContext());
	auto *pointer = new GlobalVariable(m, p, false, GlobalValue::InternalLinkage,
					   ConstantPointerNull::get(p), var.name + ".cosy");

	return move_variable(var.host, pointer) ? pointer : nullptr;
}

static bool define_unit(Module &m, GlobalVariable *unit, ArrayRef<char> file,
			ArrayRef<SharedVariable> shared)
{
	LLVMContext &c = m.getContext();
	Type *p = PointerType::getUnqual(c), *i64 = Type::getInt64Ty(c);
	StructType *variable = StructType::get(c, {p, i64});
	SmallVector<Constant *, 8> variables, imports;
	auto *bytes = ConstantDataArray::get(c, ArrayRef((const uint8_t *)file.data(), file.size()));
	auto *image = new GlobalVariable(m, bytes->getType(), true, GlobalValue::PrivateLinkage,
					 bytes, "__cosy_image");

	image->setAlignment(Align(16));
	/* Where objcopy(1) finds it, for who loads it alone. */
	image->setSection("cosy.image");
	/* The image has their initial values. */
	for (const SharedVariable &var : shared)
		if (!var.imported)
			var.host->setInitializer(Constant::getNullValue(var.host->getValueType()));
	for (const SharedVariable &var : shared) {
		GlobalVariable *pointer = var.imported ? var.host : share_variable(m, var);

		if (!pointer)
			return false;
		(var.imported ? imports : variables).push_back(ConstantStruct::get(
			variable, {pointer, ConstantInt::get(i64, var.offset)}));
	}
	auto *null = ConstantPointerNull::get(cast<PointerType>(p));
	auto *name = ConstantDataArray::getString(c, m.getSourceFileName());
	auto *text = new GlobalVariable(m, name->getType(), true, GlobalValue::PrivateLinkage,
					name, "__cosy_name");
	unit->setInitializer(ConstantStruct::get(
		cast<StructType>(unit->getValueType()),
		{image, ConstantInt::get(i64, file.size()),
		 make_array(m, variables, variable, "__cosy_variables"),
		 ConstantInt::get(i64, variables.size()),
		 make_array(m, imports, variable, "__cosy_imports"),
		 ConstantInt::get(i64, imports.size()), text, null,
		 ConstantInt::get(i64, 0)}));
	return true;
}

/* cosy_unit(&unit) before main() and before other constructors. */
static void add_constructor(Module &m, GlobalVariable *unit)
{
	IRBuilder<> b(m.getContext());
	Function *f = Function::Create(FunctionType::get(b.getVoidTy(), false),
				       GlobalValue::InternalLinkage, "__cosy_init", m);

	b.SetInsertPoint(BasicBlock::Create(m.getContext(), "", f));
	b.CreateCall(m.getOrInsertFunction("cosy_unit", b.getVoidTy(), b.getPtrTy()), {unit});
	b.CreateRetVoid();
	appendToGlobalCtors(m, f, 101);
}

/*
 * cosy_call(&unit, which, frame, entry) for entry(frame); or cosy_run(), where nobody asks
 * by which way control left.
 */
static void replace_call(Module &m, GlobalVariable *unit, unsigned which,
			 const Segment &segment)
{
	IRBuilder<> b(segment.call);
	bool quiet = segment.call->use_empty();
	FunctionCallee callee = m.getOrInsertFunction(
		quiet ? "cosy_run" : "cosy_call", quiet ? b.getVoidTy() : b.getInt64Ty(),
		b.getPtrTy(), b.getInt64Ty(), b.getPtrTy(), b.getPtrTy());
	CallInst *changed = b.CreateCall(callee, {unit, b.getInt64(which),
						  segment.call->getArgOperand(0),
						  segment.entry});

	changed->setDebugLoc(segment.call->getDebugLoc());
	if (!quiet)
		segment.call->replaceAllUsesWith(changed);
	segment.call->eraseFromParent();
}

/* -- The pass ------------------------------------------------------------------------------ */

class Pass : public PassInfoMixin<Pass> {
public:
	PreservedAnalyses run(Module &m, ModuleAnalysisManager &mam);
	static bool isRequired() { return true; }

private:
	std::unique_ptr<Module> make_compound(Module &m, ArrayRef<Segment> segments);
	bool compile(Module &m, ArrayRef<Segment> segments, bool fine);
};

std::unique_ptr<Module> Pass::make_compound(Module &m, ArrayRef<Segment> segments)
{
	SetVector<Function *> functions;
	SmallVector<Function *, 8> entries;
	ValueToValueMapTy map;

	for (const Segment &segment : segments)
		add_callees(segment.entry, functions);
	auto compound = CloneModule(m, map, [&](const GlobalValue *value) {
		return is_taken(value, functions);
	});
	if (auto *ctors = compound->getGlobalVariable("llvm.global_ctors"))
		ctors->eraseFromParent();
	for (const char *name : {"llvm.used", "llvm.compiler.used", "llvm.global.annotations"})
		if (auto *used = compound->getGlobalVariable(name))
			used->eraseFromParent();
	for (const Segment &segment : segments) {
		entries.push_back(cast<Function>(map[segment.entry]));
		/* If the segment's body is a function of the program, other callers use the original. */
		entries.back()->removeFnAttr(Attribute::NoInline);
		cast<Function>(map[segment.body])->removeFnAttr(Attribute::NoInline);
	}
	for (Function &f : *compound) {
		forget_target(f);
		for (Instruction &i : make_early_inc_range(instructions(f)))
			if (auto *call = dyn_cast<CallInst>(&i)) {
				Function *callee = call->getCalledFunction();
				StringRef name = callee ? callee->getName() : "";

				if (name == START || name == END)
					call->eraseFromParent();
			}
	}
	Function *main = make_main(*compound, entries);
	for (unsigned i = 0; i < segments.size(); i++)
		give_lines(entries[i], cast<Function>(map[segments[i].body]));
	give_lines(main, entries[0]);
	return compound;
}

/* cosy_shared(p) is p. */
static void drop_shared_marks(Module &m)
{
	Function *f = m.getFunction(SHARED);

	if (!f)
		return;
	for (User *user : make_early_inc_range(f->users()))
		if (auto *call = dyn_cast<CallInst>(user)) {
			call->replaceAllUsesWith(call->getArgOperand(0));
			call->eraseFromParent();
		}
}

/* The machine that the program is compiled for, whose system calls the compound makes. */
static uint16_t machine_of(const Module &m)
{
	return Triple(m.getTargetTriple()).getArch() == Triple::aarch64 ? IMAGE_MACHINE_ARM64 :
									  IMAGE_MACHINE_X86_64;
}

bool Pass::compile(Module &m, ArrayRef<Segment> segments, bool fine)
{
	std::unique_ptr<Module> compound = make_compound(m, segments);
	DenseMap<Function *, std::vector<Foreign>> foreign;
	std::vector<SharedVariable> shared;
	Generator generator;
	std::string why;

	declare_copies(*compound);
	prefer_bcmp(*compound);
	if (!link_runtime(*compound, why)) {
		m.getContext().emitError("cosy: " + why);
		return false;
	}
	drop_unused(*compound);
	make_values(*compound);
	for (const Segment &segment : segments)
		foreign[compound->getFunction(segment.body->getName())] = segment.foreign;
	fine &= check_subset(*compound, foreign);
	fine &= find_shared_variables(m, *compound, shared);
	if (!fine)
		return false;

	drop_shared_marks(*compound);
	compound->setTargetTriple("bpfel");
	compound->setDataLayout(generator.machine->createDataLayout());
	stripNonLineTableDebugInfo(*compound);
	lower_types(*compound);
	lower_operations(*compound);
	/* Shared variables are found by their symbols. */
	for (const SharedVariable &var : shared)
		compound->getGlobalVariable(var.name, true)->setLinkage(GlobalValue::ExternalLinkage);
	generator.optimize(*compound);
	lower_operations(*compound);
	allow_unaligned(*compound);
	SmallVector<char, 0> object = generator.object(*compound);
	std::vector<char> file = make_image(StringRef(object.data(), object.size()),
					    machine_of(m), shared, why);
	if (file.empty()) {
		m.getContext().emitError("cosy: " + why);
		return false;
	}

	GlobalVariable *unit = declare_unit(m);
	for (unsigned i = 0; i < segments.size(); i++)
		replace_call(m, unit, i, segments[i]);
	if (!define_unit(m, unit, file, shared))
		return false;
	add_constructor(m, unit);
	return true;
}

PreservedAnalyses Pass::run(Module &m, ModuleAnalysisManager &mam)
{
	auto &fam = mam.getResult<FunctionAnalysisManagerModuleProxy>(m).getManager();
	std::vector<Segment> segments;
	std::vector<Function *> functions;
	bool fine = place_variables(m);

	mark_functions(m);
	if (Function *start = m.getFunction(START))
		for (User *user : start->users())
			if (auto *call = dyn_cast<CallInst>(user))
				if (!is_contained(functions, call->getFunction()))
					functions.push_back(call->getFunction());
	for (Function *f : functions)
		fine &= take_segments(*f, fam, segments);
	/* All errors of the file are reported in one compilation. */
	if (!segments.empty())
		compile(m, segments, fine);
	drop_shared_marks(m);
	return PreservedAnalyses::none();
}

} // namespace cosy

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT PassPluginLibraryInfo llvmGetPassPluginInfo()
{
	return {LLVM_PLUGIN_API_VERSION, "cosy", "1", [](PassBuilder &builder) {
		builder.registerPipelineStartEPCallback(
			[](ModulePassManager &passes, OptimizationLevel) {
				passes.addPass(cosy::Pass());
			});
	}};
}
