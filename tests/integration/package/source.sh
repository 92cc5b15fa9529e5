#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: cost=15
# test: name=source_bookworm args=bookworm thorough cost=900 limit=7200
# test: name=source_trixie args=trixie thorough cost=900 limit=7200
#
# Debian's source package: the same commit makes the same bytes, and lintian finds nothing that is not explained. With a suite it
# is built in a fresh Debian of it, twice, in two places; both packages are the same to the byte, and its autopkgtest measures.

libs=(debian)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

dir=$(mktemp -d /tmp/vmwss-source.XXXX)
trap 'rm -rf --one-file-system -- "$dir"' EXIT

# Changes that are not committed yet are part of it; their objects are kept apart.
mkdir "$dir/objects"
GIT_ALTERNATE_OBJECT_DIRECTORIES=$(git -C "$root" rev-parse --path-format=absolute --git-path objects)
export GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_OBJECT_DIRECTORY=$dir/objects
commit=$(cd "$root" && GIT_INDEX_FILE=$dir/index git read-tree HEAD && GIT_INDEX_FILE=$dir/index git add -A &&
	tree=$(GIT_INDEX_FILE=$dir/index git write-tree) && export GIT_{AUTHOR,COMMITTER}_{NAME=t,EMAIL=t@example.org,DATE='1700000000 +0000'} &&
	git commit-tree -m test "$tree")
make_source() { "$root/host/package/source-package" --commit "$commit" "$dir/$1" >"$dir/$1.log" 2>&1 || { cat "$dir/$1.log"; return 1; }; }
check "a source package is made" make_source one
check "and once more" make_source two
for file in "$dir"/one/*.{dsc,gz,xz}; do
	check "$(basename "$file") is the same" cmp "$file" "$dir/two/$(basename "$file")"
done
# lints FILE: with no tag that is not overridden, not even a pedantic one.
lints() { lintian --allow-root -EIL +pedantic --fail-on error,warning,info,pedantic,experimental "$1"; }
check "lintian finds nothing in it" lints "$dir"/one/*.dsc
check "its copyright is in the form of DEP 5" grep -qx 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/' \
	"$root/host/package/debian/copyright"

if (($# == 0)); then
	echo "# licences"
	check "each file has a licence and a copyright: REUSE" quietly "$root/host/package/sbom" --lint
	"$root/host/package/sbom" >"$dir/spdx" 2>/dev/null
	# Without empty files and the licence itself.
	check "an SPDX document names them all" test "$(grep -c '^FileName: ' "$dir/spdx")" = \
		"$(git -C "$root" ls-tree -r -l HEAD | awk '$1 ~ /^100/ && $4 > 0 && $5 !~ /^(LICENSE|.reuse\/dep5)$/' | wc -l)"
	finish
	exit
fi
debian_suite=$1
fresh=$dir/fresh
inside() { debian_inside "$fresh" "$@"; }
quiet_inside() { inside "$@" >"$dir/inside.log" 2>&1 || { tail -n 30 "$dir/inside.log"; return 1; }; }
if ! debian_tree "$fresh"; then
	tail -n 5 "$fresh.log"
	fail "a fresh Debian can be made"
	finish
	exit 1
fi
quiet_inside apt-get update -qq
check "what it is built, checked and tried with" quiet_inside apt-get install -y -qq --no-install-recommends dpkg-dev autopkgtest
# build PLACE: in a directory of its own.
build_in() {
	mkdir -p "$fresh/$1"
	cp -r "$dir"/one/* "$fresh/$1/"
	quiet_inside sh -c "cd /$1/vmwss-* && apt-get build-dep -y -qq --no-install-recommends . && dpkg-buildpackage -us -uc && rm -r obj-*" ||
		return 1
	# vmwss-guest is static, so it has no symbols to look up.
	! grep -n 'warning:' "$dir/inside.log" | grep -v 'dpkg-shlibdeps: warning: .*no symbols'
}
check "it is built, without a warning" build_in first
check "and elsewhere" build_in the/second/place
for deb in "$fresh"/first/*.deb; do
	check "$(basename "$deb") is the same" cmp "$deb" "$fresh/the/second/place/$(basename "$deb")"
done
# The lintian of this machine: Debian 13's needs appstream, which cannot be configured in such a tree.
check "lintian finds nothing in the packages" lints "$(echo "$fresh"/first/*.changes)"
tried() { quiet_inside sh -c 'cd /first && autopkgtest ./vmwss_*.deb ./vmwss-guest_*.deb ./vmwss_*.dsc -- null'; }
check "its autopkgtest measures" tried
grep -a '"wss_bytes"' "$dir/inside.log" | head -n 1 | cut -c 1-700

finish
