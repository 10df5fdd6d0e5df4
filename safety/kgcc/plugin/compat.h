/* SPDX-License-Identifier: GPL-2.0 */
/*
 * GCC's headers, and all differences between the versions of GCC: Debian's kernels were built with
 * 12, 14 and 16.
 */
#ifndef KGCC_COMPAT_H
#define KGCC_COMPAT_H

/* The C++ library first: later headers poison identifiers that it uses. */
#include <map>
#include <set>
#include <string>
#include <vector>

#include "gcc-plugin.h"
#include "plugin-version.h"

#include "config.h"
#include "system.h"
#include "coretypes.h"
#include "backend.h"
#include "tree.h"
#include "gimple.h"
#include "tree-pass.h"
#include "ssa.h"
#include "alias.h"
#include "attribs.h"
#include "builtins.h"
#include "cfganal.h"
#include "cfgloop.h"
#include "cgraph.h"
#include "context.h"
#include "diagnostic.h"
#include "fold-const.h"
#include "gimple-expr.h"
#include "gimple-iterator.h"
#include "gimple-pretty-print.h"
#include "gimple-range.h"
#include "gimple-walk.h"
#include "gimplify.h"
#include "gimplify-me.h"
#include "langhooks.h"
#include "options.h"
#include "rtl.h"
#include "output.h"
#include "stor-layout.h"
#include "stringpool.h"
#include "target.h"
#include "tree-cfg.h"
#include "tree-eh.h"
#include "tree-dfa.h"
#include "tree-into-ssa.h"
#include "tree-scalar-evolution.h"
#include "tree-ssa-alias.h"
#include "tree-ssa-loop.h"
#include "tree-ssa-loop-manip.h"
#include "tree-ssa-loop-niter.h"
#include "tree-ssa-operands.h"
#include "tree-chrec.h"
#include "tree-ssa.h"
#include "varasm.h"

#if GCCPLUGIN_VERSION_MAJOR < 12 || GCCPLUGIN_VERSION_MAJOR > 16
#error "kgcc knows GCC 12 to 16"
#endif

/* gsi_last_bb() skipped debug statements until GCC 14. */
static inline gimple *last_statement(basic_block bb)
{
	gimple_stmt_iterator gsi = gsi_last_nondebug_bb(bb);

	return gsi_end_p(gsi) ? NULL : gsi_stmt(gsi);
}

#endif
