#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# A set with auto-merge, saved and loaded as JSON
#
# Versions:  nftables 1.0.6, Linux 6.18
# Guess:     what `nft -j list ruleset` prints is the ruleset: `nft -j -f` makes the same of it, as
#            nft does of the text.
# Behaviour: the set has lost auto-merge, in silence: both have status 0. An interval that the set
#            has a part of, which was merged before, is refused then.
# Seen:      10.0.0.0/23 added to 10.0.0.0/24: by text 0, by JSON 1
# Here:      the tests keep and load rules as text (tests/held.nft), and so does docs/firewall.md.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
nftables
cat >"$tmp/rules" <<'NFT'
table ip t {
	set s {
		type ipv4_addr
		flags interval
		auto-merge
		elements = { 10.0.0.0/24 }
	}
}
NFT
cat >"$tmp/load" <<SH
$nft -f $tmp/rules
$nft \$1 list ruleset >$tmp/saved
$nft flush ruleset
$nft \$1 -f $tmp/saved
echo \$?
$nft list ruleset | grep -c auto-merge
$nft add element ip t s '{ 10.0.0.0/23 }' 2>/dev/null
echo \$?
SH
expect "text: loaded, auto-merge, interval added" "0 1 0" \
	"$(unshare -Urn sh "$tmp/load" "" | xargs)"
expect "JSON: loaded, auto-merge, interval added" "0 0 1" \
	"$(unshare -Urn sh "$tmp/load" -j | xargs)"
