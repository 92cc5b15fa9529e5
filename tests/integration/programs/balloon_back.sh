#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg libvirt cost=60
#
# What goes back in time under vmwss-balloond: a guest that is reverted to a snapshot of when it was larger, or smaller, than it
# is, and a journal of another boot of the host: what was taken is given back each time. Another program that gives back what is
# taken is left to it.

libs=(libvirtd guests vmwssd balloond)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

vmwssd_conf 'window = 2,4' 'samples = 500' 'budget = 50%' 'guest-budget = 20%'
export BALLOON=virtio
if ! libvirtd_begin || ! embed_create cold 256 "total=192M hot=16M balloon=host" "$memfd"; then
	fail "libvirtd and the guest start"
	finish
	exit
fi
vmwssd_begin --config "$guests_dir/conf"
balloond_conf 'act = yes' 'interval = 1' 'shrink-without-statistics = yes'

# A revert is what virsh makes of it: the guest ends, and begins again from the file, with the XML and the memory of then.
revert() {
	embed_virsh destroy cold && cp "$guests_dir/$1" "$guests_dir/now" && embed_virsh restore "$guests_dir/now"
}
# keep FILE: what a snapshot has; the guest goes on.
keep() { embed_virsh save cold "$guests_dir/$1" && cp "$guests_dir/$1" "$guests_dir/now" && embed_virsh restore "$guests_dir/now"; }

echo "# to when it was larger"
check "kept before anything is taken" keep larger
controller_begin
check "it shrinks" eventually is cold -lt 200
check "reverted" revert larger
check "has what it had" eventually is cold -gt 240
check "it shrinks again" eventually is cold -lt 200
check "kept while it is small" keep smaller
check "SIGTERM: exit 0" controller_end TERM
check "it has what it had" eventually is cold -eq 256

echo "# to when it was smaller"
check "reverted" revert smaller
check "has less" eventually is cold -lt 200
: >"$controller_log"
controller_begin
check "adopted" eventually controller_logged 'domain cold: its balloon is adopted, it had 256 MiB'
check "SIGTERM: exit 0" controller_end TERM
check "it has what it had" eventually is cold -eq 256

echo "# to when it was smaller, under a controller"
controller_begin
check "it shrinks" eventually is cold -lt 200
: >"$controller_log"
check "reverted" revert smaller
check "adopted again" eventually controller_logged 'domain cold: its balloon is adopted, it had 256 MiB'
check "SIGTERM: exit 0" controller_end TERM
check "it has what it had" eventually is cold -eq 256

echo "# a journal of another boot"
controller_begin
check "it shrinks" eventually is cold -lt 200
controller_end KILL
sqlite3 "$journal" "UPDATE balloon SET boot_id = 'another'"
: >"$controller_log"
controller_begin
check "adopted by its size" eventually controller_logged 'domain cold: its balloon is adopted, it had 256 MiB'
check "SIGTERM: exit 0" controller_end TERM
check "it has what it had" eventually is cold -eq 256

echo "# another program that gives back what is taken"
since=$(journal 'SELECT max(id) FROM decision')
controller_begin
while sleep 0.3; do embed_virsh setmem cold 256M --live; done &>/dev/null &
rival=$!
check "why says so" eventually decided "id > $since AND why LIKE '%another program%'"
taken=$(journal "SELECT count(*) FROM decision WHERE id > $since AND action = 'shrink'")
check "little is taken ($taken times)" test "$taken" -ge 1 -a "$taken" -le 4
sleep 10
again=$(journal "SELECT count(*) FROM decision WHERE id > $since AND action = 'shrink'")
check "and nothing more ($again times)" test "$again" = "$taken"
kill "$rival"
wait "$rival" 2>/dev/null
check "SIGTERM: exit 0" controller_end TERM
check "it has what it had" eventually is cold -eq 256
finish
