// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * From an ELF object for BPF to an image file.
 */
#include "cosy.hpp"

#include "../../include/uapi/syscript_image.h"
#include "../file.h"


#include <algorithm>
#include <map>
#include <set>

using namespace llvm;
using namespace llvm::object;

namespace cosy {

/* Types of relocations of BPF objects. */
enum { R_64_64 = 1, R_64_ABS64 = 2, R_64_32 = 10 };

class ImageMaker {
public:
	ImageMaker(const ELF64LEObjectFile &object, uint16_t machine,
		   std::vector<SharedVariable> &shared)
		: elf(object), machine(machine), shared(shared) {}
	std::vector<char> make();
	std::string why;

private:
	struct Function {
		uint64_t start;		/* instruction */
		uint32_t frame;
		std::string name;
		std::set<uint32_t> calls;
	};

	bool place_sections();
	bool find_functions();
	bool find_frames();
	bool relocate(const SectionRef &target, const RelocationRef &reloc);
	bool relocate_code(const RelocationRef &reloc, uint64_t at);
	bool relocate_data(const RelocationRef &reloc, uint64_t at);
	bool relocate_all();
	void find_calls();
	void find_depth();
	void find_lines();
	void find_shared();
	uint32_t function_at(uint64_t insn) const;
	uint32_t number_of(uint32_t function);
	bool address_of(const RelocationRef &reloc, uint64_t addend, uint64_t &address,
			bool &is_function);
	uint32_t string(const std::string &text);
	std::vector<char> pack();
	bool fail(const std::string &text);

	const ELF64LEObjectFile &elf;
	uint16_t machine;
	std::vector<SharedVariable> &shared;
	std::vector<image_insn> insns;
	std::vector<Function> functions;
	std::vector<uint32_t> table{0};
	std::vector<char> data;
	uint64_t memory = 0, align = 16;
	uint64_t text = ~0ULL;			/* its section's index */
	std::map<uint64_t, uint64_t> places;	/* of sections in the data, by index */
	std::vector<uint32_t> code_relocs, data_relocs;
	std::vector<cosy_line> lines;
	std::string strings{'\0'};
	std::map<std::string, uint32_t> known_strings;
	uint32_t stack = 0, native = 0, native_call = 40;
};

bool ImageMaker::fail(const std::string &text)
{
	why = text;
	return false;
}

uint32_t ImageMaker::string(const std::string &text)
{
	auto [it, fresh] = known_strings.insert({text, (uint32_t)strings.size()});

	if (fresh)
		strings += text + '\0';
	return it->second;
}

/* -- Sections and functions --------------------------------------------------------- */

/*
 * Variables whose offsets are to be short, then others with contents, so that the rest
 * need not be in the file.
 */
enum Turn { HOT, CONTENTS, ZEROS };

static Turn turn_of(const ELFSectionRef &section)
{
	if (section.isBSS())
		return ZEROS;
	return cantFail(section.getName()) == ".data.hot" ? HOT : CONTENTS;
}

/* Tables for unwinding would take memory in each arena, and no image is unwound. */
static bool is_placed(const ELFSectionRef &section)
{
	return section.getFlags() & ELF::SHF_ALLOC && section.getSize() &&
	       cantFail(section.getName()) != ".eh_frame";
}

bool ImageMaker::place_sections()
{
	for (unsigned turn : { HOT, CONTENTS, ZEROS })
		for (const ELFSectionRef section : elf.sections()) {
			if (!is_placed(section) || turn_of(section) != turn)
				continue;
			if (section.isText()) {
				if (text != ~0ULL)
					return fail("the code is in two sections");
				StringRef contents = cantFail(section.getContents());
				text = section.getIndex();
				insns.resize(contents.size() / sizeof(image_insn));
				memcpy(insns.data(), contents.data(), contents.size());
				continue;
			}
			memory = alignTo(memory, section.getAlignment().value());
			align = std::max(align, (uint64_t)section.getAlignment().value());
			places[section.getIndex()] = memory;
			memory += section.getSize();
			if (turn == ZEROS)
				continue;
			StringRef contents = cantFail(section.getContents());
			data.resize(memory);
			std::copy(contents.begin(), contents.end(), data.end() - contents.size());
		}
	return text != ~0ULL || fail("there is no code");
}

bool ImageMaker::find_functions()
{
	for (const ELFSymbolRef symbol : elf.symbols()) {
		if (symbol.getELFType() != ELF::STT_FUNC)
			continue;
		functions.push_back({cantFail(symbol.getValue()) / sizeof(image_insn), 0,
				     cantFail(symbol.getName()).str(), {}});
	}
	std::sort(functions.begin(), functions.end(),
		  [](const Function &a, const Function &b) { return a.start < b.start; });
	/* It is defined first in its module. */
	return (!functions.empty() && functions[0].name == MAIN) ||
	       fail("the code does not begin with " + std::string(MAIN));
}

/* Sizes of frames: addresses of functions, each followed by a number. */
bool ImageMaker::find_frames()
{
	for (const SectionRef &section : elf.sections()) {
		if (cantFail(section.getName()) != ".stack_sizes")
			continue;
		std::map<uint64_t, uint64_t> starts;
		for (const SectionRef &relocs : elf.sections())
			if (relocs.getRelocatedSection() &&
			    **relocs.getRelocatedSection() == section)
				for (const RelocationRef &reloc : relocs.relocations())
					starts[reloc.getOffset()] =
						cantFail(reloc.getSymbol()->getValue());
		DataExtractor extract(cantFail(section.getContents()), true, 8);
		uint64_t at = 0;
		while (extract.isValidOffset(at)) {
			uint64_t here = at, start = extract.getU64(&at) + starts[here];
			uint64_t size = extract.getULEB128(&at);

			functions[function_at(start / sizeof(image_insn))].frame = alignTo(size, 8);
		}
	}
	return true;
}

uint32_t ImageMaker::function_at(uint64_t number) const
{
	auto after = std::upper_bound(
		functions.begin(), functions.end(), number,
		[](uint64_t n, const Function &f) { return n < f.start; });

	return after - functions.begin() - 1;
}

/* -- Relocations ----------------------------------------------------------------------- */

uint32_t ImageMaker::number_of(uint32_t function)
{
	auto it = std::find(table.begin() + 1, table.end(), function);

	if (it == table.end())
		it = table.insert(it, function);
	return it - table.begin();
}

bool ImageMaker::address_of(const RelocationRef &reloc, uint64_t addend, uint64_t &address,
			    bool &is_function)
{
	ELFSymbolRef symbol(*reloc.getSymbol());
	auto section = cantFail(symbol.getSection());

	if (section == elf.section_end())
		return fail(cantFail(symbol.getName()).str() + " is defined nowhere");
	uint64_t value = cantFail(symbol.getValue()) + addend;
	uint64_t index = ELFSectionRef(*section).getIndex();
	is_function = index == text;
	address = is_function ? value / sizeof(image_insn) : places[index] + value;
	return true;
}

bool ImageMaker::relocate_code(const RelocationRef &reloc, uint64_t at)
{
	image_insn *i = &insns[at / sizeof(image_insn)];
	bool is_function;
	uint64_t address;

	if (reloc.getType() == R_64_32) {
		ELFSymbolRef symbol(*reloc.getSymbol());
		/* The addend is the offset, as the code generator has it. */
		uint64_t target = cantFail(symbol.getValue()) / sizeof(image_insn);
		if (symbol.getELFType() != ELF::STT_FUNC)
			target += i->imm + 1;
		i->imm = target - at / sizeof(image_insn) - 1;
		return true;
	}
	if (!address_of(reloc, i[0].imm | (uint64_t)i[1].imm << 32, address, is_function))
		return false;
	if (is_function) {
		i->imm = number_of(function_at(address));
		return true;
	}
	i->src = INSN_ARENA;
	i->imm = address;
	code_relocs.push_back(at / sizeof(image_insn));
	return true;
}

bool ImageMaker::relocate_data(const RelocationRef &reloc, uint64_t at)
{
	uint64_t address, addend;
	bool is_function;

	if (reloc.getType() != R_64_ABS64)
		return fail("a relocation of type " + std::to_string(reloc.getType()));
	memcpy(&addend, &data[at], sizeof(addend));
	if (!address_of(reloc, addend, address, is_function))
		return false;
	if (is_function) {
		address = number_of(function_at(address));
		for (const SharedVariable &variable : shared)
			if (at >= variable.offset && variable.host &&
			    at < variable.offset + variable.host->getDataLayout().getTypeAllocSize(
							   variable.host->getValueType()))
				return fail(variable.name +
					    " holds a function, and is shared with the program: make it const");
	} else {
		data_relocs.push_back(at);
	}
	memcpy(&data[at], &address, sizeof(address));
	return true;
}

bool ImageMaker::relocate_all()
{
	for (const SectionRef &section : elf.sections()) {
		auto relocated = cantFail(section.getRelocatedSection());

		if (relocated == elf.section_end())
			continue;
		uint64_t index = ELFSectionRef(*relocated).getIndex();
		bool is_text = index == text;
		if (!is_text && !places.count(index))
			continue;
		for (const RelocationRef &reloc : section.relocations()) {
			uint64_t at = reloc.getOffset();

			if (is_text ? !relocate_code(reloc, at) :
				      !relocate_data(reloc, places[index] + at))
				return false;
		}
	}
	std::sort(code_relocs.begin(), code_relocs.end());
	std::sort(data_relocs.begin(), data_relocs.end());
	return true;
}

/* -- What is worth knowing ---------------------------------------------------------------- */

void ImageMaker::find_calls()
{
	for (uint32_t at = 0; at < insns.size(); at++) {
		const image_insn &i = insns[at];
		Function &from = functions[function_at(at)];

		if (i.code == (INSN_LD | INSN_DW | INSN_IMM)) {
			at++;
			continue;
		}
		if (i.code == (INSN_JMP | INSN_CALL) && i.src == INSN_LOCAL)
			from.calls.insert(function_at(at + 1 + i.imm));
		bool tries = i.code == (INSN_JMP | INSN_CALL) && !i.src &&
			     i.imm == IMAGE_CALL_TRY;
		if (tries || i.code == (INSN_JMP | INSN_CALL | INSN_X))
			from.calls.insert(table.begin() + 1, table.end());
		if (tries)
			native_call = 96;
	}
}

/* How deep calls can get; leaves 0 where they may come round in a circle. */
void ImageMaker::find_depth()
{
	constexpr uint32_t UNKNOWN = ~0U, UNDER_WAY = ~0U - 1;
	std::vector<uint32_t> stacks(functions.size(), UNKNOWN), depths(functions.size());
	std::vector<uint32_t> todo{0};

	while (!todo.empty()) {
		uint32_t f = todo.back(), below = 0, depth = 0;
		bool ready = true;

		stacks[f] = UNDER_WAY;
		for (uint32_t callee : functions[f].calls) {
			if (stacks[callee] == UNDER_WAY)
				return;
			if (stacks[callee] == UNKNOWN) {
				todo.push_back(callee);
				ready = false;
				break;
			}
			below = std::max(below, stacks[callee]);
			depth = std::max(depth, depths[callee]);
		}
		if (!ready)
			continue;
		stacks[f] = functions[f].frame + below;
		depths[f] = depth + 1;
		todo.pop_back();
	}
	stack = std::max<uint32_t>(alignTo(stacks[0], 16), 16);
	native = native_call * (depths[0] + 1);
}

void ImageMaker::find_lines()
{
	std::unique_ptr<DWARFContext> dwarf = DWARFContext::create(elf);

	for (const auto &unit : dwarf->compile_units()) {
		const DWARFDebugLine::LineTable *table = dwarf->getLineTableForUnit(unit.get());

		if (!table)
			continue;
		for (const auto &row : table->Rows) {
			std::string name;

			if (row.EndSequence || !row.Line)
				continue;
			table->getFileNameByIndex(row.File, unit->getCompilationDir(),
						  DILineInfoSpecifier::FileLineInfoKind::RelativeFilePath,
						  name);
			lines.push_back({(uint32_t)(row.Address.Address / sizeof(image_insn)),
					 string(name), row.Line});
		}
	}
	/* There is one text section, and its lines are in order. */
}

void ImageMaker::find_shared()
{
	for (const ELFSymbolRef symbol : elf.symbols()) {
		auto section = cantFail(symbol.getSection());

		if (section == elf.section_end())
			continue;
		auto place = places.find(ELFSectionRef(*section).getIndex());
		if (place == places.end())
			continue;
		StringRef name = cantFail(symbol.getName());
		for (SharedVariable &variable : shared)
			if (variable.name == name)
				variable.offset = place->second + cantFail(symbol.getValue());
	}
}

/* -- The file -------------------------------------------------------------------------------- */

template <typename T> static void append(std::vector<char> &to, const T *from, size_t n)
{
	const char *bytes = reinterpret_cast<const char *>(from);

	to.insert(to.end(), bytes, bytes + n * sizeof(T));
}

template <typename T>
static cosy_part append_part(std::vector<char> &to, const T *from, size_t n)
{
	to.resize(alignTo(to.size(), 8));
	cosy_part part = { (uint32_t)to.size(), (uint32_t)n };
	append(to, from, n);
	return part;
}

static std::vector<char> pack_code(uint16_t machine, const std::vector<image_insn> &insns,
				   const std::vector<image_func> &funcs,
				   const std::vector<uint32_t> &table)
{
	image_header header = {};
	std::vector<char> code;

	header.magic = IMAGE_MAGIC;
	header.version = IMAGE_VERSION;
	header.machine = machine;
	header.ninsns = insns.size();
	header.nfuncs = funcs.size();
	header.ntable = table.size();
	append(code, &header, 1);
	append(code, funcs.data(), funcs.size());
	append(code, table.data(), table.size());
	code.resize(alignTo(code.size(), 8));
	append(code, insns.data(), insns.size());
	return code;
}

std::vector<char> ImageMaker::pack()
{
	std::vector<char> out(sizeof(cosy_file));
	std::vector<image_func> funcs;
	std::vector<uint32_t> names;
	cosy_file file = {};

	for (const Function &f : functions) {
		funcs.push_back({(uint32_t)f.start, f.frame});
		names.push_back(string(f.name));
	}
	std::vector<char> code = pack_code(machine, insns, funcs, table);
	file.magic = COSY_FILE_MAGIC;
	file.version = COSY_FILE_VERSION;
	file.memory_size = memory;
	file.align = align;
	file.stack = stack;
	file.native = native;
	file.image = append_part(out, code.data(), code.size());
	file.data = append_part(out, data.data(), data.size());
	file.code_relocs = append_part(out, code_relocs.data(), code_relocs.size());
	file.data_relocs = append_part(out, data_relocs.data(), data_relocs.size());
	file.lines = append_part(out, lines.data(), lines.size());
	file.funcs = append_part(out, names.data(), names.size());
	file.strings = append_part(out, strings.data(), strings.size());
	memcpy(out.data(), &file, sizeof(file));
	return out;
}

std::vector<char> ImageMaker::make()
{
	if (!place_sections() || !find_functions() || !find_frames())
		return {};
	find_shared();
	if (!relocate_all())
		return {};
	find_calls();
	find_depth();
	find_lines();
	return pack();
}

std::vector<char> make_image(StringRef object, uint16_t machine,
			     std::vector<SharedVariable> &shared, std::string &why)
{
	auto elf = ObjectFile::createELFObjectFile(MemoryBufferRef(object, "compound"));

	if (!elf) {
		why = toString(elf.takeError());
		return {};
	}
	ImageMaker maker(*cast<ELF64LEObjectFile>(elf->get()), machine, shared);
	std::vector<char> file = maker.make();
	why = maker.why;
	return file;
}

} // namespace cosy
