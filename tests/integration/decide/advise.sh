#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg libvirt cost=24
# shellcheck disable=SC2016 # jq has variables of its own
#
# vmwss advise over real guests under vmwssd: the target holds the hot set and the rails, and a guest that is young, not
# measured, suspended or long not measured is not shrunk; vmwss-virsh-balloon heeds both.

libs=(libvirtd guests vmwssd published)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

vmwssd_conf 'window = 2,4' 'samples = 500' 'budget = 20%' 'guest-budget = 10%' 'publish = yes'
hot="total=400M hot=264M" # more than half of what is assigned: the demand rules, not the floor
export BALLOON=virtio
if ! libvirtd_begin || ! embed_create busy 512 "$hot balloon=host" "$memfd" ||
	! embed_create calm 256 "total=192M hot=16M" "$memfd" || ! embed_create unseen 128 "total=96M hot=16M"; then
	fail "libvirtd and the guests start"
	finish
	exit
fi
vmwssd_begin --config "$guests_dir/conf"

advise() { "$vmwss" advise --database "$db" --window 2,4 "$@"; }
# of GUEST FILTER [OPTION...]: by its JSON.
of() { advise "$1" --json "${@:3}" | jq -ce "$2"; }
both_windows() { [[ $(sql "SELECT json_array_length(windows) FROM sample JOIN guest ON guest.id = guest_id
	WHERE guest.name = '$1' ORDER BY sample.id DESC LIMIT 1") == 2 ]]; }
for name in busy calm; do check "$name: both windows are answered" eventually both_windows $name; done
other_is_kept() { [[ -n $(sql "SELECT 1 FROM guest WHERE name = 'unseen'") ]]; }
check "the other is kept" eventually other_is_kept
advise --connect "$embed_uri" | sed 's/^/# /'

echo "# young: nothing is taken"
check "a veto" eventually quietly of busy '.vetoes == ["young"] and .target_bytes == .assigned_bytes and .give_back_bytes == 0 and
	.action == "keep" and .confidence == "low" and (.why | test("up for [0-9]+ s, less than 600 s"))'
if [[ ! -e /sys/kernel/mm/page_idle/bitmap ]]; then
	check "not measured: neither" quietly of unseen '(.vetoes | index("not-measured")) and .demand_bytes == null and
		.target_bytes == 128 * 1048576 and .give_back_bytes == 0 and (.why | test("it is not measured"))'
else
	skip "a guest that nothing can follow" "page_idle follows every guest"
fi

echo "# ten minutes later"
# As if the first record of each had been added 20 minutes earlier.
sqlite3 -cmd '.timeout 10000' "$db" "UPDATE sample SET time_ms = time_ms - 1200000 WHERE id IN (SELECT min(id) FROM sample GROUP BY guest_id)"
schema='
	def bytes: type == "number" and . >= 0 and . == floor;
	.schema == "vmwss.advice.v1" and (.time | fromdate > 0) and (.host | length > 0) and (.domain | length > 0) and
	(.uuid | length == 36) and (.age_s | type == "number") and (.up_s | type == "number") and
	([.assigned_bytes, .resident_bytes, .unmeasurable_bytes, .target_bytes, .give_back_bytes, .reserve_bytes, .floor_bytes,
		.learned_bytes, .wanted_bytes, .band_bytes] | all(bytes)) and
	(.actual_bytes | . == null or bytes) and (.demand_bytes | . == null or bytes) and
	(.action | IN("keep", "shrink", "grow")) and (.confidence | IN("low", "medium", "high")) and
	(.term | IN("demand", "floor", "reservation", "learned", "assigned", "actual", "past")) and
	([.past_s, .backtest_scored, .backtest_exceeded] | all(type == "number")) and (.past_bytes | . == null or bytes) and
	(.floor | IN("half", "swapless", "swap")) and (.statistics | IN("none", "balloon", "agent")) and
	([.vetoes, .panics, .unsure | type] | all(. == "array")) and (.rho > 0) and (.why | length > 0) and
	(.windows | length == 3) and ([.windows[] | .wanted_s, .factor | type] | all(. == "number"))'
check "every line is of the schema" quietly jq -se "length == 3 and all($schema)" <(advise --json)
truth=$(truth "$hot")
# A record whose look was late lacks the short window, and is not shrunk by; the next one has it.
check "busy: T is the largest of the terms, in whole MiB" eventually quietly of busy '
	def mib: . / 1048576 | ceil * 1048576;
	([.windows[] | .factor * .wss_high_bytes | . - 0.5 | ceil] | max) as $windows |
	([$windows, .day_max_bytes, .floor_bytes] | max | mib) as $t | (.wanted_bytes - $t | fabs <= 1048576) and
	.floor_bytes == .assigned_bytes / 2 and .floor == "half"'
# A guest that got no processor for a while has touched less.
check "busy: its target holds the $truth bytes that it touches" eventually quietly of busy ".target_bytes >= $truth and .action == \"shrink\" and
	.vetoes == [] and .term == \"demand\" and .target_bytes == .wanted_bytes and .target_bytes <= .assigned_bytes - .band_bytes"
check "busy: what the host would get back" eventually quietly of busy '.give_back_bytes == .resident_bytes - .target_bytes and .give_back_bytes > 0'
check "calm: half of what is assigned, for it tells nothing" eventually quietly of calm '.target_bytes == .assigned_bytes / 2 and
	.term == "floor" and (.why | test("no guest statistics: floor is half of assigned"))'
check "the balloon is not known" quietly of calm '.actual_bytes == null and (.unsure | index("balloon-unknown"))'
check "unless libvirt is asked" quietly of calm '.actual_bytes == 256 * 1048576 and (.unsure | index("balloon-unknown") | not)' \
	--connect "$embed_uri"
table_has() { advise | grep -E "$1" >/dev/null; }
check "the table" eventually table_has '^calm +256.0 MiB +- .* 128.0 MiB +128.0 MiB .* low .*half of assigned'
check "the sum" eventually table_has '^3 guests, [01] of which may not be shrunk; [0-9.]+ MiB could be given back'
both_explained() { explained=$(advise calm --explain) && grep -qE '^1.25 H\(2s\) +[0-9-]' <<<"$explained"; }
eventually both_explained
for term in M B R '1.25 H\(2s\)' '1.15 H\(4s\)' '1.10 H\(4s\)' 'max\(24h\)' D W F past T band target 'give back' rho; do
	check "--explain: $term" grep -qE "^$term +[0-9-]" <<<"$explained"
done
check "windows that are not kept" quietly "$vmwss" advise --database "$db" busy --json
check "are too short" test "$("$vmwss" advise --database "$db" busy --json | jq -c .vetoes)" = '["window"]'
minutes() { sql "SELECT count(*) FROM bucket WHERE level_s = 60"; }
before=$(minutes)
check "--backtest" quietly jq -se 'length >= 2 and all(.schema == "vmwss.backtest.v1" and .decisions >= 1 and .scored <= .decisions and
	.exceeded <= .scored and .changes == .shrinks + .grows and .horizon_s == 60 and .replayed_s == 60 * .decisions)' \
	<(advise --backtest 1h --json)
check "--backtest: the table" test -n "$(advise --backtest 1h calm | grep -E '^Of [0-9]+ decisions the WSS of the next .* by 0 changes')"

echo "# vmwss-virsh-balloon"
balloon() { PATH=$build/host:$PATH "$root/host/virsh/vmwss-virsh-balloon" -c "$embed_uri" --database "$db" -w 2s "$@"; }
published() { [[ -n $(element "$1" | xmllint --xpath 'string(/wss/@wss-2s)' - 2>/dev/null) ]]; }
for name in busy calm; do check "$name is published" eventually published $name; done
# It asks with the windows that vmwssd has by default, which are not kept here: so it refuses.
expect_exit "the vetoes of vmwss advise are heeded" 2 'keeps 256.0 MiB for its long window is not answered' balloon calm --dry-run
expect_exit "so is its floor" 2 'its floor of 128.0 MiB is more than --max 100.0 MiB \(by vmwss advise\)' balloon calm --max 100M
check "unless forced" test -n "$(balloon calm --force --headroom 0 --dry-run | grep -E 'would go from 256.0 MiB to [1-9][0-9]\.')"

echo "# suspended, and no longer measured"
embed_virsh suspend calm >/dev/null
check "suspended" eventually quietly of calm '.vetoes | index("paused")' --connect "$embed_uri"
check "SIGTERM: exit 0" vmwssd_end TERM
check "an old number shrinks nothing" eventually quietly of busy '(.vetoes | index("stale")) and .target_bytes == .assigned_bytes'

echo "# refusals"
expect_exit "no such guest" 2 'nosuch' advise nosuch
expect_exit "no history" 2 'no history there: start vmwssd' "$vmwss" advise --database "$guests_dir/nosuch.db"
expect_exit "no time" 1 'backtest soon: expected a time' advise --backtest soon
expect_exit "no windows" 1 'window 1,2,3,4: expected up to three' advise --window 1,2,3,4
expect_exit "too much at once" 1 'explain cannot be combined with' advise --explain --json
check "nothing was added by asking" test "$(minutes)" -ge "$before"
finish
