#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg libvirt thorough cost=72
#
# A Linux guest with the agent in it that is suspended, saved, and migrated live between two libvirtds of this machine under
# vmwssd, which asks the agent wherever the guest runs, also while another guest hangs.

libs=(libvirtd guests linux_guest vmwssd migrate)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

stuck=''
uuid=$(cat /proc/sys/kernel/random/uuid)

processes() { pgrep -f -- "-uuid $uuid"; }
end_all() {
	local process
	for process in $daemon $stuck $(processes); do kill -KILL "$process" 2>/dev/null; done
	end_there
	libvirtd_end
	end_guests
}
trap end_all EXIT

newest_id() { sql "SELECT coalesce(max(id), 0) FROM sample"; }

# A host that reads nothing of the other's has the socket of the channel elsewhere.
channel() { echo "<channel type='unix'><source mode='bind' path='$guests_dir/$1.sock'/><target type='virtio' name='org.vmwss.guest.0'/></channel>"; }
# moved_to NAME: the domain's XML with the channel's socket of that name.
moved_to() {
	local from=$1
	virsh -q -c "$from" dumpxml told --migratable | sed "s|$guests_dir/[a-z]*\.sock|$guests_dir/$2.sock|" >"$guests_dir/$2.xml"
	echo "$guests_dir/$2.xml"
}

# told_by PID AFTER [CONDITION]: a record of this process, later than AFTER, has the agent's word.
told_by() {
	[[ -n $(sql "SELECT sample.id FROM sample JOIN word ON word.sample_id = sample.id
		WHERE pid = $1 AND sample.id > $2 AND source = 'agent' AND ${3:-1} LIMIT 1") ]]
}
# answers WHERE: the guest's only process has records with the agent's word from now on, and these are sane: figures of before
# the guest moved must not be mixed with those of after.
answers() {
	local pid first
	first=$(newest_id)
	pid=$(processes)
	check "$1: the agent answers" eventually told_by "$pid" "$first"
	check "$1: and has rates" eventually told_by "$pid" "$first" "interval_s > 0 AND psi_some BETWEEN 0 AND 1"
	check "$1: the guest has enough" eventually told_by "$pid" "$first" "verdict = 'below'"
	check "$1: it agrees with what the host sees" eventually told_by "$pid" "$first" "agreement > 0.9"
	check "$1: nothing is doubted" test -z "$(sql "SELECT word.doubts FROM sample JOIN word ON word.sample_id = sample.id
		WHERE pid = $pid AND sample.id > $first AND doubts <> '' LIMIT 1")"
}

if ! libvirtd_begin || ! begin_there; then
	fail "two libvirtds start" "$(tail -n 3 "$there/messages")"
	finish
	exit 1
fi
linux_image "$agent_program" || exit 1
vmwssd_conf "connect = $embed_uri" "connect = $there_uri" 'window = 2,4' 'samples = 1000' 'budget = 50%' \
	'guest-budget = 20%' 'log-level = debug'
vmwssd_begin --config "$guests_dir/conf"
export NO_AGENT=yes RAM_XML="<uuid>$uuid</uuid>$memfd"
check "a guest starts" linux_create told 160 "psi=1 guest.run=vmwss-guest,serve toucher.total=32M toucher.hot=2M" "$(channel here)"
if ! linux_says told 'vmwss-toucher ready' 400; then
	fail "it gets ready"
	finish
	exit 1
fi
answers "started"

echo "# another guest hangs"
# The agent's word is gone from records when it is older than three periods and 10 s.
later() { sql "SELECT coalesce(max(id), 0) FROM sample WHERE time_ms > 1000 * ($1 + 20)"; }
RAM_XML='' BALLOON=virtio check "another guest starts" embed_create stuck 32 'total=8M hot=2M idle=yes' "$memfd"
stuck=$(pgrep -f -- "-name guest=stuck," | head -n 1)
check "it is watched" eventually logged 'domain stuck: measured'
kill -STOP "$stuck"
stopped=$(date +%s)
check "libvirt waits for it" eventually logged 'libvirt does not answer, or waits for a guest that does not; guests are asked as before'
is_later() { (($(later "$stopped") > 0)); }
check "20 seconds later" eventually is_later
check "the agent is asked as before" eventually told_by "$(processes)" "$(later "$stopped")" "interval_s > 0"
kill -CONT "$stuck"
check "it ends" embed_virsh destroy stuck

echo "# suspended"
embed_virsh suspend told
check "no records of it" eventually logged 'domain told: .*suspended'
embed_virsh resume told
answers "resumed"

echo "# saved and restored"
check "save" embed_virsh save told "$guests_dir/saved"
check "restore" embed_virsh restore "$guests_dir/saved"
answers "restored"

echo "# migrated there, and back"
before=$(processes)
check "there" migrate told "$embed_uri" "$there_uri" --xml "$(moved_to "$embed_uri" there)"
check "in another process" test "$(processes)" != "$before"
answers "there"
check "back" migrate told "$there_uri" "$embed_uri" --xml "$(moved_to "$there_uri" again)"
answers "back"

echo "# all in all"
check "the guest is one on each host" test "$(sql "SELECT count(*) FROM guest WHERE uuid = '$uuid'")" -le 2
check "SIGTERM: exit 0" vmwssd_end TERM
grep -v '^<7>' "$log" | sed 's/^/# /'
finish
