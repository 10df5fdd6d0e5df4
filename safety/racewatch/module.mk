# SPDX-License-Identifier: GPL-2.0
# What SAFETY=racewatch adds to a module's Kbuild: the compiler's calls for ThreadSanitizer, which
# racewatch.ko answers.  Volatile accesses, as of READ_ONCE(), are calls of their own.

ccflags-y += -fsanitize=thread --param tsan-distinguish-volatile=1 \
	--param tsan-instrument-func-entry-exit=0 -fno-optimize-sibling-calls -Wno-tsan \
	-include $(safety_dir)/racewatch/racewatch.h
KBUILD_EXTRA_SYMBOLS += $(SAFETY_BUILT)/racewatch/Module.symvers
