#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: core tcg libvirt cost=17
#
# Real domains of libvirt's embedded driver: list, measure, doctor, bugreport, and what is refused.

libs=(embed guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

embed_begin
# guests.sh ends its guests and removes its directory the same way
trap 'embed_end; end_guests' EXIT

params="total=192M hot=32M"
t=$(truth "$params")

echo "# domains by name, UUID and id"
if embed_create web1 256 "$params"; then
	uuid=$(embed_virsh domuuid web1 | head -n 1)
	id=$(embed_virsh domid web1 | head -n 1)
	check_census "cold, domain by name" "$t" 1 -c "$embed_uri" web1 -w 1
	check "the record names the domain" record_has ".domain == \"web1\" and .uuid == \"$uuid\""
	check "schema and keys are the documented ones" record_has '
		(keys_unsorted == ["schema","time","host","domain","uuid","manager","owner","pid","accel","method","mode","samples",
		"granularity_bytes","ram_bytes","resident_bytes","unmeasurable_bytes","vcpu_seconds","windows",
		"cpu_seconds","pause_seconds","flags","marking_seconds","reading_seconds","fine"]) and .schema == "vmwss.sample.v1" and
		(.windows[0] | keys_unsorted == ["window_s","est_window_s","vcpu_seconds","wss_bytes","wss_low_bytes",
		"wss_high_bytes","wss_unit_low_bytes","touched_fraction","gone_bytes"]) and
		(.time | test("^[0-9-]{10}T[0-9:]{8}\\.[0-9]{3}Z$"))'
	check "libvirt manages it" record_has '.manager == "libvirt" and .owner == "web1"'
	check "by UUID" measure -c "$embed_uri" "$uuid" -w 0.5
	check "by id" measure -c "$embed_uri" "$id" -w 0.5
	expect_exit "no such domain" 2 'nosuch' "$vmwss" measure -c "$embed_uri" nosuch

	echo "# paused"
	embed_virsh suspend web1 >/dev/null
	expect_exit "paused domain" 2 'web1 is paused.*virsh resume' "$vmwss" measure -c "$embed_uri" web1 -w 1
	embed_virsh resume web1 >/dev/null
	check "resumed" measure -c "$embed_uri" web1 -w 0.5
else
	fail "domain starts"
fi

echo "# memory backing from the live XML: memfd, two NUMA cells"
if embed_create fd1 256 "$params" "$memfd"; then
	check_panel "pageout, domain on memfd" "$t" -c "$embed_uri" fd1 -w 1 -m pageout
else
	fail "memfd domain starts"
fi
if embed_create numa1 512 "total=192M hot=64M start=224M" \
	"<cpu><numa><cell id='0' cpus='0' memory='262144' unit='KiB'/><cell id='1' memory='262144' unit='KiB'/></numa></cpu>"; then
	check_census "cold, domain of two NUMA cells" "$(truth "total=192M hot=64M start=224M memory=512M")" 1 \
		-c "$embed_uri" numa1 -w 1
else
	fail "NUMA domain starts"
fi

echo "# list, doctor, bugreport"
list=$("$vmwss" list -c "$embed_uri" --json)
check "list shows three running domains" test \
	"$(jq -s '[.[] | select(.state == "running" and .accel == "tcg" and .method != null)] | length' <<<"$list")" = 3
# shellcheck disable=SC2016 # jq's variables
check "list tells when and where" quietly jq -es --arg host "$(hostname)" \
	'all(.host == $host and (.time | test("^20[0-9-]+T[0-9:]+[.][0-9]{3}Z$")))' <<<"$list"
check "list tells the backing" test "$(jq -rs '[.[] | .backing] | sort | join(",")' <<<"$list")" = anon,anon,shmem
check "list says why not the others" test \
	"$(jq -rs '.[] | select(.domain == "web1").refused.zap' <<<"$list" | grep -c TCG)" = 1
check "list for people" test "$("$vmwss" list -c "$embed_uri" | grep -c running)" = 3
# Three healthy guests get no table of reasons, unless asked for; web1 refuses zap, as all under TCG.
check "without reasons where all is well" test "$("$vmwss" list -c "$embed_uri" | grep -c 'zap: ')" = 0
check "list --verbose: with them" test "$("$vmwss" list -v -c "$embed_uri" | grep -c 'zap: ')" = 3
echo "# several guests"
"$vmwss" measure -c "$embed_uri" --all -w 0.5 -m cold --json >"$guests_dir/all"
check "measure --all" test $? = 0
check "each of the three" test "$(jq -rs '[.[].domain] | sort | join(",")' "$guests_dir/all")" = "$(jq -rs '[.[].domain] | sort | join(",")' <<<"$list")"
check "with its number" quietly jq -es 'all(.windows[0].wss_bytes > 0)' "$guests_dir/all"
check "two of them, in one table" test "$("$vmwss" measure -c "$embed_uri" fd1 web1 -w 0.5 -m cold | awk '{ print $1 }' | sort | xargs)" = "DOMAIN fd1 web1"
expect_exit "one that is not there" 2 'none1.*no such domain' "$vmwss" measure -c "$embed_uri" none1 web1 -w 0.5 -m cold
check "does not keep the other from being measured" test \
	"$("$vmwss" measure -c "$embed_uri" none1 web1 -w 0.5 -m cold --json 2>/dev/null | jq -r .domain)" = web1
svg=$guests_dir/curves.svg
"$vmwss" profile -c "$embed_uri" web1 fd1 --from 0.1 --to 0.2 -k 2 -m cold --svg "$svg" --json >"$guests_dir/all"
check "profile of two, twice each" test "$(jq -rs '[.[].domain] | join(",")' "$guests_dir/all")" = web1,web1,fd1,fd1
check "four curves in one picture" test "$(grep -o '<polyline ' "$svg" | wc -l)" = 4
check "which is well-formed, and names them" test "$(xmllint --noout "$svg" && grep -oE '>(web1|fd1), ' "$svg" | sort | uniq -c | xargs)" = "2 >fd1, 2 >web1,"
expect_exit "of one that is not there the others are shown" 2 'none1.*no such domain' "$vmwss" profile -c "$embed_uri" none1 fd1 --from 0.1 --to 0.1 -m cold
check "one of them" test "$("$vmwss" profile -c "$embed_uri" none1 fd1 --from 0.1 --to 0.1 -m cold --csv 2>/dev/null | tail -n +2 | cut -d , -f 3)" = fd1
expect_exit "more curves than colours" 1 'has room for 8' "$vmwss" profile -c "$embed_uri" web1 fd1 -k 5 --svg "$svg"
expect_exit "all and one" 1 'only one of them' "$vmwss" measure -c "$embed_uri" --all web1
"$vmwss" doctor >"$guests_dir/doctor"
check "doctor of the host" test $? = 0
check "doctor names the remedy for what is missing" grep -q 'CONFIG_IDLE_PAGE_TRACKING\|page by page, by page_idle' \
	"$guests_dir/doctor"
"$vmwss" doctor -c "$embed_uri" web1 --json >"$guests_dir/doctor"
check "doctor of a guest" test \
	"$(jq '.findings | map(select(.what == "auto" and .outcome == "yes")) | length' "$guests_dir/doctor")" = 1
"$vmwss" bugreport -c "$embed_uri" web1 -o "$guests_dir/report" >/dev/null
check "bugreport" test $? = 0
check "bugreport has the XML and smaps" test -s "$guests_dir/report/domain.xml" -a \
	-s "$(echo "$guests_dir"/report/proc/*/smaps)"
check "bugreport is private" test "$(stat -c %a "$guests_dir/report")" = 700
expect_exit "bugreport overwrites nothing" 2 'exists' "$vmwss" bugreport -c "$embed_uri" web1 -o "$guests_dir/report"

echo "# a domain that ends"
domain_pid=$(cat "$embed_dir/run/qemu/web1.pid")
("$vmwss" measure -c "$embed_uri" web1 -w 30 >/dev/null 2>"$guests_dir/messages"; echo $? >"$guests_dir/status") &
settles test -s "/run/vmwss/guest-$domain_pid.lock"
# Not by virsh: the measuring process holds the embedded driver, which is one at a time.
kill -KILL "$domain_pid"
wait
check "ended within the window: exit 3" test "$(cat "$guests_dir/status")" = 3
expect_exit "then there is no such domain" 2 'web1' "$vmwss" measure -c "$embed_uri" web1

finish
