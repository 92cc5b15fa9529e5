#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg libvirt cost=70
#
# vmwss guest: the agent in a real Linux guest is asked, also for the guest's own working set; and guests that have none,
# have not opened the port, whose port is in use, or that are paused.

libs=(embed guests linux_guest)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

embed_begin
trap 'embed_end; end_guests' EXIT
linux_image "$agent_program" || exit 1

echo "# a guest with an agent"
linux_create g1 160 "toucher.total=48M toucher.hot=32M guest.run=vmwss-guest,serve,--working-set=10" || fail "g1 starts"
if until_so 180 told g1; then
	pass "the agent answers"
	check "its hello" view '.hello.protocol == 1 and (.hello.kernel | startswith("6.1")) and .hello.page_bytes == 4096'
	check "its memory is within what the domain has" view '.report.memory.total_bytes > 67108864 and
		.report.memory.total_bytes < 167772160 and .report.memory.available_bytes <= .report.memory.total_bytes'
	check "it is the guest's word, beside the host's" view '.guest.source == "agent" and
		.host.assigned_bytes == 167772160 and .host.resident_bytes > 16777216 and .missing == null'
	says_whose() {
		guest g1 >"$guests_dir/table" && grep -q '^host *assigned *160.0 MiB' "$guests_dir/table" &&
			grep -q '^guest *used ' "$guests_dir/table" && grep -q '^guest *swapped in ' "$guests_dir/table"
	}
	check "a table says whose word each line is" until_so 60 says_whose
	over_an_interval() {
		guest --json --interval 1 g1 | tail -n 1 >"$guests_dir/view"
		view '.guest.verdict == "below" and .guest.interval_s > 0.5'
	}
	check "over an interval there are rates and a verdict" until_so 60 over_an_interval

	echo "# the guest's own working set, beside a toucher of 32 MiB"
	# The toucher's set, and what the shell and the agent touch; not what it filled at first, 48 MiB.
	own='.report.working_set | .anon_bytes >= 32 * 1048576 and .anon_bytes <= 35 * 1048576 and .file_bytes < 8 * 1048576'
	# The next round waits until the first took no more than its share: with a second of a busy emulated CPU, 200 s.
	check "is told" until_so 400 told g1 "$own"
	jq -c '"# \(.report.working_set) \(.report.processes[0])"' -r "$guests_dir/view"
	check "of a window as asked for" view '.report.working_set | .how == "clear_refs" and .window_s >= 10 and .age_s >= 0'
	check "the toucher touches most, its 32 MiB and its code, of 48" view '.report.processes[0] | .name == "toucher" and
		.referenced_bytes >= 32 * 1048576 and .referenced_bytes <= 33 * 1048576 and .rss_bytes >= 48 * 1048576'
	shows_whose() {
		guest g1 >"$guests_dir/table" && grep -qE '^guest *touched in [0-9][.0-9]*s.*, anonymous *3[2-5]\.' "$guests_dir/table" &&
			grep -qE '^guest .* (32|33)\.[0-9] MiB toucher$' "$guests_dir/table"
	}
	check "for people" until_so 60 shows_whose
	measured() { measure -c "$embed_uri" g1 -w 8 --agent && record_has '.guest.source == "agent"'; }
	check "the host measures it too" until_so 10 measured
	echo "# host: $(field wss_bytes) [$(field wss_low_bytes), $(field wss_high_bytes)]; $(jq -c .guest <<<"$record")"
	check "with what the guest found, in the record" record_has '.guest.own_window_s >= 10 and
		.guest.own_anon_bytes >= 32 * 1048576 and .guest.own_anon_bytes <= 35 * 1048576'
	check "they agree" record_has '.guest.agreement > 0.9 and .guest.doubts == []'

	# QEMU serves whoever connected first.
	path=$(embed_virsh dumpxml g1 | sed -n "s/.*path='\([^']*org.vmwss.guest.0\)'.*/\1/p")
	python3 -c 'import socket, sys, time
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print("connected", flush=True); time.sleep(600)' "$path" >"$guests_dir/held" &
	holder=$!
	settles grep -qs connected "$guests_dir/held"
	expect_exit "the port is in use" 2 'g1: .*in use here, by vmwssd' guest g1
	kill "$holder"
	wait "$holder" 2>/dev/null
	check "and when it is free again" until_so 180 told g1

	embed_virsh suspend g1 >/dev/null
	expect_exit "a paused guest" 2 'g1 is paused' guest g1
	embed_virsh resume g1 >/dev/null
	check "resumed" until_so 180 told g1
else
	fail "the agent answers"
fi
embed_virsh destroy g1 >/dev/null 2>&1

echo "# guests without one"
NO_AGENT=yes linux_create g2 128 "guest.toucher=no" || fail "g2 starts"
expect_exit "no channel: the message has the XML" 2 "g2: .*<channel type='unix'><target type='virtio' name='org.vmwss.guest.0'/></channel>" \
	guest g2
guest --json g2 >"$guests_dir/view" 2>/dev/null
check "the host's figures are there" view '.host.assigned_bytes == 134217728 and
	.host.resident_bytes > 0 and .report == null and .balloon == null and (.missing | test("no channel"))'
embed_virsh destroy g2 >/dev/null 2>&1

BALLOON=virtio linux_create g3 128 "guest.toucher=no" || fail "g3 starts"
expect_exit "nobody has the port open" 2 'g3: no program in the guest has the port open: is vmwss-guest running' guest g3
embed_virsh dommemstat g3 --period 1 --live >/dev/null
balloon_tells() {
	guest --json g3 >"$guests_dir/view" 2>"$guests_dir/messages" &&
		view '.balloon.total_bytes > 67108864 and .balloon.total_bytes < 134217728 and .report == null' &&
		grep -q 'no program in the guest' "$guests_dir/messages"
}
check "the balloon's driver tells instead" until_so 180 balloon_tells
embed_virsh destroy g3 >/dev/null 2>&1

# 464 MiB in random order, in 512 of which the kernel keeps some 60: nearly every page that the guest has is touched, and
# what it lacks is paged. The host alone would say 450 MiB, as of a guest that just fits.
echo "# a guest whose working set is more than its memory"
linux_create g4 512 "guest.zram=256M guest.run=vmwss-guest,serve toucher.total=464M toucher.hot=464M toucher.pattern=random" ||
	fail "g4 starts"
check "it gets ready" linux_says g4 'vmwss-toucher ready' 400
# In the time that it takes the guest to go through its memory, which on a busy machine may be long.
for window in 8 16 32 64 128 256; do
	"$vmwss" measure -c "$embed_uri" --window $window --agent --json g4 >"$guests_dir/view"
	if view '.guest.at_least_allocation'; then break; fi
done
echo "# $(jq -c '[.windows[0].touched_fraction, .guest]' "$guests_dir/view")"
check "the host sees nearly all of it touched" view '.windows[0].touched_fraction > 0.78'
check "with the agent beside it the number is a lower bound" view '.guest.verdict == "above" and .guest.at_least_allocation and
	(.guest.reasons | contains(["touched"]) and any(. == "swap-in" or . == "refaults" or . == "psi-full"))'

finish
