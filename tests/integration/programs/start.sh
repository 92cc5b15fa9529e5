#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: core cost=5
#
# What vmwss loads: no library that a measurement does not need, for loading them costs more than a panel of 2,000 pages.
# Those that other commands need are loaded by their first call, and one that is missing is named.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

late='lib(xml2|icu[a-z]*|stdc\+\+|sqlite3|virt|curl|z)[-.]'

needs_none() { ! readelf -d "$vmwss" | grep NEEDED | grep -E "$late"; }
exports_none() { ! nm -D --defined-only "$vmwss" | grep -E ' (xml|sqlite3_)'; }
check "vmwss is not linked with what a measurement does not need" needs_none
check "what stands for it is seen by no other library" exports_none

# maps_while COMMAND...: what it has mapped when it has locked the guest.
maps_while() {
	"$@" >/dev/null 2>&1 &
	local it=$!
	settles measured_by "$pid" "$it"
	mapped=$(awk '{ print $6 }' "/proc/$it/maps")
	wait "$it"
}
maps_none() { [[ -n $mapped ]] && ! grep -E "$late" <<<"$mapped"; }
if start_payload start tcg "total=16M hot=4M" -m 64; then
	check "a guest by its pid is measured" maps_while "$vmwss" measure --pid "$pid" --method cold --window 3
	check "nor is any of it loaded" maps_none
	stop_guest "$pid"
fi

# without SONAME COMMAND...: where that library is an empty file.
without() {
	local library
	library=$(ldconfig -p | awk -v name="$1" '$1 == name { print $NF; exit }')
	# shellcheck disable=SC2016 # of the shell in the namespace
	output=$(unshare -m sh -c 'mount --bind /dev/null "$0" && exec "$@"' "$(realpath "$library")" "${@:2}" 2>&1)
	status=$?
}
named() { [[ $status == 127 && $output == *vmwss:*"$1"* ]]; }
sqlite3 -batch "$guests_dir/history.db" 'PRAGMA application_id = 0x766d7773; CREATE TABLE t (x)'
without libsqlite3.so.0 "$vmwss" report --database "$guests_dir/history.db"
check "a missing SQLite is named" named libsqlite3.so.0
without libxml2.so.2 "$vmwss" --version
check "a missing libxml2 stops no command that does not need it" test "$status" = 0

finish
