#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg cost=6
#
# The plugin that counts a guest's instructions counts while the guest runs, and nothing while it is suspended.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

plugin=$build/tests/oracle/count-plugin.so
counter=$guests_dir/count
counted() { od -An -t u8 "$counter" | tr -d ' '; }
more_than() { (($(counted) > $1)); }

if ! start_payload one tcg 'total=32M hot=8M' -m 64 -plugin "$plugin,map=$counter" -qmp "unix:$guests_dir/qmp,server=on,wait=off"; then
	finish
	exit
fi
begin=$(counted)
check "a guest that works executes a million instructions" settles more_than $((begin + 1000000))
# Its event may come before its answer: what is checked is whether it stands.
qmp '{"execute":"stop"}'
suspended=$(counted)
sleep 0.5
check "a suspended one executes none" test "$(counted)" = "$suspended"
qmp '{"execute":"cont"}'
check "and goes on" settles more_than "$suspended"
stop_guest "$pid"

for options in '' map=relative "map=$counter,map=$counter"; do
	timeout 20 qemu-system-x86_64 -machine pc -display none -nodefaults -S -plugin "$plugin${options:+,$options}" >"$guests_dir/out" 2>&1
	check "'$options' is refused" grep -q 'count-plugin: needs map=' "$guests_dir/out"
done
finish
