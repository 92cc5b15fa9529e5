#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: cost=6
#
# vmwss-guest cache over real files of this machine, held against vmtouch and against what was done to the files: cached, dropped,
# sparse, dirty, of overlayfs, of a process in another mount namespace; and where the kernel does not tell the truth.
# The cache is everybody's, and pages of ours may be reclaimed at any moment: what is compared is looked at again then.

# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

# /tmp may be a tmpfs, from which nothing is dropped.
dir=$(mktemp -d /var/tmp/vmwss-cache.XXXX)
holder=
trap '[[ -z $holder ]] || kill "$holder" 2>/dev/null; rm -rf -- "$dir"' EXIT
cd "$dir" || exit 1
chmod 755 .
install -m 755 "$build/guest-agent/vmwss-guest" "$dir/guest"
guest=$dir/guest
pages=4096 # of the files of 16 MiB
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)

cached() { "$guest" cache --json "$@" 2>/dev/null | jq -r '.total.cached_pages'; }
# vmtouch's "Files: N" and "Resident Pages: C/P" as "N C P".
vmtouched() { vmtouch "$@" 2>/dev/null | awk '/Files:/ { f = $2 } /Resident Pages:/ { split($3, p, "/"); print f, p[1], p[2] }'; }
counted() { "$guest" cache --json "$@" 2>/dev/null | jq -r '.total | "\(.files) \(.cached_pages) \(.pages)"'; }

# in_time COMMAND...: succeeds in one of many tries.
in_time() {
	local i
	for ((i = 0; i < 20; i++)); do if "$@"; then return 0; fi; done
	return 1
}

# same_at_once PATH METHOD: we say what vmtouch says, before and after it.
same_at_once() {
	local before between
	before=$(counted "$1" -m "$2")
	between=$(vmtouched "$1")
	[[ $before == "$between" && -n $before && $before == "$(counted "$1" -m "$2")" ]]
}
same_as_vmtouch() {
	local method
	for method in "${methods[@]}"; do
		check "$2 ($method): as vmtouch says" in_time same_at_once "$1" "$method"
	done
}

# drop FILE: out of the cache (POSIX_FADV_DONTNEED); only what is on the disk goes.
drop() { sync "$1" && dd if="$1" of=/dev/null iflag=nocache count=0 status=none; }

is_cached() { [[ $(cached "$1") == "$2" ]]; }
read_and_is() { cat "$1" >/dev/null && is_cached "$1" "$2"; }
half_dropped() { drop half && tail -c 8388608 half >/dev/null && is_cached half $((pages / 2)); }

methods=(auto mincore)
if "$guest" cache -m cachestat guest >/dev/null 2>&1; then
	methods+=(cachestat)
else
	skip "cachestat" "this kernel has none (Linux 6.5)"
fi

echo "# known files"
for file in whole half none; do head -c 16M /dev/urandom >$file; done
head -c 10000 /dev/urandom >odd
: >empty
truncate -s 8G sparse
sync whole half none odd
check "wholly cached" in_time read_and_is whole $pages
same_as_vmtouch whole "wholly cached"
check "half of it dropped" in_time half_dropped
same_as_vmtouch half "half of it dropped"
drop none
check "not cached" is_cached none 0
same_as_vmtouch none "not cached"
check "a part of a page is a page" in_time read_and_is odd 3
check "an empty file" is_cached empty 0
check "sparse, nothing read" is_cached sparse 0
hole_is_cached() { dd if=sparse of=/dev/null bs=64k count=3 skip=1000 status=none && (($(cached sparse) >= 48)); }
check "what was read of a hole is cached" in_time hole_is_cached
same_as_vmtouch sparse "sparse"
truncate -s 8T sparse
check "8 TiB at once" test "$("$guest" cache sparse -j | jq '.total.pages')" -eq $((8 << 28))

# Page by page it would take minutes: a signal ends it, with what is known by then.
"$guest" cache whole sparse none -m mincore --json >so-far 2>why &
holder=$!
at_the_hole() { [[ $(readlink "/proc/$holder"/fd/*) == *"$dir/sparse"* ]]; }
check "page by page" settles at_the_hole
kill -INT "$holder"
wait "$holder"
check "Ctrl-C ends it" test $? = 130
holder=
so_far() { [[ $(jq -c '[.total | .files, .unknown_files, .interrupted, .cached_pages > 0]' so-far) == "[2,1,true,true]" ]]; }
check "with what it has seen until then" so_far
check "and says so" grep -q 'interrupted: this is what was looked at until then' why

echo "# directories"
mkdir -p tree/a/b tree/c
for i in {1..30}; do head -c $((i * 5000)) /dev/urandom >"tree/a/$i"; done
ln tree/a/1 tree/c/hard
ln -s ../a tree/c/link
ln -s ../a/2 tree/c/link2
mkfifo tree/c/pipe
sync tree/a/*
for i in 5 9; do drop tree/a/$i; done
same_as_vmtouch tree "a directory"
check "each file once, however often named" test "$(counted tree | cut -d' ' -f1)" == \
	"$(counted tree tree/a tree/a/3 tree/c/hard | cut -d' ' -f1)"
same_as_vmtouch /usr/share/doc/vmtouch "files of others"
check "what the kernel makes has no pages" test "$(counted /sys/kernel/mm /proc/self/maps | cut -d' ' -f2,3)" == "0 0"

echo "# where in a file"
runs() { "$guest" cache "$@" --map --json | jq -c '.files[0].runs'; }
mapped_half() { half_dropped && [[ $(runs half -m "$1") == "[{\"first_page\":2048,\"pages\":2048}]" ]]; }
drawn() {
	half_dropped && [[ $("$guest" cache half --map --bytes --no-header) == \
		"half
[$(printf '%30s' '')$(printf '%.0sO' {1..30})] 2048/4096
2048 4095 2048 8388608" ]]
}
parts() {
	half_dropped && [[ $("$guest" cache half --histogram=4 --json | jq -c '[.files[0].parts_percent[] | floor]') == "[0,0,100,100]" ]]
}
for method in "${methods[@]}"; do check "runs ($method)" in_time mapped_half "$method"; done
check "the map of one file" in_time drawn
check "histogram" in_time parts

# Each map of many files at once is that of the file alone, and together they are vmtouch's pages.
each_alone() {
	local file
	"$guest" cache none tree half --map --json -m "$1" | jq -c '.files[] | [.name, .runs]' >maps
	for file in $(jq -r '.[0]' maps); do
		"$guest" cache "$file" --map --json -m "$1" | jq -c '.files[] | [.name, .runs]'
	done >alone
	test "$(wc -l <maps)" = 32 && cmp -s maps alone &&
		[[ $(jq -s '[.[][1][].pages] | add' maps) == "$(vmtouched none tree half | cut -d' ' -f2)" ]]
}
for method in "${methods[@]}"; do check "runs of each of 32 files ($method)" in_time each_alone "$method"; done
# vmtouch -v draws a bar, too, in which a character is a page, up to 60 of them: of larger files it rounds otherwise than we do.
bars() { sed 's/.*\r//' | awk '/^\[/ { print name, $0 } { name = $0 }' | sort; }
# same_bars N PATH...: of N files; same_counts likewise, without the bars.
same_bars() {
	bars < <("$guest" cache "${@:2}" --map) >our-bars
	vmtouch -v "${@:2}" 2>/dev/null | bars >vmtouch-bars
	[[ $(wc -l <our-bars) == "$1" ]] && cmp -s our-bars vmtouch-bars
}
same_counts() {
	half_dropped || return 1
	bars < <("$guest" cache "${@:2}" --map) | sed 's/\[.*\]//' >our-counts
	vmtouch -v "${@:2}" 2>/dev/null | bars | sed 's/\[.*\]//' >vmtouch-counts
	[[ $(wc -l <our-counts) == "$1" ]] && cmp -s our-counts vmtouch-counts
}
same_total() {
	[[ $("$guest" cache tree --map | tail -n 2) == $'\n'"total of 30: $(counted tree | cut -d' ' -f2,3 | tr ' ' /)" ]]
}
check "several files, one map for each: the pages as vmtouch says" in_time same_counts 3 half none whole
check "a directory, one map for each of its files: drawn as by vmtouch" in_time same_bars 30 tree
check "and the total" in_time same_total
check "with --top 0 only the total" test "$("$guest" cache tree --map --top 0 | cut -d: -f1)" == "total of 30"
check "the first of them by what is cached" test "$("$guest" cache tree --map --top 2 --basename | grep -c '^\[')" = 2

if [[ " ${methods[*]} " == *" cachestat "* ]]; then
	echo "# dirty"
	dirtied() {
		head -c 1M /dev/zero >fresh
		[[ $("$guest" cache fresh -j | jq -r '.files[0] | "\(.cached_pages) \(.dirty_pages)"') == "256 256" ]]
	}
	check "what was just written is dirty" in_time dirtied
	synced() { sync fresh && [[ $("$guest" cache fresh -j | jq '.files[0] | .dirty_pages + .writeback_pages') == 0 ]]; }
	check "written by sync" in_time synced
fi

echo "# nothing is changed"
drop none
for file in none half; do touch -a -d '2001-01-01' $file; done
before=$(stat -c '%x %y %z' none half tree tree/a)
for method in "${methods[@]}"; do "$guest" cache none half tree -m "$method" --histogram >/dev/null; done
check "neither access times" test "$before" == "$(stat -c '%x %y %z' none half tree tree/a)"
check "nor the cache" is_cached none 0

echo "# of which the kernel does not tell"
half_dropped
chmod 644 half && chmod 666 odd
unknown() { "$@" 2>/dev/null | jq -r '.files[] | if .cached_pages then "known \(.cached_pages)" else "unknown" end'; }
check "vmtouch, not permitted, believes that all is cached" test "$("${nobody[@]}" vmtouch half | grep -c '4096/4096')" -eq 1
for method in "${methods[@]}"; do
	check "we say unknown ($method)" test "$(unknown "${nobody[@]}" "$guest" cache half -j -m "$method")" == unknown
done
expect_exit "and why" 2 '1 unknown: not permitted: the kernel tells only who may write' "${nobody[@]}" "$guest" cache half
cat odd >/dev/null
check "writable by anybody: known" test "$(unknown "${nobody[@]}" "$guest" cache odd -j)" == "known 3"
chmod 600 half
expect_exit "may not be opened" 2 '1 unknown: Permission denied' "${nobody[@]}" "$guest" cache half
check "what is known of others is shown" quietly "${nobody[@]}" "$guest" cache half odd -j
expect_exit "may not be entered" 2 'closed[.0-9]*: Permission denied' "${nobody[@]}" bash -c "mkdir -m 0 /tmp/closed.$$; $guest cache /tmp/closed.$$ /nonexistent; e=\$?; rmdir /tmp/closed.$$; exit \$e"

echo "# mounts"
# 5 pages, owned by somebody else, on a file system mounted read-only.
read_only() {
	# shellcheck disable=SC2016 # for the other shell
	unshare --mount bash -c 'mkdir -p ro && mount -t tmpfs none ro && head -c 20480 /dev/zero >ro/f && truncate -s 28672 ro/f &&
		chown 1234 ro/f && mount -o remount,ro ro && "$@"; umount ro' _ "$@"
}
check "root, read-only" test "$(unknown read_only "$guest" cache ro -j -m mincore)" == "known 5"
check "root without CAP_FOWNER, read-only: not told, not believed" test \
	"$(unknown read_only setpriv --bounding-set=-fowner "$guest" cache ro -j)" == unknown
head -c 1M /dev/urandom >lower && mkdir -p low up work merged && mv lower low/f && sync low/f
overlay() {
	# shellcheck disable=SC2016 # for the other shell
	unshare --mount bash -c 'mount -t overlay none -o lowerdir=low,upperdir=up,workdir=work merged && "$@"; status=$?; umount merged; exit $status' _ "$@"
}
if overlay true 2>/dev/null; then
	overlay_agrees() {
		cat low/f >/dev/null
		local below above
		below=$(cached low/f)
		above=$(overlay "$guest" cache merged/f -j | jq '.total.cached_pages')
		[[ $above == 256 && $below == 256 ]]
	}
	check "overlayfs, of which cachestat says 0" in_time overlay_agrees
else
	skip "overlayfs" "cannot be mounted here"
fi
# shellcheck disable=SC2016 # for the other shell
check "other file systems only when told" test "$(unshare --mount bash -c 'mkdir -p tree/m && mount -t tmpfs none tree/m && echo >tree/m/f &&
	for o in "" --all-file-systems; do "$1" cache tree $o -j | jq ".total.files"; done; umount tree/m; rmdir tree/m' _ "$guest" | paste -sd' ')" == "30 31"

echo "# a process in another mount namespace"
mkdir -p inside
cat >holder.py <<'END'
import mmap, os, time
data = open("inside/data", "r+b")
kept = mmap.mmap(data.fileno(), 0)
gone = open("inside/gone", "w+b")
gone.truncate(40960)
lost = mmap.mmap(gone.fileno(), 0)
lost[8192] = 1
os.unlink("inside/gone")
print("ready", flush=True)
time.sleep(600)
END
unshare --mount bash -c 'mount -t tmpfs none inside && head -c 300000 /dev/urandom >inside/data && truncate -s 1M inside/data && exec python3 holder.py' >ready &
holder=$!
check "it runs" settles grep -q ready ready
of_holder() { "$guest" cache --pid "$holder" -j 2>/dev/null | jq -r --arg name "$1" '.files[] | select(.name | endswith($name)) | "\(.cached_pages)/\(.pages)"'; }
check "not to be seen from here" test ! -e inside/data
check "its file" test "$(of_holder inside/data)" == "74/256"
check "as vmtouch says, from inside" test "$(nsenter -t "$holder" -m vmtouch "$dir/inside/data" | grep -c ' 74/256 ')" -eq 1
check "one that was deleted" test "$(of_holder 'inside/gone (deleted)')" == "1/10"
# Each once: device and inode, as maps writes them. Beside what it maps it has its output open, and what this script was given.
mapped_files() { awk '$5 != 0 { print $4, $5 }' "/proc/$holder/maps"; }
open_files() {
	local fd
	for fd in "/proc/$holder/fd"/*; do
		# shellcheck disable=SC2046,SC2183 # three numbers
		[[ ! -f $fd ]] || printf '%02x:%02x %d\n' $(stat -L -c '%Hd %Ld %i' "$fd")
	done
}
check "all that it has mapped or open" test "$("$guest" cache --pid "$holder" -j | jq .total.files)" -eq \
	"$({ mapped_files && open_files; } | sort -u | wc -l)"
weak=(setpriv '--bounding-set=-sys_admin,-checkpoint_restore')
check "without map_files, by name" test \
	"$("${weak[@]}" "$guest" cache --pid "$holder" -j 2>/dev/null | jq -r '.files[] | select(.name | endswith("inside/data")).cached_pages')" == 74
expect_exit "and what has no name is said" 2 'gone \(deleted\): no longer there' "${weak[@]}" "$guest" cache --pid "$holder"
expect_exit "somebody else's process" 2 "process $holder: Permission denied" "${nobody[@]}" "$guest" cache --pid "$holder"
kill "$holder"
wait "$holder" 2>/dev/null
expect_exit "gone" 2 "process $holder: there is none" "$guest" cache --pid "$holder"
holder=

echo "# hostile names"
mkdir hostile
for name in $'new\nline' $'\033[2Jclear' $'\377\376' 'quo"te,comma' 'back\slash' $'tab\there' 'plain é'; do echo x >"hostile/$name"; done
check "a table of so many lines" test "$("$guest" cache hostile | wc -l)" -eq 9
check "without control characters" test "$("$guest" cache hostile | LC_ALL=C tr -d '\n -~\303\251' | wc -c)" -eq 0
check "CSV of so many records, and valid UTF-8" python3 -c 'import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], encoding="utf-8", newline="")))
names = {r["name"] for r in rows}
assert len(rows) == 7 and all(r["cached_pages"] == "1" for r in rows)
assert {"hostile/new\\x0aline", "hostile/\\xff\\xfe", "hostile/quo\"te,comma", "hostile/back\\\\slash", "hostile/plain é"} <= names
assert sum(int(r["name_escaped"]) for r in rows) == 5' <("$guest" cache hostile --csv)
check "JSON with each name" test "$("$guest" cache hostile --json | jq -r '[.files[] | select(.name_escaped)] | length')" -eq 5
rm hostile/*
# Each character that Unicode calls a control, format or separator of lines, in a file of its own, and what an escape looks like.
python3 -c 'import sys, unicodedata
for code in range(1, 0x110000):
    if unicodedata.category(chr(code)) in ("Cc", "Cf", "Zl", "Zp"):
        open(f"hostile/a{chr(code)}b", "w").close()
open("hostile/a\\x0ab", "w").close()'
check "no format character or separator of Unicode reaches the terminal" test "$("$guest" cache hostile | LC_ALL=C tr -d '\n -~' | wc -c)" -eq 0
check "and no two names look the same" test "$("$guest" cache hostile --csv --no-header | cut -d, -f1 | sort | uniq -d | wc -l)" -eq 0
check "from each the name can be had back" python3 -c 'import json, os, re, sys
def name_of(text):
    return re.sub(rb"\\(\\|x..)", lambda m: m[1] if m[1] == b"\\" else bytes([int(m[1][1:], 16)]), text.encode())
found = {name_of(f["name"]) for f in json.load(sys.stdin)["files"]}
assert found == {b"hostile/" + n for n in os.listdir(b"hostile")} and len(found) > 200' < <("$guest" cache hostile --json)

echo "# options"
check "--top and --sort" test "$("$guest" cache tree --sort size --top 2 --basename -j | jq -r '[.files[].name] | join(" ")')" == "30 29"
check "--top 0 is the total" test "$("$guest" cache tree -n 0 --no-header | wc -l)" -eq 1
check "--terse is --csv" test "$("$guest" cache tree/a/1 --terse)" == "$("$guest" cache tree/a/1 --csv)"
check "--bytes" test "$("$guest" cache odd --bytes --no-header | awk 'NR == 1 { print $1, $4 }')" == "10000 12288"
expect_exit "nothing named" 1 'needs a FILE' "$guest" cache
expect_exit "no such method" 1 'auto, cachestat or mincore' "$guest" cache -m magic .
expect_exit "no such order" 1 'name, size, cached or percent' "$guest" cache -s age .
expect_exit "too many parts" 1 '2 to 16' "$guest" cache --histogram=17 .
for option in --csv --terse; do expect_exit "a map with $option" 1 '--json, not --csv' "$guest" cache --map $option tree; done
expect_exit "not there" 2 'absent: No such file' "$guest" cache absent
expect_exit "a device" 2 'null: neither a regular file' "$guest" cache /dev/null
expect_exit "a link" 2 'link2: a symbolic link; add --follow' "$guest" cache tree/c/link2
check "a link followed" test "$(counted --follow tree/c/link2 | cut -d" " -f1,3)" == "1 3"

finish
