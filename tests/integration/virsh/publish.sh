#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg libvirt cost=103
#
# What vmwssd publishes in libvirt's metadata, beside a libvirtd of its own and real TCG guests: it is what the history
# says, live only, at most once a minute, and removed; and what the vmwss-virsh scripts make of it.

# It is switched on while it runs, which a group for writing would not allow (own_user.sh has one).
libvirtd_rw_perms=0777
libs=(libvirtd guests vmwssd published)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

vmwssd=$build/host/vmwssd
scripts=$root/host/virsh
events=$guests_dir/events
listener=''

cd "$guests_dir" || exit

end_all() {
	[[ -z $daemon ]] || kill -KILL "$daemon" 2>/dev/null
	[[ -z $listener ]] || kill "$listener" 2>/dev/null
	libvirtd_end
	end_guests
}
trap end_all EXIT


# --- what is published ------------------------------------------------------------------------------

has_element() { [[ -n $(element "$1") ]]; }
has_none() { [[ -z $(element "$1") ]]; }
# attribute DOMAIN NAME, of the element as libvirt shows it now.
attribute() { element "$1" | xmllint --xpath "string(/wss/@$2)" - 2>/dev/null; }
published_after() { has_element "$1" && [[ $(attribute "$1" at) > $2 ]]; }

# At twice the interval's width, as check_panel has it.
holds_truth() {
	local wss low high
	wss=$(attribute "$1" wss-2s) low=$(attribute "$1" low-2s) high=$(attribute "$1" high-2s)
	holds "$2 >= $wss - 2 * ($wss - $low) && $2 <= $wss + 2 * ($high - $wss)" || { echo "# $wss [$low, $high], truth $2"; return 1; }
}

# written DOMAIN: the seconds since 1970 at which libvirt told of a change of its metadata, a line each.
written() {
	sed -nE "s/^([0-9]{4}-[0-9-]+ [0-9:.]+)\+0000: event 'metadata-change' for domain '$1':.*$namespace.*/\1/p" "$events" |
		while read -r at; do date -u -d "$at" +%s.%N; done
}
# As the listener has it, which may have been late.
never_within_a_minute() { written "$1" | awk '{ if (NR > 1 && $1 - last < 55) exit 1; last = $1 }'; }

# --- vmwssd -----------------------------------------------------------------------------------------

start_daemon() {
	vmwssd_begin --config "$guests_dir/conf" "$@"
}
# readonly_clients: "yes" or "no" for each connection that vmwssd has to libvirtd.
readonly_clients() {
	local id info
	for id in $(virt-admin client-list --server libvirtd | awk 'NR > 2 { print $1 }'); do
		info=$(virt-admin client-info --server libvirtd "$id") || continue
		awk -v pid="$daemon" '/^unix_process_id/ { ours = $NF == pid } /^readonly/ { only = $NF } END { if (ours) print only }' <<<"$info"
	done | sort | tr '\n' ' '
}
clients_are() { [[ $(readonly_clients) == "$1" ]] || { echo "# $(readonly_clients)"; return 1; }; }
publish() {
	sed -i "s/^publish.*/publish = $1/" "$guests_dir/conf"
	kill -HUP "$daemon"
}
# has_records DOMAIN N, of the shortest window, AND-CONDITION.
has_records() {
	local n
	n=$(sql "SELECT count(*) FROM wss WHERE domain = '$1' AND window_s = 2 ${3:-}")
	((${n:-0} >= $2))
}

# --- guests -----------------------------------------------------------------------------------------

# A name with everything that libvirt allows.
# shellcheck disable=SC2016 # nobody may expand it
odd_name='it'\''s "a" <b> & $(touch injected); destroy one; \n -x ä'
odd_uuid=5f0f2c0a-7a51-4b0e-8f5e-0123456789ab
define_odd() {
	cat >"$embed_dir/odd.xml" <<-END
		<domain type='qemu'>
		  <name>$(sed 's/&/\&amp;/g; s/</\&lt;/g' <<<"$odd_name")</name>
		  <uuid>$odd_uuid</uuid>
		  <memory unit='MiB'>128</memory>
		  <vcpu>1</vcpu>
		  $memfd
		  <os>
		    <type arch='x86_64' machine='pc'>hvm</type>
		    <kernel>$payload</kernel>
		    <cmdline>total=96M hot=16M</cmdline>
		  </os>
		  <devices>
		    <emulator>/usr/bin/qemu-system-x86_64</emulator>
		    <controller type='usb' model='none'/>
		    <memballoon model='none'/>
		  </devices>
		</domain>
	END
	embed_virsh define "$embed_dir/odd.xml" && embed_virsh start "$odd_uuid"
}

if ! libvirtd_begin; then
	fail "libvirtd starts"
	finish
	exit
fi
virsh -c "$embed_uri" event --event metadata-change --loop --timestamp >"$events" 2>&1 &
listener=$!
one="total=224M hot=32M"
export BALLOON=virtio
check "a guest with a balloon starts" embed_create one 256 "$one balloon=host" "$memfd"
export BALLOON=none
check "a guest whose working set changes" embed_create busy 192 "total=128M phases=7:96M,7:16M" "$memfd<features><acpi/></features>"
check "a guest that is not watched, for it stands still" embed_create plain 64 "total=32M hot=8M"
embed_virsh suspend plain >/dev/null
check "a guest with an odd name" define_odd

vmwssd_conf "connect = $embed_uri" 'window = 2,4' 'samples = 1000' 'budget = 50%' 'guest-budget = 20%' \
	'publish = no' 'agents = no' 'log-level = debug'

echo "# by default nothing is published"
expect_exit "a bad value" 1 '--publish maybe: expected yes or no' "$vmwssd" --publish maybe
check "off by default" test "$("$vmwssd" --config /dev/null --dump-config | grep ^publish)" = "publish = no"
# Agents are asked by default, over a connection of its own.
start_daemon --agents yes
check "records come" eventually has_records one 2
check "both connections are read-only" eventually clients_are "yes yes "
vmwssd_end TERM
before=$(sql "SELECT count(*) FROM wss WHERE domain = 'busy' AND window_s = 2")
start_daemon
check "of the other, too" eventually has_records busy $((before + 2))
check "nothing is published" has_none one
check "the connection is read-only" eventually clients_are "yes "

echo "# published"
# The first published number stays for a minute: it must not be that of the small panel which tells what a scan costs. That
# one's precision is 0.088; the real one's is what the budget pays for, on a busy machine less than the 1,000 pages asked for.
better=0.07
settled() {
	[[ $(sql "SELECT s.precision < $better AND json_array_length(s.windows) = 2 FROM sample s JOIN guest g ON g.id = guest_id
		WHERE g.name = '$1' ORDER BY s.id DESC LIMIT 1") == 1 ]]
}
check "the panel is the real one" eventually settled one
publish yes
for name in one busy "$odd_uuid"; do check "$name is published" eventually has_element "$name"; done
# Where a look was late the first has no window of 2 s; the next comes after a minute.
has_short() { [[ -n $(attribute "$1" wss-2s) ]]; }
for name in one busy; do check "$name has the short window" eventually has_short "$name"; done
check "as the history has it" as_kept one
check "the other, too" as_kept busy
check "it holds the truth" holds_truth one "$(truth "$one")"
check "what is not measured is not published" has_none plain
check "a second connection writes, the first stays read-only" clients_are "no yes "
check "live" test -n "$(embed_virsh dumpxml "$odd_uuid" | grep -F "xmlns:vmwss=\"$namespace\"")"
check "not persistent" test -z "$(embed_virsh dumpxml --inactive "$odd_uuid" | grep vmwss:wss; grep -rl vmwss:wss /etc/libvirt)"

embed_virsh suspend "$odd_uuid" >/dev/null # leave the processors to the others

echo "# dashboard"
dashboard() { "$scripts/vmwss-virsh-dashboard" -c "$embed_uri" --once "$@"; }
dashboard --bytes >"$guests_dir/table"
sed 's/^/# /' "$guests_dir/table"
# column DOMAIN NUMBER, counted from the end, for names have blanks.
column() { awk -v name="$1 " -v back="$2" 'index($0, name) == 1 { print $(NF - back) }' "$guests_dir/table"; }
kib() { embed_virsh domstats --balloon "$1" | sed -n "s/^ *balloon.$2=//p"; }
same_columns() {
	[[ $(column "$1" 1) == "$(attribute "$1" reclaimable)" && $(column "$1" 2) == "$(attribute "$1" wss-4s)" &&
		$(column "$1" 3) == "$(attribute "$1" wss-2s)" ]]
}
windows_of() { attribute "$1" windows; }
precise() { holds "$(attribute "$1" precision) < $better && $(windows_of "$1" | wc -w) == 2"; }
check "it is known what is assigned, and what the balloon leaves" test \
	"$(awk '$1 == "one" { print $2, $3 }' "$guests_dir/table")" = "268435456 $((1024 * $(kib one current)))"
check "a guest that is not published has no figures" grep -qE '^plain +67108864 +67108864 +[0-9]+( +-){3,4}$' "$guests_dir/table"
check "the odd name is whole" grep -qF -- "$odd_name " "$guests_dir/table"
dashboard >"$guests_dir/table"
check "for people" grep -qE '^one +256.0 MiB +256.0 MiB +[0-9.]+ MiB .* [0-9]+(s|m)$' "$guests_dir/table"
check "colours are for terminals" test -z "$(tr -cd '\033' <"$guests_dir/table")"
check "on a terminal there are some" test -n \
	"$(script -qec "$scripts/vmwss-virsh-dashboard -c $embed_uri --once" /dev/null | tr -cd '\033')"
# Text read from the XML counts as a number all the same.
check "no size of a million bytes is in bytes" test -z "$(grep -E '[0-9]{7,} B' "$guests_dir/table")"
order() { dashboard --sort "$1" --bytes | awk -v column="$2" 'NR > 1 { print $(NF - column) }' | tr '\n' ' '; }
numbers() { dashboard --bytes | awk -v column="$1" 'NR > 1 { print $(NF - column) }' | sort -rn | tr '\n' ' '; }
# Published figures may change between the two.
sorted_by() { [[ $(order "$1" "$2") == "$(numbers "$2")" ]]; }
check "sorted by what could be given back ($(order reclaimable 1))" settles sorted_by reclaimable 1
check "sorted by the working set" settles sorted_by wss 2
# Without the last column: a second may go by between the two.
first_two() { dashboard --sort wss --bytes "$@" | head -n 3 | awk '{ $NF = ""; print }'; }
only_two() { [[ $(first_two --top 2) == "$(first_two)" ]]; }
check "the first two only" settles only_two
check "and no third" test "$(dashboard --top 2 | wc -l)" = 3
expect_exit "a bad key" 1 'sort size: expected name,' "$scripts/vmwss-virsh-dashboard" --sort size
expect_exit "a bad number of domains" 1 'top -1: expected' "$scripts/vmwss-virsh-dashboard" --top -1
bars() {
	test "$(LC_ALL=C.UTF-8 timeout 60 "$scripts/vmwss-virsh-dashboard" -c "$embed_uri" -n 0.2 |
		LC_ALL=C.UTF-8 grep -cE '^one .* [▁▂▃▄▅▆▇█]{3}$' -m 1)" = 1
}
check "again and again, with a line of bars" bars
again() { test "$(timeout 60 "$scripts/vmwss-virsh-dashboard" -c "$embed_uri" -n 0.2 | grep -c '^NAME ' -m 2)" = 2; }
check "it is shown again" again
expect_exit "a bad interval" 1 'interval 0: expected' "$scripts/vmwss-virsh-dashboard" -n 0
expect_exit "a bad option" 1 "'--nosuch' is not understood" "$scripts/vmwss-virsh-dashboard" --nosuch
expect_exit "no libvirt" 2 'failed to connect' "$scripts/vmwss-virsh-dashboard" --once -c test:///nonexistent

echo "# one guest"
guest() { "$scripts/vmwss-virsh-guest" -c "$embed_uri" "$@"; }
figure() { guest --bytes "$1" | sed -n "s/^$2=//p"; }
same_figures() {
	local key
	for key in resident reclaimable method precision flags host at wss-2s low-2s high-2s; do
		[[ $(figure "$1" $key) == "$(attribute "$1" $key)" ]] || return 1
	done
}
check "the figures" settles same_figures one
check "for people" test -n "$(guest one | grep -E '^WSS 2s +[0-9.]+ MiB \([0-9.]+ MiB to [0-9.]+ MiB\)$')"
check "the odd one, by its name" test "$(figure "$odd_name" name)" = "$odd_name"
check "by its UUID" test "$(figure $odd_uuid uuid)" = $odd_uuid
expect_exit "one that is not published" 2 'plain: nothing is published' guest plain
# virsh of libvirt 12.9 does this where there is no metadata.
mkdir "$guests_dir/newer"
cat >"$guests_dir/newer/virsh" <<-END
	#!/bin/sh
	$(command -v virsh) "\$@" && exit
	case " \$* " in *" metadata "*) echo ;; *) exit 1 ;; esac
END
chmod 755 "$guests_dir/newer/virsh"
newer() { PATH=$guests_dir/newer:$PATH "$@"; }
expect_exit "nor by a newer virsh" 2 'plain: nothing is published' newer guest plain
expect_exit "one that is not there" 2 "failed to get domain '-x; destroy one'" guest -- '-x; destroy one'
expect_exit "none" 1 'which guest' guest
check "no command was made of the odd name" test ! -e "injected"
check "nor of that" test "$(embed_virsh domstate one | head -n 1)" = running

echo "# balloon"
balloon() { "$scripts/vmwss-virsh-balloon" -c "$embed_uri" "$@"; }
# goal PERCENT: whole MiB, in KiB, that leave so much more than the upper bound.
goal() { awk -v high="$(attribute one high-2s)" -v p="$1" 'BEGIN { print int((high * (1 + p / 100) + 1048575) / 1048576) * 1024 }'; }
has_kib() { [[ $(kib one current) == "$1" ]]; }
resident_now() { awk '/^RssShmem/ { print $2 }' "/proc/$(<"/run/libvirt/qemu/one.pid")/status"; }
before=$(resident_now)
check "--dry-run says so" test -n "$(balloon one -w 2s --min 1M --dry-run | grep 'would go from 256.0 MiB to')"
check "no statistics of the guest: half of what is assigned, whatever --min says" test -n \
	"$(balloon one -w 2s --min 1M --dry-run | grep 'to 128.0 MiB .* limited by its floor, no guest statistics')"
check "and does nothing" has_kib 262144
# Published figures may change between the two.
set_to_goal() {
	wanted=$(goal 100)
	balloon one --window 2s --headroom 100 --min 1M --force && [[ $(goal 100) == "$wanted" ]]
}
check "set" settles set_to_goal
check "the guest gives back all but $wanted KiB" eventually has_kib "$wanted"
gave_back() { holds "$(resident_now) < $before - 0.8 * (262144 - $wanted) && $wanted < 262144"; }
check "memory came back to the host: $before kB before" eventually gave_back
check "--min" balloon one --window=2s --min=200M
check "holds" eventually has_kib 204800
# A guest that got its processor within the window.
high_enough() { holds "$(attribute one high-2s) * 11 > 220.5 * 1048576"; }
check "its working set is known again" settles high_enough
check "--max, --headroom" balloon --headroom 1000 --max 220.5M --window 2s one
check "hold" eventually has_kib 225792
would() { balloon one -w 2s --headroom 0 --dry-run "${@:2}" | quietly grep -E "to $1 MiB \("; }
check "the floor, unless told otherwise" settles would 128.0
check "--force: without" settles would '[3-9][0-9]\.[0-9]' --force
expect_exit "--max below the floor" 2 'its floor of 128.0 MiB is more than --max 100.0 MiB' balloon one -w 2s --max 100M
balloon one --window 2s --min 256M >/dev/null
check "all of it again" eventually has_kib 262144
check "nothing to do" test -n "$(balloon one --window 2s --min 256M | grep 'has 256.0 MiB already')"
expect_exit "no such window" 2 'window 10m is not published; there are: 2s' balloon one --window 10m
expect_exit "unless told otherwise an hour, which nobody knows yet" 2 'window 1h is not published; there are: 2s' balloon one
expect_exit "not published" 2 'plain: nothing is published' balloon plain
expect_exit "nor by a newer virsh" 2 'plain: nothing is published' newer balloon plain
expect_exit "--min above --max" 2 '--min 2.0 GiB is more than --max 1.0 GiB' balloon one -w 2s --min 2G --max 1G
expect_exit "no size" 1 '12X: expected a size' balloon one --min 12X
expect_exit "no percentage" 1 '--headroom -5: expected percent' balloon one --headroom -5
expect_exit "no age" 1 '--max-age 1h: expected whole seconds' balloon one --max-age 1h
expect_exit "no window" 1 'expected a window' balloon one --window '2s"; x'
expect_exit "too many" 1 "'busy' is too much" balloon one busy
expect_exit "no balloon: virsh says why" 2 'balloon' balloon "$odd_name" -w 2s --min 1M
# forge ATTRIBUTES [NAME]: as if published of the guest that vmwssd does not watch.
forge() { embed_virsh metadata "${2:-plain}" "$namespace" --live --key vmwss --set "<wss $1/>" >/dev/null; }
check "a guest with virtio-mem starts" embed_create slots 128 "total=32M hot=8M" "<maxMemory slots='2' unit='MiB'>512</maxMemory>
	$memfd<cpu><numa><cell id='0' cpus='0' memory='64' unit='MiB'/></numa></cpu>
	<devices><memory model='virtio-mem'><target><size unit='MiB'>64</size><node>0</node><block unit='KiB'>2048</block>
	<requested unit='MiB'>64</requested></target></memory></devices>"
forge "at='$(date -u +%FT%TZ)' windows='2s' high-2s='1'" slots
expect_exit "is none for one balloon" 2 'domain slots has virtio-mem, .*vmwss-balloond' balloon slots -w 2s --min 1M
embed_virsh destroy slots >/dev/null
forge "at='2026-01-01T00:00:00.000Z' windows='2s' high-2s='1'"
expect_exit "a number that is too old" 2 'the number is [0-9]+ s old, more than --max-age 900' balloon plain
forge "at='2999-01-01T00:00:00.000Z' windows='2s' high-2s='1'"
expect_exit "one of tomorrow" 2 'in the future' balloon plain
forge "at='soon' windows='2s' high-2s='1'"
expect_exit "one without a time" 2 'has no time' balloon plain
forge "at='$(date -u +%FT%TZ)' windows='2s' high-2s='1;system(\"touch injected\")'" 2>/dev/null
forge "at='$(date -u +%FT%TZ)' windows='2s \$(touch injected)' high-2s='1 2' wss-2s='x'"
expect_exit "one that is no number" 2 'is not published' balloon plain
dashboard >"$guests_dir/table"
check "the dashboard shows none" grep -qE '^plain .* -$|^plain .* - +[0-9]+s$' "$guests_dir/table"
check "nothing of it was run" test ! -e "injected"
embed_virsh metadata plain "$namespace" --live --remove >/dev/null
too_old() { [[ $(balloon one -w 2s --max-age 1 --dry-run 2>&1) == *'s old, more than --max-age 1: does vmwssd run?'* ]]; }
check "one that is old for the person asking" eventually too_old

echo "# once a minute"
news() { (($(written busy | wc -l) >= 2)); }
check "what changes is published again" eventually news
check "but not within a minute" never_within_a_minute busy
check "though it moved to and fro" has_records busy 3 'AND wss_bytes > 64000000'
check "indeed" has_records busy 3 'AND wss_bytes < 48000000'
check "so is a better precision, and both windows" eventually precise one
check "the truth again" holds_truth one "$(truth "$one")"
check "as the history has it" as_kept one
shown_alike() { dashboard --bytes >"$guests_dir/table" && same_columns one; }
check "the dashboard as well" settles shown_alike

echo "# switched off, and endings"
publish no
for name in one busy "$odd_uuid"; do check "off: $name has none" eventually has_none "$name"; done
check "and no connection can write" eventually clients_are "yes "
check "SIGTERM: exit 0" vmwssd_end TERM
embed_virsh resume "$odd_uuid" >/dev/null
start_daemon --publish yes
check "published again" eventually has_element one
check "the odd one, too" eventually has_element "$odd_uuid"
vmwssd_end KILL
check "kill -9" test $? = 137
check "leaves what was published" has_element "$odd_uuid"
embed_virsh destroy "$odd_uuid" >/dev/null
embed_virsh start "$odd_uuid" >/dev/null
check "but not beyond the guest's end" has_none "$odd_uuid"
before=$(attribute one at)
start_daemon --publish yes
check "the next one overwrites it" eventually published_after one "$before"
check "and measures the restarted guest anew" eventually has_element "$odd_uuid"
libvirtd_stop
libvirtd_begin || fail "libvirtd starts again"
check "libvirtd restarted: it is still there" has_element "$odd_uuid"
check "SIGTERM: exit 0" vmwssd_end TERM
for name in one busy "$odd_uuid"; do check "SIGTERM: $name has none" has_none "$name"; done
check "said" logged "removed from [23] guests"
publishes_again() {
	local name
	start_daemon --publish yes
	for name in one busy "$odd_uuid"; do eventually has_element "$name" || return; done
}
check "it has ended within a second" ends_in_a_second publishes_again
finish
