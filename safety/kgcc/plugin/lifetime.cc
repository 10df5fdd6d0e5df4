// SPDX-License-Identifier: GPL-2.0
/*
 * Which statements may free an object, so that what was checked before has to be
 * checked again.  A bound never changes while its object lives.
 */
#include "check.h"

/* In names of functions, between underscores or at an end. */
static const char *const ends_of_life[] = {
	"free", "kfree", "kvfree", "vfree", "put", "release", "relse", "brelse", "destroy",
	"drop", "delete", "del", "remove", "kill", "evict", "exit", "fini", "cleanup",
	"unregister", "discard", "forget", "dispose", "purge", "close", "umount", "abort",
};

static bool has_word(const char *name, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = strstr(name, word); at; at = strstr(at + 1, word)) {
		bool starts = at == name || at[-1] == '_';
		bool ends = !at[length] || at[length] == '_';

		if (starts && ends)
			return true;
	}
	return false;
}

static bool named_to_free(const char *name)
{
	for (const char *word : ends_of_life)
		if (has_word(name, word))
			return true;
	/* iput, dput, fput, bdput */
	return strlen(name) <= 6 && !strcmp(name + strlen(name) - 3, "put");
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
	return options.lifetime == LIFETIME_CALLS ||
	       named_to_free(IDENTIFIER_POINTER(DECL_NAME(callee)));
}
