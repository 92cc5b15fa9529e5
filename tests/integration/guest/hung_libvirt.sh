#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg libvirt cost=8
#
# A libvirtd that hangs: what waits for it ends at a signal all the same.

libs=(libvirtd guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

end_all() {
	[[ -z ${libvirtd_pid:-} ]] || kill -CONT "$libvirtd_pid" 2>/dev/null
	libvirtd_end
	end_guests
}
trap end_all EXIT

if ! libvirtd_begin; then
	fail "libvirtd starts"
	finish
	exit 1
fi
check "a guest starts" embed_create web1 32 "total=16M hot=4M"

gone() { [[ ! -e /proc/$1 || $(<"/proc/$1/stat") == *") Z "* ]]; }
asks_libvirt() { grep -qs libvirt "/proc/$1/maps" && find "/proc/$1/fd" -lname 'socket:*' 2>/dev/null | grep -q .; }
# ends_at SIGNAL COMMAND...: it waits for libvirt, and ends when the signal comes, as one that was interrupted.
ends_at() {
	local signal=$1 pid status=0
	shift
	env --default-signal=INT "$@" >/dev/null 2>&1 &
	pid=$!
	pids+=("$pid")
	settles asks_libvirt "$pid" || return 1
	kill "-$signal" "$pid"
	settles gone "$pid" || { kill -KILL "$pid"; return 1; }
	wait "$pid" || status=$?
	((status == 130)) || { echo "# status $status"; return 1; }
}

kill -STOP "$libvirtd_pid"
for command in "measure --window 1" "ages" "profile"; do
	# shellcheck disable=SC2086 # words
	check "${command%% *}: ctrl-C" ends_at INT "$vmwss" ${command} web1
	# shellcheck disable=SC2086
	check "${command%% *}: SIGTERM" ends_at TERM "$vmwss" ${command} web1
done
kill -CONT "$libvirtd_pid"
check "measured when it goes on" quietly measure --window 1 web1

finish
