# SPDX-License-Identifier: GPL-2.0
# What `make install` installs beside the library and the command: the udev rule
# and the module's source for DKMS, which builds it without any network.

UDEVDIR ?= $(PREFIX)/lib/udev/rules.d
DOCDIR ?= $(PREFIX)/share/doc/syscript
# Where DKMS looks, whatever the prefix.
DKMSDIR = $(DESTDIR)/usr/src/syscript-$(LIB_VERSION)

.PHONY: install-packaging install-dkms
install: install-packaging install-dkms

install-packaging:
	install -D -m 0644 packaging/60-syscript.rules $(DESTDIR)$(UDEVDIR)/60-syscript.rules
	install -d $(DESTDIR)$(DOCDIR)/LICENSES $(DESTDIR)$(DOCDIR)/design
	install -m 0644 README.md CHANGELOG.md COPYING $(DESTDIR)$(DOCDIR)
	install -m 0644 LICENSES/* $(DESTDIR)$(DOCDIR)/LICENSES
	install -m 0644 docs/design/*.md $(DESTDIR)$(DOCDIR)/design

# The parts of the crates that luajit.mk compiles, and their licences.
DKMS_CRATES := luajit-src/luajit2 luajit-src/luajit_relver.txt \
	core-math-sys/vendor/LICENSE core-math-sys/vendor/src/binary64

install-dkms: $(BUILD)/gen/constants.inc $(BUILD)/config.mk
	rm -rf $(DKMSDIR)
	install -d $(DKMSDIR)/vendor
	cp -r --parents kernel include/uapi COPYING LICENSES $(DKMSDIR)
	cd $(BUILD) && cp --parents gen/constants.inc $(abspath $(DKMSDIR))
	cd $(BUILD)/vendor && cp -r --parents $(DKMS_CRATES) $(abspath $(DKMSDIR))/vendor
	sed 's/@VERSION@/$(LIB_VERSION)/' packaging/dkms.conf >$(DKMSDIR)/dkms.conf
	chmod -R u=rwX,go=rX $(DKMSDIR)
