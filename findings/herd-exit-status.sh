#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# What herd7 says of a test that it cannot decide, and of one that fails
#
# Versions:  herdtools7 7.58 of Debian's unstable
# Guess:     a test whose condition does not hold ends with a status that
#            make sees; loops with a constant number of rounds are run to their end.
# Behaviour: the status is 0. Loops of C end after two rounds, and what comes later is left out: an
#            outcome that is certain after three is "Never", which is what a user hopes to read;
#            only standard error has a warning. A64's are run to their end.
# Seen:      C: three rounds: Never, A64: Always; forall that is wrong: No; all with status 0
# Here:      tests/litmus/run.py takes a warning for a failure.

# shellcheck disable=SC1091,SC2154 # what it defines is used below
. "$(dirname "$0")/lib.sh"
apt=$tmp/apt root=$tmp/root/usr
mkdir -p "$apt/lists/partial" "$apt/archives/partial"
# shellcheck disable=SC2016 # apt's
archive=$(apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' 'Codename: bookworm' |
	head -n1)
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $archive sid main" >"$apt/list"
cat >"$apt/conf" <<CONF
Dir::State::lists "$apt/lists";
Dir::State::status "/dev/null";
Dir::Cache "$apt";
Dir::Etc::sourcelist "$apt/list";
Dir::Etc::sourceparts "-";
Acquire::Languages "none";
APT::Sandbox::User "root";
CONF
export APT_CONFIG=$apt/conf
apt-get update -qq
debian herdtools7 7.58-2
debian libgmp10 2:6.3.0+dfsg-5+b2
debian libc6 2.43-7
libraries=$root/lib/x86_64-linux-gnu
herd() {
	"$libraries/ld-linux-x86-64.so.2" --library-path "$libraries" "$root/bin/herd7" \
		-set-libdir "$root/share/herdtools7/herd" "$1" 2>"$tmp/warned"
}
cat >"$tmp/c.litmus" <<'TEST'
C three
{ }
P0() {
  int rounds = 0;
  while (rounds < 3) {
    rounds = rounds + 1;
  }
}
exists (0:rounds=3)
TEST
cat >"$tmp/a64.litmus" <<'TEST'
AArch64 three
{ 0:X0=3; }
 P0          ;
L0:          ;
 ADD W1,W1,#1;
 SUB W0,W0,#1;
 CBNZ W0,L0  ;
exists (0:X1=3)
TEST
cat >"$tmp/wrong.litmus" <<'TEST'
C wrong
{ }
P0(atomic_int *x) {
  atomic_store_explicit(x, 1, memory_order_relaxed);
}
forall (x=2)
TEST
said() {
	local status=0

	herd "$1" >"$tmp/said" || status=$?
	echo "$(sed -n "s/^Observation [^ ]* \([^ ]*\).*/\1/p" "$tmp/said") $status"
}
expect "three rounds in C" "Never 0" "$(said "$tmp/c.litmus")"
expect "warnings of that" 1 "$(grep -c 'legal outcomes may be missing' "$tmp/warned")"
expect "three rounds in A64's instructions" "Always 0" "$(said "$tmp/a64.litmus")"
expect "what is not so" "Never 0" "$(said "$tmp/wrong.litmus")"
