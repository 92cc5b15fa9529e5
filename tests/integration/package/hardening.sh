#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: cost=2 lock=cpack
#
# What is installed is hardened: position-independent, bound at its start with read-only relocations, no executable stack,
# with guards of the stack and checked calls. Read off the programs with readelf and nm. And an object is the same, whatever
# names the compiler is given of its source: ccache's base_dir makes them relative.

# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

dir=$(mktemp -d /tmp/vmwss-hardening.XXXX)
trap 'rm -rf -- "$dir"' EXIT

# has PATTERN OPTION...: a line of what readelf prints of $program matches.
has() {
	local pattern=$1
	shift
	readelf -W "$@" "$program" 2>/dev/null | grep -E -- "$pattern" >/dev/null
}
# Static programs count too, in which there is nothing to bind.
position_independent() { has 'Type: +DYN' -h && has 'FLAGS_1.*PIE' -d; }
bound_at_start() { has 'FLAGS.*(BIND_NOW|NOW)' -d || ! has 'JUMP_SLO' -r; }
no_executable_stack() { has 'GNU_STACK .* RW ' -l; }
calls() { nm "$program" | grep -E " [UtTwW] $1" >/dev/null; }
# As what it was compiled with says.
compiled_with() { has "DW_AT_producer .*$1" --debug-dump=info; }

check "what is built can be installed" bash -c "cmake --install '$build' --prefix '$dir' >/dev/null"
mapfile -t programs < <(find "$dir" -type f -perm -100 -exec sh -c 'head -c 4 "$1" | grep -q ELF' sh {} \; -print | sort)
check "all five programs" test "${#programs[@]}" = 5
needs_nothing() { ! has NEEDED -d; }
program=$(printf '%s\n' "${programs[@]}" | grep '/vmwss-guest$')
check "vmwss-guest is static" needs_nothing
for program in "${programs[@]}"; do
	name=${program##*/}
	check "$name: position-independent" position_independent
	check "$name: read-only relocations" has GNU_RELRO -l
	check "$name: bound at its start" bound_at_start
	check "$name: no executable stack" no_executable_stack
	check "$name: guards of the stack" calls '__stack_chk_fail'
	check "$name: calls are checked" calls '__(snprintf|vsnprintf|memcpy|read|fprintf)_chk'
	check "$name: no jump over a guard page" compiled_with '-fstack-clash-protection'
done

from_build() { realpath --relative-to "$build" "$1"; }
# compiled_as OBJECT SOURCE [TREE NAME]: TREE and NAME are how the compiler is told where the sources and this one are.
compiled_as() {
	local command
	command=$(jq -r --arg file "$2" 'first(.[] | select(.file == $file)).command' "$build/compile_commands.json")
	(cd "$build" && eval "$(sed "s, -o [^ ]*, -o $1,; s, -c .*, -c ${4:-$2},; s, -I$root/, -I${3:-$root}/,g" <<<"$command")")
}
# One of them is made by the build.
for source in "$root/host/base/error.c" "$build/host/show/html_page_js.c"; do
	name=${source##*/}
	check "$name: an object is made by its full name" compiled_as "$dir/full.o" "$source"
	check "$name: and by a relative one" compiled_as "$dir/relative.o" "$source" "$(from_build "$root")" "$(from_build "$source")"
	check "$name: both are the same" cmp "$dir/full.o" "$dir/relative.o"
done

finish
