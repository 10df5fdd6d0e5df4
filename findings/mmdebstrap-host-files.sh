#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What of the machine is in a system that mmdebstrap makes
#
# Versions:  mmdebstrap 1.3.5
# Guess:     a new system has its packages' files and a list of sources, and nothing of the machine
#            that made it: that is what it is made for.
# Behaviour: /etc/hostname and /etc/resolv.conf are copied from the machine, even without a
#            single package.
# Seen:      both are the machine's
# Here:      the root file systems of tests/deploy and the packages' tests stay on the machine; one
#            that is published would need both removed.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
[ "$(id -u)" = 0 ] || { echo "mmdebstrap wants root here: sudo $0" >&2; exit 2; }
debian mmdebstrap 1.3.5-7
# shellcheck disable=SC2016 # apt's own variables
mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: bookworm" | head -1)
perl "$tmp/root/usr/bin/mmdebstrap" --quiet --variant=custom --mode=root bookworm "$tmp/new" \
	"$mirror" >"$tmp/said" 2>&1 || { cat "$tmp/said" >&2; exit 2; }
expect "packages" 0 "$(grep -c . "$tmp/new/var/lib/dpkg/status" || true)"
for file in hostname resolv.conf; do
	expect "/etc/$file is the machine's" yes \
		"$(cmp -s "/etc/$file" "$tmp/new/etc/$file" && echo yes)"
done
