// SPDX-License-Identifier: GPL-2.0
/*
 * Which statements may free an object: after them, earlier checks are void. Bounds never change
 * while an object lives.
 *
 * Any call may, unless its function is in the list below, or its body calls only functions that may
 * not. Functions that sleep are not in the list: other tasks may free meanwhile.
 */
#include "check.h"

/* Kernel functions that neither free nor sleep; clone suffixes are ignored. */
static const char *const keepers[] = {
	"memcpy", "__memcpy", "memmove", "__memmove", "memset", "__memset", "memset16",
	"memset32", "memset64", "memcmp", "bcmp", "memchr", "memchr_inv", "memscan",
	"memzero_explicit", "crypto_memneq", "__crypto_memneq", "strlen", "strnlen", "strcmp",
	"strncmp", "strcasecmp", "strncasecmp", "strchr", "strchrnul", "strrchr", "strnchr",
	"strstr", "strnstr", "strspn", "strcspn", "strpbrk", "strsep", "strcpy", "strncpy",
	"strlcpy", "strscpy", "sized_strscpy", "strcat", "strncat", "strlcat", "skip_spaces",
	"strim", "snprintf", "scnprintf", "sprintf", "vsnprintf", "vscnprintf", "vsprintf",
	"sscanf", "hex_to_bin", "hex2bin", "bin2hex", "hex_dump_to_buffer",
	"simple_strtoul", "simple_strtol", "simple_strtoull", "kstrtoint", "kstrtouint",
	"kstrtoull", "kstrtoll", "_printk", "__warn_printk", "__dynamic_pr_debug",
	"print_hex_dump", "_find_first_bit", "_find_next_bit", "_find_first_zero_bit",
	"_find_next_zero_bit", "_find_last_bit", "__bitmap_weight", "__sw_hweight32",
	"__sw_hweight64", "crc32_le", "crc32_be", "crc32c", "crc16", "crc_ccitt",
	"full_name_hash", "ktime_get", "ktime_get_real_seconds", "ktime_get_seconds",
	"ktime_get_real_ts64", "ktime_get_coarse_real_ts64", "jiffies_to_msecs",
	"__list_add_valid", "__list_del_entry_valid", "__list_add_valid_or_report",
	"__list_del_entry_valid_or_report", "kgcc_ksize",
};

/* lifetime=names: a function with such a word in its name may free. */
static const char *const ends_of_life[] = {
	"free", "kfree", "kvfree", "vfree", "put", "release", "relse", "brelse", "destroy",
	"drop", "delete", "del", "remove", "kill", "evict", "exit", "fini", "cleanup",
	"unregister", "discard", "forget", "dispose", "purge", "close", "umount", "abort",
	"realloc", "krealloc", "kvrealloc", "unref", "unget",
};

/* Functions compiled earlier in this unit that call none that may free. */
static std::set<unsigned int> kept_by_body;

/* A clone's name has a suffix after a dot: words_free.constprop.0. */
static std::string plain_name(const_tree function)
{
	std::string name = IDENTIFIER_POINTER(DECL_NAME(function));

	return name.substr(0, name.find('.', 1));
}

static bool has_word(const std::string &name, const char *word)
{
	size_t length = strlen(word);

	for (size_t at = name.find(word); at != name.npos; at = name.find(word, at + 1)) {
		bool starts = !at || name[at - 1] == '_';
		bool ends = at + length == name.size() || name[at + length] == '_';

		if (starts && ends)
			return true;
	}
	return false;
}

static bool named_to_free(const std::string &name)
{
	for (const char *word : ends_of_life)
		if (has_word(name, word))
			return true;
	/* iput, dput, fput, bdput */
	return name.size() >= 3 && name.size() <= 6 && !name.compare(name.size() - 3, 3, "put");
}

static bool named_to_keep(const std::string &name)
{
	for (const char *keeper : keepers)
		if (name == keeper)
			return true;
	return false;
}

bool may_free(gimple *stmt)
{
	tree callee;

	if (!is_gimple_call(stmt) || gimple_call_internal_p(stmt) ||
	    options.lifetime == LIFETIME_NONE)
		return false;
	callee = gimple_call_fndecl(stmt);
	if (callee && fndecl_built_in_p(callee))
		return false;
	if (gimple_call_flags(stmt) & (ECF_CONST | ECF_PURE | ECF_NORETURN))
		return false;
	if (!callee || !DECL_NAME(callee))
		return true;
	if (options.lifetime == LIFETIME_NAMES)
		return named_to_free(plain_name(callee));
	return !kept_by_body.count(DECL_UID(callee)) && !named_to_keep(plain_name(callee));
}

/* Callees are mostly compiled before their callers: record whether this one may free. */
void learn_lifetime(function *fun)
{
	basic_block bb;

	if (DECL_WEAK(fun->decl))
		return;
	FOR_EACH_BB_FN(bb, fun)
		for (auto gsi = gsi_start_bb(bb); !gsi_end_p(gsi); gsi_next(&gsi))
			if (may_free(gsi_stmt(gsi)))
				return;
	kept_by_body.insert(DECL_UID(fun->decl));
}
