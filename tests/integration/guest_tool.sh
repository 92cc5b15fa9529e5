#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# vmwss-guest beside its peers: what users of pcstat, vmtouch, fincore, smem and wss.pl ask of it, over files, processes and mounts
# that are made here.

set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${BUILD:-$root/build/release}
# shellcheck source=../lib/check.sh
. "$root/tests/lib/check.sh"

dir=$(mktemp -d /var/tmp/vmwss-tool.XXXX)
started=()
end_all() {
	local pid
	for pid in "${started[@]}"; do kill -KILL "$pid"; done 2>/dev/null
	wait 2>/dev/null
	rm -rf -- "$dir"
}
trap end_all EXIT
cd "$dir" || exit 1
chmod 755 .
install -m 755 "$build/guest-agent/vmwss-guest" guest
guest=$dir/guest

# begin COMMAND...: in the background, to be ended with everything else; sets pid.
begin() {
	"$@" &
	pid=$!
	started+=("$pid")
}

echo "# huge pages of tmpfs"
# 20 files of one byte, beside what the file system itself says that they take; as the guest tells of each method, and a file's row.
huge_pages() {
	# shellcheck disable=SC2016 # for the other shell
	unshare --mount bash -c 'mkdir -p huge && mount -t tmpfs -o huge=always none huge || exit
		for i in {1..20}; do printf x >huge/$i; done
		df --output=used -B1 huge | tail -n 1
		for method in auto mincore; do "$1" cache huge -m $method --json | jq -r ".total.cached_bytes"; done
		"$1" cache huge/1 --json --map | jq -c ".files[0] | [.cached_pages, .beyond_eof_pages, .cached_percent, .runs]"
		"$1" cache huge/1 --no-header | head -n 1
		umount huge' _ "$guest"
}
mapfile -t told < <(huge_pages)
if [[ ${told[0]:-0} -lt $((20 << 21)) ]]; then
	skip "huge pages of tmpfs" "this kernel gives none: ${told[*]}"
else
	check "all that 20 files of one byte take, ${told[0]} bytes" test "${told[1]}" -eq "${told[0]}"
	check "by mincore too" test "${told[2]}" -eq "${told[0]}"
	check "what lies behind the end is told apart" test "${told[3]}" = '[512,511,100,[{"first_page":0,"pages":1}]]'
	check "in a table: a page, 512 cached, 100 %" grep -qE '^ *1 B +1 +512 +2.0 MiB +100.0% ' <<<"${told[4]}"
fi

echo "# one of several that is not there"
head -c 8192 /dev/urandom >file
gone=$(sh -c 'echo $$')
expect_exit "a PID that has ended, beside a file" 2 "process $gone: there is none" "$guest" cache file -p "$gone"
check "the file is shown all the same" test "$("$guest" cache file -p "$gone" --json 2>/dev/null | jq -c '[.total.files, .files[0].pages]')" = '[1,2]'

echo "# open, not mapped"
head -c 40960 /dev/urandom >opened
begin sleep 600 5<opened 6<file
names() { "$guest" cache "$@" --json 2>/dev/null | jq -r '.files[].name'; }
check "the files that a process has open" test "$(names -p "$pid" | grep -cE "^$dir/(opened|file)$")" = 2
check "the same by /proc/PID/fd" test "$(names "/proc/$pid/fd" --follow | grep -cE "^$dir/(opened|file)$")" = 2
check "ten pages" test "$("$guest" cache "/proc/$pid/fd/5" --follow --json | jq .total.pages)" = 10
expect_exit "without --follow: what to do" 2 "/proc/$pid/fd: its links lead to files; add --follow" "$guest" cache "/proc/$pid/fd"
check "no directory is entered by a link of the kernel" test "$(names "/proc/$pid" --follow | grep -cx "$dir/guest")" = 0

echo "# a map, and its histogram"
"$guest" cache opened --map --histogram=2 >out
check "both are shown" test "$(sed -n '3,4p' out | tr -s ' ')" = ' 0% 50%
100.0 100.0'
check "and the bar, and the runs" test "$(sed -n '2p;6p' out | tr -s ' ')" = "[OOOOOOOOOO] 10/10
 0 9 10 40.0 KiB"

echo "# the time of each record"
# of COMMAND...: its first line of JSON was made between before and after.
dated() {
	local before after time
	before=$(date +%s%3N)
	time=$("$guest" "$@" --json 2>/dev/null | head -n 1 | jq -r '.schema, .time' | paste -sd' ')
	after=$(date +%s%3N)
	[[ $time =~ ^vmwss\.guest_$1\.v1\ .*Z$ ]] || return 1
	time=$(date -d "${time#* }" +%s%3N)
	((before <= time && time <= after))
}
check "cache" dated cache file
check "memory" dated memory
check "paging" dated paging --interval 0.01
check "smaps" dated smaps $$
check "wss" dated wss $$ 0.01
if [[ -e /proc/pressure/memory ]]; then check "pressure" dated pressure; else skip "pressure" "PSI is off"; fi

finish
