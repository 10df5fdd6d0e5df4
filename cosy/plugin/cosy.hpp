/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/*
 * cosy-cc's plugin for clang, in the order in which a file passes through it:
 *
 *   variables.cpp  lets all files reach by a pointer what COSY_VARIABLE marks
 *   segment.cpp    finds what is marked and makes a function of each segment
 *   subset.cpp     refuses what compounds cannot do, with file and line
 *   lower.cpp      turns what BPF's code generator does not know into what it does
 *   image.cpp      makes an image of its output
 *   plugin.cpp     calls these, and puts the image into the program
 */
#ifndef COSY_PLUGIN_HPP
#define COSY_PLUGIN_HPP

#include "llvm.hpp"

#include <string>
#include <vector>

namespace cosy {

/* What the marks in cosy.h are calls of. */
constexpr const char *START = "__cosy_start";
constexpr const char *END = "__cosy_end";
constexpr const char *SHARED = "cosy_shared";
/* A function of the runtime's: system call (number, six arguments). */
constexpr const char *SYSCALL = "__cosy_syscall";
/* A table of the runtime's: number, arguments and text for wrong_number() of each call. */
constexpr const char *CALLS = "__cosy_calls";
/* Where a compound begins. */
constexpr const char *MAIN = "__cosy_main";
/* The attribute of functions that no source has: they hand arguments on to segments. */
constexpr const char *ENTRY = "cosy-entry";

/* Tells the user, at @where (may be none) or else at @f. */
void error(const llvm::Function &f, const llvm::DebugLoc &where, const std::string &text);

/* The same where @var is used: once, or on each line that uses it. */
void error(const llvm::GlobalVariable &var, const std::string &text, bool everywhere = false);

/* What @call calls, also where the types differ; nullptr if that is not known. */
inline llvm::Function *callee_of(const llvm::CallBase &call)
{
	return llvm::dyn_cast<llvm::Function>(call.getCalledOperand()->stripPointerCasts());
}

/* A pointer that a segment gets from outside and that may lead anywhere. */
struct Foreign {
	unsigned argument;	/* of the body */
	std::string name;	/* in the source, or "" */
};

struct Segment {
	llvm::Function *body;	/* what was marked, with what it uses as arguments */
	llvm::Function *entry;	/* calls the body: long entry(void *frame) */
	llvm::CallInst *call;	/* of that, the only one, where the segment was */
	std::vector<Foreign> foreign;
};

/*
 * Memory of a function that segments share with it: allocated on a stack in the
 * shared buffer when the function begins, freed when it returns.
 */
class HostFrame {
public:
	explicit HostFrame(llvm::Function &f) : function(f) {}
	/* Replaces @alloca.  Its size has to be known. */
	void take(llvm::AllocaInst *alloca);
	/* When nothing more is to come. */
	void finish();

private:
	llvm::Function &function;
	llvm::CallInst *push = nullptr;
	uint64_t size = 0;
};

/* COSY_VARIABLE of cosy.h. */
constexpr const char *VARIABLE = "cosy.variables";

/*
 * Makes all that uses a variable with this mark go by way of a pointer to it, in this
 * file and in others.  Returns whether all was well.
 */
bool place_variables(llvm::Module &m);

/* Is @var such a pointer? */
bool is_home(const llvm::GlobalVariable &var);

/* All that uses @var goes by way of @pointer, where it is when the program runs. */
bool move_variable(llvm::GlobalVariable *var, llvm::GlobalVariable *pointer);

/* Puts marks around what COSY_FUNCTION marks. */
void mark_functions(llvm::Module &m);

/* Makes functions of the segments of @f.  Returns whether all was well. */
bool take_segments(llvm::Function &f, llvm::FunctionAnalysisManager &fam,
		   std::vector<Segment> &segments);

/* Is @v a value that leads into the shared buffer, or nowhere? */
bool is_shared(const llvm::Value *v);

/* Does @call end the process, or leave the function without a return? */
bool ends_program(const llvm::CallBase &call);

/* What to say of such a call in a segment, and of a call of system call @nr, or "". */
std::string wrong_end(const llvm::CallBase &call);
std::string wrong_number(uint64_t nr);

/* How many arguments system call @nr takes. */
unsigned system_call_args(uint64_t nr);

/* Reads the table of the runtime, which is compiled for the program's machine. */
bool learn_system_calls(const llvm::Module &runtime);

/*
 * Refuses what is in @compound, which has all that it calls, and cannot be there.
 * @foreign: which arguments of which function lead anywhere.
 */
bool check_subset(llvm::Module &compound,
		  const llvm::DenseMap<llvm::Function *, std::vector<Foreign>> &foreign);

/* Before optimisation, and after: see lower.cpp. */
void lower_types(llvm::Module &compound);
void lower_operations(llvm::Module &compound);
void allow_unaligned(llvm::Module &compound);

/*
 * Global variables that program and compound share, and where they are in the data;
 * or, imported, where in it the pointer to one lies that has its home elsewhere.
 */
struct SharedVariable {
	llvm::GlobalVariable *host;
	std::string name;	/* in the compound */
	uint64_t offset;
	bool imported;
};

/*
 * An image file (file.h), for the @machine of image_header, from what the code generator made.
 * Empty, with the reason in @why, if it cannot be.
 */
std::vector<char> make_image(llvm::StringRef object, uint16_t machine,
			     std::vector<SharedVariable> &shared, std::string &why);

} // namespace cosy

#endif
