#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg libvirt thorough cost=181
#
# What guests say, beside what the host measured: a libvirtd of its own, vmwssd, and real Linux guests under TCG. One has
# the agent, and is pushed into swapping by taking memory away through its balloon; the other has none, and tells at
# most what its balloon driver does.

libs=(libvirtd guests linux_guest vmwssd)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

exporter=$build/host/vmwss-exporter
cd "$guests_dir" || exit

# comes_true COMMAND... DOMAIN: eventually; else what its last record is.
comes_true() {
	eventually "$@" && return
	newest "${!#}" | sed 's/^/# /'
	return 1
}
# newest DOMAIN: its last record, as vmwss history prints it.
newest() { "$vmwss" history --database "$db" --since 1h --window 2 --step record --json "$1" 2>/dev/null | tail -n 1; }
# word FILTER DOMAIN: the jq filter is true of the newest record.
word() { newest "$2" | jq -e "$1" >/dev/null; }
start_daemon() {
	vmwssd_begin --config "$guests_dir/conf" "$@"
}

if ! libvirtd_begin; then
	fail "libvirtd starts"
	finish
	exit
fi
linux_image "$agent_program" || exit
cat >"$guests_dir/conf" <<-END
	[vmwssd]
	connect = $embed_uri
	database = $db
	period = 1
	window = 2,4
	samples = 1000
	budget = 50%
	guest-budget = 20%
	log-level = debug
END

echo "# a guest without an agent"
export BALLOON=none
check "starts" embed_create mute 96 "total=64M hot=16M" "$memfd"
start_daemon
check "has every figure of the host" comes_true word '.wss_bytes > 0 and .resident_bytes > 0' mute
check "and says why the guest's are missing" comes_true word '.guest.source == "none" and (.guest.missing | contains("org.vmwss.guest.0"))' mute
history_of_mute() { "$vmwss" history --database "$db" --since 1h --window 2 --step record mute "$@"; }
check "in the table" test -n "$(history_of_mute | grep '^The guest says nothing: .*org\.vmwss\.guest\.0')"
check "and as CSV" test -n "$(history_of_mute --csv | grep ',none,.*org\.vmwss\.guest\.0')"
embed_virsh suspend mute >/dev/null # leave the processor to the other

echo "# a guest without an agent, whose balloon driver tells"
NO_AGENT=yes BALLOON=virtio RAM_XML=$memfd linux_create driver 96 "guest.toucher=no" || fail "it starts"
embed_virsh dommemstat driver --period 1 --live >/dev/null
check "its word is the balloon's" comes_true word '.guest.source == "balloon" and .guest.verdict == "unknown" and
	(.guest.total_bytes | . > 24 * 1048576 and . < 96 * 1048576) and .guest.available_bytes <= .guest.total_bytes' driver
newest driver | jq -c .guest | sed 's/^/# /'
embed_virsh destroy driver >/dev/null

echo "# what a guest says that has one"
export BALLOON=virtio RAM_XML=$memfd
check "a guest with the agent starts" linux_create told 256 "psi=1 guest.zram=128M guest.run=vmwss-guest,serve,--working-set=3 toucher.total=96M toucher.hot=96M"
check "the guest gets ready" linux_says told 'vmwss-toucher ready' 400
check "its agent answers" comes_true word '.guest.source == "agent"' told
# Again only after it did not: of a guest that is slow while it fills its memory.
said_once() {
	local n faults
	n=$(grep -c 'domain told: its agent answers' "$log")
	faults=$(grep -c 'domain told: its agent (' "$log")
	((n >= 1 && n <= 1 + faults))
}
check "the log says so, once" said_once
check "its working set is below its memory" comes_true word '.guest.verdict == "below"' told
check "it agrees with what the host sees" comes_true word '.guest.agreement > 0.9 and .guest.doubts == []' told
total_is() { newest told | jq -e --argjson ram $((256 << 20)) '.guest.total_bytes | . > 0.7 * $ram and . < $ram' >/dev/null; }
check "its memory is that of the domain, less what its kernel keeps" settles total_is
check "PSI, as shares" comes_true word '.guest | .psi_some_ratio >= 0 and .psi_some_ratio <= 0.05 and .psi_full_ratio >= 0' told
# The toucher's 96 MiB are anonymous: they must be within the bounds, and cannot all be cache.
check "of its working set the cache has its bounds" \
	comes_true word '.guest | .wss_cache_high_bytes < 96 * 1048576 and .wss_cache_low_bytes <= .wss_cache_high_bytes' told
check "and the processes, which hold 96 MiB" comes_true word '.guest.wss_anon_high_bytes >= 90 * 1048576' told

check "and what they touch themselves, by its account" comes_true word '.guest | .own_window_s >= 3 and .own_anon_bytes > 0 and
	.own_anon_bytes + .own_file_bytes < .total_bytes' told

echo "# who asks it beside vmwssd"
told_elsewhere() {
	"$vmwss" guest -c "$embed_uri" --database "$db" --json told 2>"$guests_dir/messages" >"$guests_dir/view" &&
		jq -e '.told_age_s >= 0 and .told_age_s < 300 and .missing == null and (.hello.kernel | startswith("6.1")) and
		any(.report.processes[]; .name == "toucher" and .rss_bytes >= 90 * 1048576) and .guest.verdict == "below" and
		.host.windows[0].window_s == 2 and .host.windows[0].wss_bytes > 0' "$guests_dir/view" >/dev/null
}
check "has what the agent told vmwssd, with its processes, and what the host measured" eventually told_elsewhere
"$vmwss" guest -c "$embed_uri" --database "$db" told >"$guests_dir/table" 2>&1
sed 's/^/# /' "$guests_dir/table"
check "for people" grep -qE '^told: its agent is .*, and its report to vmwssd [0-9.]+[sm]+.* ago$' "$guests_dir/table"
check "the host's number in the same table" grep -qE '^host +touched in 2s, ± .* ago +[0-9.]+ MiB' "$guests_dir/table"
check "and the processes" grep -qE '^guest +[0-9]+ .* toucher$' "$guests_dir/table"
# Its balloon may tell all the same.
says_none() {
	guest --database "$guests_dir/nosuch.db" told >/dev/null 2>"$guests_dir/messages"
	grep -q 'nosuch.db: no history there' "$guests_dir/messages"
}
check "of a history that is not there it says so" says_none

echo "# shown alike"
watch_json() { timeout 60 "$vmwss" watch "$1" --database "$db" --count 1 --json 2>/dev/null; }
# same_everywhere: the newest record of the history is the one that watch and the exporter show.
same_everywhere() {
	local kept watched exported
	kept=$(newest told) watched=$(watch_json told) exported=$("$exporter" --print --database "$db")
	[[ $(jq -r .time <<<"$kept") == $(jq -r .time <<<"$watched") ]] || return 1
	jq -e --argjson w "$(jq .guest <<<"$watched")" '.guest == $w' <<<"$kept" >/dev/null || return 1
	[[ $(sed -n 's/^vmwss_guest_memory_available_bytes{domain="told"} //p' <<<"$exported") == $(jq .guest.available_bytes <<<"$kept") ]] &&
		grep -qF "vmwss_guest_verdict{domain=\"told\",verdict=\"$(jq -r .guest.verdict <<<"$kept")\",source=\"agent\"} 1" <<<"$exported"
}
check "history, watch and exporter show the same" comes_true same_everywhere
check "the exporter says nothing for the other" test -z "$("$exporter" --print --database "$db" | grep 'vmwss_guest_memory.*mute')"
table() { "$vmwss" history --database "$db" --since 1h --window 2 --step record "$1"; }
check "a table for people" test -n "$(table told | head -n 1 | grep 'GUEST AVAIL *PSI *NEEDS')"
check "CSV has the columns" test -n "$("$vmwss" history --database "$db" --since 1h --window 2 --csv told | head -n 1 | grep 'guest_available_bytes')"

echo "# memory is taken away"
embed_virsh setmem told 112M --live >/dev/null
check "it says that it needs more than it has, because it pages" comes_true word '.guest.verdict == "above" and
	any(.guest.reasons[]; test("swap-in|refaults|psi-full"))' told
echo "# $(newest told)"
check "PSI tells" comes_true word '.guest.psi_some_ratio > 0.01' told
check "the log tells of a stall" comes_true logged 'domain told: reports a stall for memory'
check "for people" test -n "$(table told | grep -E ' (above|>= RAM)')"
embed_virsh setmem told 256M --live >/dev/null
check "given back, it is below again" comes_true word '.guest.verdict == "below"' told
# An hour may have ended meanwhile.
worst() { "$vmwss" history --database "$db" --since 2h --window 2 --step hour --json told | jq -se 'any(.[]; .guest.verdict == "above")' >/dev/null; }
check "in its hour the worst remains" worst

echo "# libvirtd hangs"
kill -STOP "$libvirtd_pid"
check "it is said" comes_true logged 'libvirt does not answer, or waits for a guest that does not' told
check "the connection is lost" comes_true logged 'the connection is lost' told
# A word older than three periods and 10 s is none any more.
sleep 20
later=$(date -u +%FT%TZ)
heard_later() { newest told | jq -e --arg t "$later" '.time > $t and .guest.source == "agent"' >/dev/null; }
check "the guest is heard as before" comes_true heard_later told
kill -CONT "$libvirtd_pid"

echo "# its channel is unplugged"
xmllint --xpath '//channel[target/@name="org.vmwss.guest.0"]' <(embed_virsh dumpxml told) >channel.xml
embed_virsh dommemstat told --period 1 --live >/dev/null
check "libvirt does it" embed_virsh detach-device told channel.xml --live
check "its balloon tells in its place" comes_true word '.guest.source == "balloon"' told
embed_virsh dommemstat told --period 0 --live >/dev/null
check "it has none, when that is old" comes_true word '.guest.missing // "" | startswith("no channel")' told
check "and is plugged in again" embed_virsh attach-device told channel.xml --live
check "it has one" comes_true word '.guest.missing // "" | startswith("no channel") | not' told

echo "# endings"
kill -STOP "$(<"/run/libvirt/qemu/told.pid")"
embed_virsh resume mute >/dev/null
check "a guest that is stopped is silent" comes_true logged 'domain told: its agent \((silent|busy)\)'
records_of_mute() { "$vmwss" history --database "$db" --since 1h --window 2 --step record --json mute | wc -l; }
more_of_mute() { (($(records_of_mute) > n + 3)); }
n=$(records_of_mute)
check "and does not hold up the other" comes_true more_of_mute
check "SIGTERM ends it, whatever guests do" vmwssd_end TERM
begins_again() {
	start_daemon
	n=$(records_of_mute)
	comes_true more_of_mute
}
check "within a second" ends_in_a_second begins_again
kill -CONT "$(<"/run/libvirt/qemu/told.pid")"
n_told() { sqlite3 -batch -readonly "$db" "SELECT count(*) FROM word"; }
n=$(n_told)
start_daemon --agents no
check "without agents nobody is asked" comes_true word '.guest == null' told
check "and nothing is kept" test "$(n_told)" = "$n"
check "ends" vmwssd_end TERM
expect_exit "a bad value" 1 '--agents maybe: expected yes or no' "$build/host/vmwssd" --agents maybe
finish
