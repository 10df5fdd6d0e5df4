# SPDX-License-Identifier: GPL-2.0
# Included by a module's Kbuild under SAFETY=evmon.

ccflags-y += -include $(safety_dir)/evmon/evmon.h
KBUILD_EXTRA_SYMBOLS += $(SAFETY_BUILT)/evmon/Module.symvers
