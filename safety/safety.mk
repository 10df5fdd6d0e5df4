# SPDX-License-Identifier: GPL-2.0
# The one line that a module's Kbuild needs, at its end:
#
#	include /usr/src/syscript-safety-VERSION/safety.mk
#
# Then `make ... SAFETY=kefence,kgcc` builds it with these tools; without SAFETY nothing changes.
# KEFENCE=1 is short for SAFETY=kefence. Each tool has a module.mk, which adds its flags.

safety_dir := $(patsubst %/,%,$(dir $(abspath $(lastword $(MAKEFILE_LIST)))))
safety_comma := ,
safety_tools := $(subst $(safety_comma), ,$(SAFETY)) $(if $(filter 1,$(KEFENCE)),kefence)

# Where the tools' own modules were built: a directory for each tool, with the list of its exported
# symbols.
SAFETY_BUILT ?= $(safety_dir)/built/$(KERNELRELEASE)

$(foreach tool,$(safety_tools),$(if $(wildcard $(SAFETY_BUILT)/$(tool)/Module.symvers),,\
	$(error $(tool) is not built in $(SAFETY_BUILT): see safety/README.md for how, or set SAFETY_BUILT)))

# The tools' headers include printk.h before the source file can define pr_fmt. ccflags-y may be
# expanded before it is known which file is compiled.
$(obj)/%.o: private KBUILD_CFLAGS += $(if \
	$(shell grep -sm1 '^. *\(define\|undef\) *pr_fmt' $< | grep define),-DSAFETY_OWN_PR_FMT)

include $(foreach tool,$(sort $(safety_tools)),$(safety_dir)/$(tool)/module.mk)
