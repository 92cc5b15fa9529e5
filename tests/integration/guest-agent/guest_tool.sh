#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: cost=16
#
# vmwss-guest beside its peers: what users of pcstat, vmtouch, fincore, smem and wss.pl ask of it, over files, processes and mounts
# that are made here.

# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"
# shellcheck source=../../lib/agent_directory.sh
. "$root/tests/lib/agent_directory.sh"

loop=
end_more() {
	exec 7<&-
	[[ -z $loop ]] || losetup -d "$loop" 2>/dev/null
}

echo "# huge pages of tmpfs"
# 20 files of one byte, beside what the file system itself says that they take; as the guest tells of each method, and a file's row.
huge_pages() {
	# shellcheck disable=SC2016 # for the other shell
	unshare --mount bash -c 'mkdir -p huge && mount -t tmpfs -o huge=always none huge || exit
		for i in {1..20}; do printf x >huge/$i; done
		df --output=used -B1 huge | tail -n 1
		for method in auto mincore; do "$1" cache huge -m $method --json | jq -r ".total.cached_bytes"; done
		"$1" cache huge/1 --json --map | jq -c ".files[0] | [.cached_pages, .beyond_eof_pages, .cached_percent + 0, .runs]"
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

echo "# which files"
mkdir -p tree/.git tree/sub
for name in a.log b.txt .git/pack sub/c.log $'new\nline'; do head -c 5000 /dev/urandom >"tree/$name"; done
truncate -s 40K tree/hole
shown() { "$guest" cache "$@" --json 2>/dev/null | jq -c '[.files[].name]'; }
files() { "$guest" cache "$@" --json 2>/dev/null | jq .total.files; }
check "names from a list" test "$(printf 'tree/a.log\n\ntree/sub\n' >list; shown --files-from list)" = '["tree/a.log","tree/sub/c.log"]'
check "from standard input, with the last one not ended" test "$(printf 'tree/b.txt\ntree/a.log' | shown -f -)" = '["tree/a.log","tree/b.txt"]'
check "with NUL" test "$(find tree -type f -print0 | files -f - -0)" = 6
check "and beside those named" test "$(files -f list tree/b.txt tree/a.log)" = 3
expect_exit "one of a list that is not there" 2 'gone: No such file' "$guest" cache -f <(printf 'tree/a.log\ngone\n')
expect_exit "no list" 2 '--files-from nolist: No such file' "$guest" cache -f nolist
check "ignored by name, a directory with all below it" test "$(shown tree -i '*.log' -i .git -i hole)" = '["tree/b.txt","tree/new\\x0aline"]'
check "or by path" test "$(files tree -i 'tree/sub/*')" = 5
check "of a process too" test "$(names -p "$pid" -i '*.so*' -i opened | grep -cE '/(opened|.*\.so.*)$')" = 0
cat tree/*.* >/dev/null
check "only what is cached; the total is of all" test "$("$guest" cache tree --cached --json | jq -c '[.total.files, ([.files[].name] | index("tree/hole"))]')" = \
	'[6,null]'

echo "# a block device"
head -c 4M /dev/urandom >disk
if loop=$(losetup -f --show disk 2>/dev/null) && exec 7<"$loop"; then
	dd bs=64k count=16 status=none <&7 >/dev/null
	device() { "$guest" cache "$loop" --json "$@" | jq -c '.files[0] | [.size_bytes, .pages, .cached_pages]'; }
	vmtouched() { vmtouch "$loop" | awk '/Resident Pages:/ { split($3, p, "/"); print p[1] }'; }
	# The kernel reads ahead for a while.
	as_vmtouch() {
		local pages
		pages=$(vmtouched)
		[[ $pages -ge 256 && $(device "$@") == "[4194304,1024,$pages]" && $(vmtouched) == "$pages" ]]
	}
	check "what was read, as vmtouch says" settles as_vmtouch
	check "by mincore" settles as_vmtouch -m mincore
	mknod alias b $((0x$(stat -c %t "$loop"))) $((0x$(stat -c %T "$loop")))
	check "once, by whatever name" test "$(files "$loop" alias)" = 1
	check "not when it is found in a directory" test "$(mkdir nodes && mv alias nodes && files nodes)" = 0
	expect_exit "closed to others" 2 '1 unknown: Permission denied' "${nobody[@]}" "$guest" cache "$loop"
	check "who may know its size all the same" test "$("${nobody[@]}" "$guest" cache "$loop" --json 2>/dev/null | jq .files[0].size_bytes)" = 4194304
	exec 7<&-
	losetup -d "$loop" && loop=
else
	skip "a block device" "no loop device can be had here"
fi

echo "# processes"
begin sleep 600
other=$pid
pids_of() { "$guest" smaps "$@" --json 2>/dev/null | jq -c '[.processes[].pid]'; }
expect_exit "a PID that has ended, beside one that runs" 2 "process $gone: there is no such process" "$guest" smaps "$other" "$gone"
check "the other is shown" test "$(pids_of "$gone" "$other")" = "[$other]"
check "one that is named twice counts once" test "$(pids_of "$other" $$ "$other")" = "[$other,$$]"
"${nobody[@]}" "$guest" smaps "$other" --json >out 2>why
check "one that may not be looked at is shown by its RSS" quietly jq -e '.refused == 1 and (.processes[0] | .rss_bytes > 0 and .pss_bytes == null)' out
check "and said to be so" grep -q 'not permitted to look at some processes (1); run as root' why
check "root without the right to is not told to be root" test "$(setpriv --bounding-set=-sys_ptrace "$guest" smaps 1 2>&1 >/dev/null | grep -c 'this root lacks CAP_SYS_PTRACE')" = 1
ordered() {
	"${nobody[@]}" "$guest" smaps --top 20 --json 2>/dev/null |
		jq -e '[.processes[] | .pss_bytes // .rss_bytes] | length > 1 and . == (sort | reverse)'
}
check "to an ordinary user the largest come first, also those that he may not see into" quietly ordered
check "PSS split" quietly jq -e '.processes[0] | (.pss_bytes - .pss_anon_bytes - .pss_file_bytes - .pss_shmem_bytes | fabs) <= 4096' \
	<("$guest" smaps $$ --json)
check "in the table" test "$("$guest" smaps $$ --split | head -n 1 | xargs)" = "PID RSS PSS ANON FILE SHMEM USS REF SWAP NAME"
begin python3 -c 'import mmap, time
memory = mmap.mmap(-1, 8 << 20)
memory[:] = bytes(8 << 20)
print("ready", flush=True)
time.sleep(600)' >ready
settles grep -q ready ready
check "shared memory of 8 MiB is shmem, and unique as nobody else maps it" quietly jq -e '.processes[0] | .pss_shmem_bytes == 8388608 and
	.uss_bytes >= 8388608 and .uss_bytes <= .pss_bytes' <("$guest" smaps "$pid" --json)
begin sleep 600
"$guest" smaps "$other" "$pid" $$ --json >each
"$guest" smaps "$other" "$pid" $$ --by program --json >out
# Other processes that map a library meanwhile move PSS and USS a little.
# shellcheck disable=SC2016 # jq's variables
check "sums by program" quietly jq -e --slurpfile each each '
	def near(a; b): (a - b | fabs) < 262144;
	[$each[0].processes[] | select(.name == "sleep")] as $s |
	.by == "program" and (.groups | length == 2) and (.groups[] | select(.name == "sleep") | .processes == 2 and
	near(.pss_bytes; $s | map(.pss_bytes) | add) and near(.uss_bytes; $s | map(.uss_bytes) | add))' out
begin "${nobody[@]}" sleep 600
settles grep -qE '^Uid:.65534' "/proc/$pid/status"
check "and by user" test "$("$guest" smaps "$other" "$pid" $$ --by user --json | jq -c '[.groups[] | [.name, .processes]] | sort')" = \
	'[["nobody",1],["root",2]]'
expect_exit "by something else" 1 'program or user' "$guest" smaps --by colour

echo "# the working set of several processes"
rows_of() { awk -v pid="$1" '/^[0-9]/ && $NF == "sleep" && $(NF - 1) == pid' out | wc -l; }
expect_exit "one of two has ended before" 2 "process $gone: there is no such process" "$guest" wss "$gone,$other" 0.05
"$guest" wss "$gone,$other,$other" 0.05 --json >out 2>/dev/null
check "the other is measured, once" test "$(jq -c '[.processes[].pid]' out)" = "[$other]"
# one_ends OPTION...: of the two that are watched, once that has begun; waits for the end. Sets pid.
one_ends() {
	begin sleep 600
	local ends=$pid
	settles grep -qx sleep "/proc/$ends/comm" # it is bash at first
	: >out
	begin "$guest" wss "$other,$ends" "$@" >out 2>why
	settles test -s out
	kill "$ends"
	wait "$pid"
	status=$?
	pid=$ends
}
one_ends 2
check "one of two ends meanwhile: exit status" test "$status" = 2
check "it is reported by name: $(<why)" grep -qx "vmwss-guest: process $pid (sleep) has ended" why
check "and the other is measured" test "$(rows_of "$other") $(rows_of "$pid")" = "1 0"
one_ends 0.3 --cumulative --total 3 --json
check "JSON counts it" quietly jq -es '.[0].ended == 0 and (.[0].processes | length) == 2 and .[-1].ended == 1 and
	.[-1].refused == 0 and (.[-1].processes | length) == 1' out
begin "${nobody[@]}" sleep 600
expect_exit "of all, what was refused is counted" 0 'not permitted to look at [0-9]+ of [0-9]+ processes; run as root' \
	"${nobody[@]}" "$guest" wss --all 0.05

echo "# the agent"
# serves COMMAND...: an agent on ./socket begins, by COMMAND, its messages in why; sets pid.
serves() {
	begin "$@" "$guest" serve --listen socket 2>why
	settles answers
}
answers() { python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect("socket")' 2>/dev/null; }
serves env || fail "the agent begins"
kill -KILL "$pid"
wait "$pid" 2>/dev/null
check "kill -9 leaves its socket" test -S socket
check "which the next agent replaces" serves env
expect_exit "one in which an agent listens is left alone" 2 'socket: an agent listens there' "$guest" serve --no-triggers --listen socket
check "and answers still" answers
kill "$pid"
wait "$pid" 2>/dev/null
check "it removes its socket at the end" test ! -e socket
echo >socket
expect_exit "nor is what is no socket" 2 'socket: .* it is no socket' "$guest" serve --no-triggers --listen socket
check "but left alone" test -f socket
rm socket
if python3 -c 'import os
os.setgroups([]), os.setgid(65534), os.setuid(65534)
os.write(os.open("/proc/pressure/memory", os.O_RDWR), b"some 300000 2000000\0")' 2>/dev/null; then
	watches() { [[ $(readlink "/proc/$pid"/fd/*) == */proc/pressure/memory* ]]; }
	serves setpriv --bounding-set=-sys_resource
	check "without CAP_SYS_RESOURCE stalls are reported by a window of 2 s" settles watches
	check "and its log says so" grep -q 'no CAP_SYS_RESOURCE for the trigger .*:1000000: stalls are reported by .*:2000000$' why
	kill "$pid"
	wait "$pid" 2>/dev/null
else
	skip "triggers for anybody" "this kernel has none (PSI, Linux 6.4)"
fi

echo "# what violated a trigger"
anybody_triggers() {
	python3 -c 'import os
os.setgroups([]), os.setgid(65534), os.setuid(65534)
os.write(os.open("/proc/pressure/cpu", os.O_RDWR), b"some 100000 2000000\0")' 2>/dev/null
}
if anybody_triggers; then
	# Two that want one CPU: one of them waits, all the time.
	for i in 1 2; do
		begin taskset -c 0 sh -c 'while :; do :; done'
		waiting[i]=$pid
	done
	"$guest" pressure --trigger cpu:some:100000:2000000 --count 2 --json >out
	"$guest" pressure --trigger cpu:some:100000:2000000 --count 1 >text
	kill "${waiting[@]}"
	check "is told: $(tail -n 1 out)" quietly jq -es '.[1].stall | .stalled_us >= .threshold_us and .stalled_us <= .over_us and
		.over_us >= .window_us and .total_us > .stalled_us and .avg10 > 0' out
	check "in text too: $(<text)" grep -qE ' cpu some: more than 100 ms of 2000 ms: [0-9]+ ms of [0-9]+ ms, avg10 [0-9.]+%$' text
else
	skip "what violated a trigger" "this kernel gives triggers to nobody (PSI, Linux 6.4)"
fi

echo "# pressure of many groups"
# A tree of our own: group N of five has an average of N % for memory, 10 - N % for the CPU (full), and a total of 0.
mkdir -p root/proc/pressure root/sys/fs/cgroup
: >root/sys/fs/cgroup/cgroup.controllers
# pressure_of DIRECTORY SUFFIX SHARE-OF-MEMORY SHARE-OF-CPU
pressure_of() {
	printf 'some avg10=%s.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n' "$3" >"$1/memory$2"
	printf 'some avg10=0.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=%s.00 avg60=0.00 avg300=0.00 total=0\n' "$4" >"$1/cpu$2"
}
pressure_of root/proc/pressure '' 0 0
for i in 3 1 5 2 4; do
	mkdir "root/sys/fs/cgroup/g$i"
	pressure_of "root/sys/fs/cgroup/g$i" .pressure "$i" $((10 - i))
done
groups() { VMWSS_GUEST_ROOT=root "$guest" pressure --cgroups --json "$@" | jq -r '.groups[].cgroup' | paste -sd' '; }
check "by name" test "$(groups)" = "null /g1 /g2 /g3 /g4 /g5"
check "those first that stall most, after the whole guest" test "$(groups --sort memory)" = "null /g5 /g4 /g3 /g2 /g1"
check "by another resource, and its full" test "$(groups -s cpu:full)" = "null /g1 /g2 /g3 /g4 /g5"
check "where they are equal by name" test "$(groups -s cpu)" = "null /g1 /g2 /g3 /g4 /g5"
check "the first of them" test "$(groups --top 2)" = "null /g5 /g4"
check "in the table" test "$(VMWSS_GUEST_ROOT=root "$guest" pressure -G -n 1 | awk 'NR > 1 { print $1 }' | uniq | paste -sd' ')" = "(all) /g5"
# The total of the group that had least before grows: over an interval it is the first.
begin python3 -c 'import os, time
for total in range(1, 10 ** 6):
    with open("new", "w") as file:
        for kind in "some", "full":
            file.write(f"{kind} avg10=0.00 avg60=0.00 avg300=0.00 total={total * 1000}\n")
    os.rename("new", "root/sys/fs/cgroup/g2/memory.pressure")
    time.sleep(0.01)'
settles grep -qE 'total=(9|[0-9]{2,})000$' root/sys/fs/cgroup/g2/memory.pressure
check "over an interval by what was added in it" test "$(groups -n 1 -i 0.5 -k 1)" = "null /g2"
kill "$pid"
expect_exit "only of groups" 1 'are for --cgroups' "$guest" pressure --top 3
expect_exit "by nothing that there is" 1 'memory, io or cpu' "$guest" pressure -G --sort memory:most
expect_exit "nor by nothing" 1 'memory, io or cpu' "$guest" pressure -G --sort ''

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
