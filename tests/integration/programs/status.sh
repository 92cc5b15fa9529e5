#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg libvirt cost=20
#
# vmwss status: a host without vmwssd, one where all is well, guests that are suspended, that no method can follow, and that no
# libvirt knows; what it says of each, its exit status, and how it fits into a terminal.

# In a namespace of processes of its own: it would show every QEMU of this machine, those of other tests too.
[[ -n ${VMWSS_OWN_PROCESSES:-} ]] || VMWSS_OWN_PROCESSES=yes exec unshare --pid --fork --kill-child --mount-proc -- "$BASH" "$0" "$@"
libs=(libvirtd guests vmwssd)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

status() { "$build/host/vmwss" status --database "$db" "$@" 2>&1; }
# says STATUS PATTERN ARG...: it ends with that, and a line matches.
says() {
	local want=$1 pattern=$2 got=0
	shift 2
	status "$@" >"$guests_dir/said" || got=$?
	((got == want)) && grep -qE -- "$pattern" "$guests_dir/said"
}
# shows FILTER: a jq filter that is true of its JSON.
shows() { jq -e "$1" >/dev/null <<<"$(status --json)"; }
guest() { echo "(.guests[] | select(.domain == \"$1\"))"; }

check "neither vmwssd nor a history" says 2 '^vmwssd is not running$'
check "which it says" says 2 '^history: .*history.db'
check "and in JSON" shows '(.well | not) and (.daemon.running | not) and .history_error != null and .newest == null and .guests == []'
check "the host's memory" shows ".memory.total_bytes == $(awk '/^MemTotal/ { print $2 }' /proc/meminfo) * 1024"
expect_exit "an unknown column" 1 'output wss,size: expected domain, uuid' "$build/host/vmwss" status -o wss,size
expect_exit "no column" 1 'expected domain, uuid' "$build/host/vmwss" status -o ''
expect_exit "an argument" 1 "unexpected 'web1'" "$build/host/vmwss" status web1

vmwssd_conf "window = 2,4" "samples = 500" "budget = 20%" "guest-budget = 10%"
if ! libvirtd_begin || ! embed_create seen 128 "total=96M hot=16M" "$memfd"; then
	fail "libvirtd and the guest start"
	finish
	exit
fi
check "a guest without a record, and why" says 2 '^seen: vmwssd is not running$'
check "with what it was assigned" shows "$(guest seen) | .ram_bytes == 128 * 1048576 and (.measured | not) and .wss_bytes == null"

vmwssd_begin --config "$guests_dir/conf"
well() { says 0 '^1 guest, 1 measured: assigned 128.0 MiB'; }
check "all is well" eventually well
has_both() { shows "$(guest seen).windows | length == 2"; }
check "both windows" eventually has_both
status | sed 's/^/# /'
truth=$(truth "total=96M hot=16M memory=128M")
holds_truth() {
	shows "$(guest seen) | .measured and .age_seconds < 60 and .reason == null and (.windows[0] |
		2 * .wss_low_bytes - .wss_bytes - 8192 <= $truth and $truth <= 2 * .wss_high_bytes - .wss_bytes + 8192)"
}
check "the working set: $truth bytes" eventually holds_truth
check "what could be had: resident less the longest window's bound" shows "$(guest seen) |
	.reclaimable_bytes == .resident_bytes - .windows[-1].wss_high_bytes or .reclaimable_bytes == null"
check "vmwssd, its halves, and that it writes" shows ".daemon | .running and .writes_history and .pid == $daemon and
	.scanner_pid > 0 and .budget == 0.2 and .cpu_seconds >= 0 and .config == \"$guests_dir/conf\""
began=$(($(awk '/^btime/ { print $2 }' /proc/stat) + $(awk '{ print $22 }' "/proc/$daemon/stat") / $(getconf CLK_TCK)))
check "since when" shows ".daemon.since | sub(\"[.][0-9]*\"; \"\") | fromdate | . >= $began - 2 and . <= $began + 2"
check "no balloon unless it asks libvirt" shows "$(guest seen).balloon_bytes == null"
check "with libvirt: the balloon" settles says 0 '^DOMAIN +ASSIGNED +BALLOON' --connect qemu:///system
check "leaves it all" test "$(status -c qemu:///system --json | jq '.guests[0].balloon_bytes')" = $((128 * 1048576))

echo "# another history"
status_of() { "$build/host/vmwss" status --database "$1" --json; }
check "a history that vmwssd does not write" test "$(status_of "$guests_dir/none.db" | jq -c '.daemon | [.running, .writes_history]')" = '[true,false]'

echo "# how it fits"
on_terminal() { script -qec "$build/host/vmwss status --database $db" /dev/null; }
fits() { # WIDTH
	COLUMNS=$1 on_terminal | tr -d '\r' >"$guests_dir/said"
	! sed -n '/^DOMAIN/,$p' "$guests_dir/said" | grep -E ".{$(($1 + 1))}" >/dev/null && grep -qE '^seen +[0-9.]+ MiB' "$guests_dir/said"
}
# A record whose look was late lacks the short window; the next one has it.
check "80 columns" settles fits 80
check "40 columns" settles fits 40
check "15 columns: the name and the number stay" settles fits 15
COLUMNS=40 check "a pipe has all of them" settles says 0 '^DOMAIN +ASSIGNED +RESIDENT +WSS 2s .*WSS 4s .*RECLAIMABLE +METHOD +AGE +FLAGS'
check "columns by name, in that order" settles says 0 '^AGE DOMAIN +WSS 2s$' -o age,domain,wss
coloured() { grep -q $'\033''\[31m' "$guests_dir/said"; }
no_colour() { ! on_terminal | grep $'\033' >/dev/null; }
check "all well: nothing red on a terminal" settles no_colour

echo "# what is not measured"
virsh -q -c qemu:///system suspend seen
check "suspended: all is well" eventually says 0 '^seen: suspended for '
check "and JSON says so" shows "$(guest seen) | .suspended and (.measured | not)"
virsh -q -c qemu:///system resume seen
check "it runs on" eventually well
if [[ -e /sys/kernel/mm/page_idle/bitmap ]]; then
	skip "a guest that nothing can follow" "page_idle follows every guest"
else
	check "a guest that nothing can follow starts" embed_create unseen 128 "total=96M hot=16M"
	check "it is not measured, and why" eventually says 2 '^unseen: no method can follow it'
	check "its row" says 2 '^unseen +128.0 MiB +[0-9.]+ [KM]iB +- .* not-measured *$'
	on_terminal >"$guests_dir/said"
	check "red on a terminal" coloured
	NO_COLOR=1 on_terminal >"$guests_dir/said"
	check "not with NO_COLOR" test -z "$(grep $'\033' "$guests_dir/said")"
	virsh -q -c qemu:///system destroy unseen
	check "when it has ended, all is well" eventually well
fi
check "a guest that no libvirt knows starts" run_payload plain tcg "total=96M hot=16M" -m 128
check "vmwssd does not watch it" eventually says 2 '^plain: no record yet: '
check "nor knows what of it is resident" says 2 '^plain +128.0 MiB +- +- '
ln -s "$db" "$guests_dir/link.db"
check "of a history that cannot be read it says so" test "$(status_of "$guests_dir/link.db" | jq -r "$(guest plain).reason")" = "the history cannot be read"
stop_guest "$pid"
check "when it has ended, all is well" eventually well

echo "# a QEMU whose command line cannot be understood"
mapfile -t backends < <(seq 321 | sed 's/.*/-object\nmemory-backend-ram,id=spare&,size=4096/')
"$nothp" qemu-system-x86_64 -accel tcg -m 16 -nodefaults -display none -S "${backends[@]}" &
pids+=("$!")
check "is a guest without a number, and why" settles says 2 "^pid $!: process $!: QEMU options: more than 320 memory backends"
stop_guest "$!"
check "when it has ended, all is well" eventually well

echo "# without vmwssd"
check "SIGTERM: exit 0" vmwssd_end TERM
check "it does not run" says 2 '^vmwssd is not running; newest record '
check "the last record is still there" shows "$(guest seen).measured"
old() { sqlite3 -batch "$db" "UPDATE sample SET time_ms = time_ms - 300000"; }
check "the records become old" old
check "then the guest is not measured" says 2 '^seen: vmwssd is not running; last measured 5m'
virsh -q -c qemu:///system destroy seen
check "one that ended unseen is not there" shows '.guests == []'
finish
