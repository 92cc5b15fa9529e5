#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg libvirt cost=40
#
# A guest that is migrated and stands still when it has come: the event is of when it came, not of when it is resumed.

libs=(libvirtd guests vmwssd migrate published)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

uuid=$(cat /proc/sys/kernel/random/uuid)
elements="<uuid>$uuid</uuid>$memfd"
end_all() {
	local process
	for process in $daemon $(pgrep -f -- "-uuid $uuid"); do kill -KILL "$process" 2>/dev/null; done
	end_there
	libvirtd_end
	end_guests
}
trap end_all EXIT

events() { sql "SELECT count(*) FROM event JOIN guest ON guest.id = guest_id WHERE guest.name = 'one' AND kind = '$1'"; }
has() { [[ $(events "$1") == "$2" ]]; }
has_records() { (($(sql "SELECT count(*) FROM sample") > 0)); }
if ! libvirtd_begin || ! begin_there; then
	fail "two libvirtds start"
	finish
	exit 1
fi
vmwssd_conf "connect = $embed_uri" "connect = $there_uri" 'window = 2,4' 'samples = 1000' 'budget = 100%' 'guest-budget = 90%'
vmwssd_begin --config "$guests_dir/conf"
check "a guest starts" embed_create one 32 "total=8M hot=2M" "$elements"
check "records" eventually has_records
check "migrated, to stand still there" migrate one "$embed_uri" "$there_uri" --suspend
check "paused" test "$(virsh -q -c "$there_uri" domstate one)" = paused
check "it went" eventually has migrate-out 1
sleep 4
check "it came" has migrate-in 1
sql "SELECT time_ms, kind FROM event ORDER BY id" | sed 's/^/# /'
sleep 6
resumed_ms=$(date +%s%3N)
check "resumed" virsh -q -c "$there_uri" resume one
sleep 5
check "once" has migrate-in 1
check "before it was resumed" test "$(sql "SELECT time_ms < $resumed_ms FROM event WHERE kind = 'migrate-in'")" = 1
echo "# resumed at $resumed_ms"
sql "SELECT time_ms, kind FROM event ORDER BY id" | sed 's/^/# /'
finish
