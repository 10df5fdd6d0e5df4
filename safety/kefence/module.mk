# SPDX-License-Identifier: GPL-2.0
# Included by a module's Kbuild under SAFETY=kefence.

# A tail call would show the caller's caller as the allocating place.
ccflags-y += -include $(safety_dir)/kefence/kefence.h -fno-optimize-sibling-calls
KBUILD_EXTRA_SYMBOLS += $(SAFETY_BUILT)/kefence/Module.symvers
