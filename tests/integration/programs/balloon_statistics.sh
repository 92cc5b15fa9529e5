#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg libvirt cost=150
#
# vmwss-balloond asks balloon drivers for statistics where no program does: only of guests on which it acts, until it ends, also after
# kill -9; what another program sets, before or meanwhile, stays. A guest that reports gives memory; one without a driver that answers,
# and one without a balloon, has one line of log.

libs=(libvirtd guests linux_guest vmwssd balloond)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

vmwssd_conf 'window = 2,4' 'samples = 500' 'budget = 50%' 'guest-budget = 20%'
export RAM_XML="$memfd"
# shellcheck disable=SC2119 # no program besides the image's own
if ! libvirtd_begin || ! linux_image ||
	! BALLOON=virtio NO_AGENT=yes linux_create asked 400 "toucher.total=100M toucher.hot=8M" ||
	! BALLOON=virtio embed_create silent 64 "total=48M hot=16M balloon=host" "$memfd" ||
	! BALLOON=virtio embed_create others 64 "total=48M hot=16M balloon=host" "$memfd" ||
	! BALLOON=virtio embed_create ends 64 "total=48M hot=16M balloon=host" "$memfd" ||
	! BALLOON=none embed_create bare 64 "total=48M hot=16M" "$memfd"; then
	fail "libvirtd and the guests start"
	finish
	exit
fi
vmwssd_begin --config "$guests_dir/conf"
check "the guest is ready" linux_says asked 'vmwss-toucher ready' 400

period() { embed_virsh dumpxml "$1" | sed -n "s/.*<stats period='\\([0-9]*\\)'.*/\\1/p"; }
# is_asked NAME PERIOD: "" is never.
is_asked() { [[ $(period "$1") == "$2" ]]; }
reports() { [[ $(embed_virsh dommemstat "$1" | awk '$1 == "last_update" { print $2 }') -gt $((EPOCHSECONDS - 30)) ]]; }
in_journal() { [[ $(journal "SELECT asked_s FROM balloon WHERE name = '$1'") == "$2" ]]; }
has_new_run() { [[ $(journal "SELECT domain_id FROM balloon WHERE name = 'asked' AND asked_s = 1") == "$(embed_virsh domid asked)" ]]; }
# configure ACT LINE...: decides every second; of each guest.
configure() { balloond_conf "act = $1" 'interval = 1' '[guest *]' "${@:2}"; }
embed_virsh dommemstat others --period 7 --live

echo "# a dry run"
configure no 'statistics = 1'
controller_begin
check "who is not asked is counted" eventually controller_logged '4 of 5 guests report no statistics.*at most [1-9][0-9]* MiB could be if .*virsh dommemstat'
check "why says so" eventually decided "name = 'asked' AND why LIKE '%its balloon driver is not asked in a dry run%'"
check "with what asking would win" eventually decided "name = 'asked' AND asking_bytes > 100 << 20"
report() { "$vmwss" balloon report --database "$db" --journal "$journal" --window 2,4 --since 1h "$@"; }
check "the report says so" test -n "$(report | grep -E '^Statistics: the balloon drivers of [45] of 5 guests are not asked.* at most [0-9.]+ GiB')"
check "as its schema says" test -n "$(report --json | "$root/tests/lib/schema.py" "${SCHEMA_MODE:-check}" | tee "$guests_dir/schema")"
check "nothing is asked" is_asked asked ''
check "SIGTERM: exit 0" controller_end TERM
check "no driver was asked" is_asked asked ''

echo "# statistics = keep"
configure yes 'statistics = keep'
controller_begin
check "why says so" eventually decided "name = 'asked' AND why LIKE '%(statistics = keep)%'"
check "nothing is asked" is_asked asked ''
check "SIGTERM: exit 0" controller_end TERM

echo "# acting"
: >"$controller_log"
configure yes 'statistics = 1'
controller_begin
check "the driver is asked" eventually is_asked asked 1
check "the journal knows it" in_journal asked 1
check "it reports" eventually reports asked
check "it gives memory" eventually is asked -lt 390
check "another program's period stays" is_asked others 7
check "one that has no balloon: a line of log" eventually controller_logged "domain bare: .*nothing is taken from it: libvirt cannot ask its balloon driver: <memballoon model='virtio'/>"
check "and none in the journal" test -z "$(journal "SELECT 1 FROM balloon WHERE name = 'bare' AND asked_s > 0")"

echo "# kill -9"
controller_end KILL
check "it is still asked" is_asked asked 1
: >"$controller_log"
controller_begin
check "the next one decides" eventually decided "time_s > $EPOCHSECONDS"
check "it still is" is_asked asked 1
embed_virsh destroy ends
check "a guest has ended; one that does not answer is reported with the cure" eventually controller_logged \
	'domain silent: .*its balloon driver is asked every 1 s, and has not answered within a minute: load virtio_balloon'
check "once" test "$(grep -c 'domain silent: it reports no' "$controller_log")" = 1
check "SIGTERM: exit 0" controller_end TERM
check "nobody asks" is_asked asked ''
check "nor the silent one" is_asked silent ''
check "another program's period is as it was" is_asked others 7
check "the journal has no period of a guest that runs" test -z "$(journal "SELECT name FROM balloon WHERE asked_s > 0 AND name <> 'ends'")"

echo "# another program changes it meanwhile"
controller_begin
check "the driver is asked" eventually is_asked asked 1
embed_virsh dommemstat asked --period 9 --live
check "SIGTERM: exit 0" controller_end TERM
check "it stays" is_asked asked 9
embed_virsh dommemstat asked --period 0 --live

echo "# saved and restored, then release after kill -9"
controller_begin
check "the driver is asked" eventually is_asked asked 1
check "saved" embed_virsh save asked "$guests_dir/saved"
check "restored" embed_virsh restore "$guests_dir/saved"
check "it is still asked" is_asked asked 1
check "the journal has its new run" eventually has_new_run
controller_end KILL
check "released" "$vmwss" balloon release -c "$embed_uri" --journal "$journal"
check "nobody asks" is_asked asked ''
check "nor the silent one" is_asked silent ''
check "no period is in the journal" test -z "$(journal 'SELECT name FROM balloon WHERE asked_s > 0')"

echo "# SIGTERM while it starts, after kill -9"
controller_begin
check "the driver is asked" eventually is_asked asked 1
controller_end KILL
controller_begin
sleep 0.3
check "SIGTERM: exit 0" controller_end TERM
check "nobody asks" is_asked asked ''
finish
