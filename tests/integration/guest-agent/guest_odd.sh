#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: cost=16
# shellcheck disable=SC2016,SC2317 # jq and inner shells have variables of their own; checks call functions
#
# vmwss-guest in odd guests: processes, files, mounts, namespaces and control groups that few guests have, made here as far as this
# machine allows.

# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"
# shellcheck source=../../lib/agent_directory.sh
. "$root/tests/lib/agent_directory.sh"

# ready COMMAND...: begin, and wait until it has printed a line, which is then in ./said.
ready() {
	: >said
	begin "$@" >said
	settles has_line
}

has_line() { (($(wc -l <said) > 0)); }

# report: of an agent on ./socket, the report.
report() {
	python3 - <<-'END'
	import socket
	s = socket.socket(socket.AF_UNIX)
	s.connect("socket")
	s.sendall(b'{"ask":"report","seq":1}\n')
	print(s.makefile().readline())
	END
}
# serve COMMAND...: an agent on ./socket, begun by COMMAND; sets pid.
serve() {
	rm -f socket
	begin "$@" "$guest" serve --no-triggers --listen socket 2>why
	settles test -S socket
}

echo "# a process whose first thread has ended"
cat >zombie.py <<'END'
import ctypes, threading, time
memory = bytearray(b"\1") * (64 << 20)
file = open("zombie.py")
threading.Thread(target=time.sleep, args=(600,)).start()
print("ready", flush=True)
ctypes.CDLL(None).syscall(60 if __import__("os").uname().machine == "x86_64" else 93, 0)
END
ready python3 zombie.py
settles grep -q '^State:.Z' "/proc/$pid/status"
zombie=$pid
has_it() { quietly jq -e --argjson pid "$zombie" "$1" out; }
"$guest" smaps "$zombie" --json >out
check "smaps: $(jq -c '.processes[0] | [.rss_bytes, .pss_bytes]' out)" has_it '.processes[0] | .rss_bytes > 67108864 and .pss_bytes > 67108864'
"$guest" smaps --all --json >out
check "smaps --all" has_it '.processes[] | select(.pid == $pid) | .uss_bytes > 67108864'
"$guest" smaps --by program --json >out
check "smaps --by" has_it '.groups[] | select(.name | startswith("python3")) | .pss_bytes > 67108864'
"${nobody[@]}" "$guest" smaps "$zombie" --json >out 2>/dev/null
check "by its RSS, to one who may not see more" has_it '.refused == 1 and .processes[0].rss_bytes > 67108864 and .processes[0].swap_bytes >= 0'
"$guest" wss "$zombie" 0.1 --json >out
check "wss" has_it '[.. | .rss_bytes? // empty] | max > 67108864'
"$guest" cache -p "$zombie" --json >out
check "cache --pid: what it maps" has_it '[.files[].name | select(test("libc"))] != []'
check "and has open" has_it '[.files[].name | select(endswith("/zombie.py"))] != []'
kill -KILL "$zombie"
# Alone in a namespace, where nothing is larger.
begin unshare --pid --fork --mount-proc --kill-child bash -c 'python3 zombie.py & exec "$1" serve --no-triggers --listen socket' _ "$guest" >/dev/null
settles test -S socket
has_it() { report >out && quietly jq -e '.report.processes[] | select(.name | startswith("python3")) | .pss_bytes > 67108864' out; }
check "serve" settles has_it
kill -KILL "$pid" # unshare waits for its child whatever else it is told
wait 2>/dev/null

echo "# a thread with descriptors of its own"
cat >thread.py <<'END'
import ctypes, os, threading, time
def alone():
    assert ctypes.CDLL(None).unshare(0x400) == 0 # CLONE_FILES
    os.open("own", os.O_CREAT | os.O_RDWR)
    print("ready", flush=True)
    time.sleep(600)
threading.Thread(target=alone).start()
END
ready python3 thread.py
check "cache --pid counts what it has open" quietly jq -e '[.files[].name | select(endswith("/own"))] | length == 1' <("$guest" cache -p "$pid" --json)
kill -KILL "$pid"
wait 2>/dev/null

echo "# two processes in one address space"
cat >vforked.py <<'END'
import ctypes, os, time
x86 = os.uname().machine == "x86_64"
memory = bytearray(b"\1") * (64 << 20)
print("ready", flush=True)
# The child of a vfork(), which runs on the stack of this one as long as this one waits for it: for ever.
ctypes.CDLL(None).syscall(56 if x86 else 220, 0x4111, 0, 0, 0, 0)
time.sleep(600)
END
# denied COMMAND...: where kcmp(2) is not permitted.
cat >denied.py <<'END'
import ctypes, os, struct, sys
x86 = os.uname().machine == "x86_64"
code = [(0x20, 0, 0, 0), (0x15, 0, 1, 312 if x86 else 272), (6, 0, 0, 0x50001), (6, 0, 0, 0x7fff0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
filter = struct.pack("HxxxxxxQ", 4, ctypes.addressof(code))
libc = ctypes.CDLL(None)
libc.prctl(38, 1, 0, 0, 0)
assert libc.prctl(22, 2, filter, 0, 0) == 0
os.execvp(sys.argv[1], sys.argv[1:])
END
denied() { python3 denied.py "$@"; }
ready python3 vforked.py
parent=$pid
settles pgrep -P "$parent" >child
child=$(<child)
once() { quietly jq -e "$1 | add | . > 67108864 and . < 100000000" out; }
"$guest" smaps --all --json >out
check "smaps --all: once" once "[.processes[] | select(.pid == $parent or .pid == $child) | .pss_bytes // empty]"
check "the other's row says so" quietly jq -e ".processes[] | select(.pid == $child) | .same_memory_as == $parent and .rss_bytes > 67108864" out
check "in the table" grep -qE "^ *$child .* - +- .* \(in memory of $parent\)$" <("$guest" smaps --all)
"$guest" smaps "$child" --json >out
check "alone it has its numbers" once '[.processes[].pss_bytes]'
"$guest" smaps "$parent" "$child" --by program --json >out
check "smaps --by" once '[.groups[].uss_bytes]'
check "is no lower bound" quietly jq -e '.groups[0] | .processes == 2 and .unread == 0' out
"$guest" wss "$child,$parent" 0.05 --json >out
check "wss" quietly jq -e ".processes[] | select(.pid == $parent) | .same_memory_as == $child" out
denied "$guest" smaps "$parent" "$child" --json >out 2>why
check "without kcmp() it is not known: $(<why)" quietly jq -e '.sharing_unknown and (.processes | length) == 2' out
check "and said" grep -q 'kcmp(2) is not available' why
check "unless no two can be" quietly jq -e '.sharing_unknown | not' <(denied "$guest" smaps "$parent" $$ --json 2>&1)
kill -KILL "$parent" "$child" # in this order: without the child it would go on
wait 2>/dev/null
# Alone in a namespace, where nothing is larger.
begin unshare --pid --fork --mount-proc --kill-child bash -c 'python3 vforked.py & exec "$1" serve --no-triggers --listen socket --working-set=1' _ "$guest" >/dev/null
settles test -S socket
has_it() { report >out && quietly jq -e '.report | .working_set and (.processes | map(select(.name == "python3")) | length == 1 and .[0].pss_bytes > 67108864)' out; }
check "serve: once" settles has_it
check "and its working set" quietly jq -e '.report.working_set.anon_bytes < 100000000' out
kill -KILL "$pid"
wait 2>/dev/null

echo "# shared memory of System V"
# Two segments of 8 MiB: the first one's id is 0, and so is its inode.
cat >shm.py <<'END'
import ctypes, time
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
for _ in range(2):
    id = libc.shmget(0, 8 << 20, 0o1600)
    ctypes.memset(libc.shmat(id, None, 0), 1, 8 << 20)
    libc.shmctl(id, 0, None)
    print(id, end=" ")
print(flush=True)
time.sleep(600)
END
if ready unshare -i python3 shm.py && grep -q '^0 1 ' said; then
	shm=$(pgrep -P "$pid" || echo "$pid")
	"$guest" cache -p "$shm" --json >out
	check "both: $(jq '[.files[] | select(.name | test("SYSV")) | .cached_bytes] | add' out)" \
		quietly jq -e '[.files[] | select(.name | test("SYSV")) | .cached_bytes] == [8388608, 8388608]' out
	kill "$pid"
	wait "$pid" 2>/dev/null
else
	skip "shared memory of System V" "no namespace of its own: $(<said)"
fi

echo "# files of one device and one inode, as maps shows them"
cat >map.py <<'END'
import ctypes, os, sys, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
for name in sys.argv[1:]: # nothing stays open
    file = os.open(name, os.O_RDONLY)
    ctypes.string_at(libc.mmap(None, 8 << 20, 1, 1, file, 0), 1)
    os.close(file)
print("ready", flush=True)
time.sleep(600)
END
in_btrfs() {
	grep -qw btrfs /proc/filesystems && truncate -s 256M disk && mkfs.btrfs -q disk >/dev/null 2>&1 && mkdir btrfs && mount -o loop disk btrfs
}
end_more() { umount "$dir"/btrfs/top/{tmpfs,bound,data/nested/tmpfs} "$dir/btrfs" "$dir/overlay" 2>/dev/null; }
mapped() { jq -c '[.files[] | select(.name | test("/(btrfs|overlay)/")) | .pages] | sort' out; }
# mapped_by NAME FILE...: a process maps the files, and both ways find them.
mapped_by() {
	local name=$1
	shift
	ready python3 map.py "$@"
	"$guest" cache -p "$pid" --json >out
	check "$name" test "$(mapped)" = "$pages"
	setpriv --bounding-set=-sys_admin,-checkpoint_restore --inh-caps=-all "$guest" cache -p "$pid" --json >out 2>why
	check "$name, by their names: $(grep -v '/usr\|/lib' why)" test "$(mapped)" = "$pages"
	kill "$pid"
}
if in_btrfs 2>/dev/null; then
	btrfs -q subvolume create btrfs/a
	head -c 8M /dev/urandom >btrfs/a/file
	head -c 8M /dev/urandom >btrfs/a/$'two\nlines'
	sync -f btrfs
	btrfs -q subvolume snapshot btrfs/a btrfs/b
	pages='[2048,2048]'
	mapped_by "btrfs: a file, and its snapshot" btrfs/a/file btrfs/b/file
	mapped_by "with a newline in its name" btrfs/a/$'two\nlines' btrfs/b/$'two\nlines'
	# 4 MiB, 16 in a subvolume, 2 in one below that, 1 in a bind mount; and tmpfs with 3 MiB, twice.
	mkdir -p btrfs/aside
	mkdir btrfs/top
	btrfs -q subvolume create btrfs/top/data
	btrfs -q subvolume create btrfs/top/data/nested
	mkdir btrfs/top/{tmpfs,bound} btrfs/top/data/nested/tmpfs
	mount --bind btrfs/aside btrfs/top/bound
	for at in btrfs/top btrfs/top/data/nested; do
		mount -t tmpfs none "$at/tmpfs"
		head -c 3M /dev/urandom >"$at/tmpfs/file"
	done
	head -c 4M /dev/urandom >btrfs/top/file
	head -c 16M /dev/urandom >btrfs/top/data/file
	head -c 2M /dev/urandom >btrfs/top/data/nested/file
	head -c 1M /dev/urandom >btrfs/aside/file
	of_top() { "$guest" cache btrfs/top --json "$@" 2>why | jq -c '.total | [.cached_bytes / 1048576, .not_entered]'; }
	check "subvolumes are entered, mounts counted: $(of_top)" test "$(of_top)" = "[23,2]"
	check "and said: $(<why)" grep -q 'mounted on directories (2), which are not entered: add --all-file-systems' why
	check "in the table" grep -q ' total of 4, 2 mounts not entered$' <("$guest" cache btrfs/top 2>&1)
	check "but not those that are ignored" test "$(of_top -i tmpfs)" = "[23,0]"
	check "all" test "$(of_top --all-file-systems)" = "[29,0]"
	umount btrfs/top/{tmpfs,data/nested/tmpfs} btrfs/top/bound
	mount -o subvol=a "$(findmnt -no SOURCE btrfs | sed 's/\[.*//')" btrfs/top/bound
	check "a subvolume that is mounted by itself is a mount" test "$(of_top)" = "[22,1]"
	umount btrfs/top/bound
else
	skip "btrfs" "this kernel has none, or mkfs.btrfs is not there"
fi
mkdir -p lower upper work overlay
head -c 8M /dev/urandom >lower/file
if mount -t overlay -o lowerdir=lower,upperdir=upper,workdir=work none overlay 2>/dev/null; then
	pages='[2048]'
	mapped_by "overlayfs" overlay/file
else
	skip "overlayfs" "none can be mounted here"
fi

echo "# a guest that has run for six years"
cat >ask.py <<'END'
# Prints "yes" when each of four reports has an uptime between those of /proc before and after it.
import json, socket, time
s = socket.socket(socket.AF_UNIX)
s.connect("socket")
f = s.makefile()
up = lambda: float(open("/proc/uptime").read().split()[0])
right = []
for seq in range(4):
    before = up()
    s.sendall(b'{"ask":"report","seq":%d}\n' % seq)
    told = json.loads(f.readline())["report"]["uptime_s"]
    right.append(before <= told <= up())
    time.sleep(0.11)
print("yes" if all(right) else right, up() > 2e8)
END
long_ago() {
	# shellcheck disable=SC2016 # for the other shell
	unshare --time --boottime 200000000 --fork --kill-child bash -c '"$1" serve --no-triggers --listen long & python3 -c "
import socket, time
while True:
    try: socket.socket(socket.AF_UNIX).connect(\"long\"); break
    except OSError: time.sleep(0.1)"
		sed -i s/socket\"/long\"/ ask.py; python3 ask.py; kill $!' _ "$guest" 2>/dev/null
}
told=$(long_ago)
if [[ $told == *True ]]; then
	check "its uptime is told to the hundredth: $told" test "$told" = "yes True"
else
	skip "its uptime" "no time namespace: $told"
fi

echo "# hosts that come one directly after the other"
serve env
cat >storm.py <<'END'
# The agent does not get to run between the end of one and the begin of the next; then as fast as it goes.
import json, os, signal, socket, sys
agent = int(sys.argv[1])
def begin():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(60)
    s.connect("socket")
    return s
def answered(s, seq):
    try:
        send(s, b'{"ask":"hello","seq":%d}\n' % seq)
        return json.loads(s.makefile().readline())["seq"] == seq
    except (OSError, ValueError):
        return False
def send(s, text):
    try:
        s.sendall(text)
    except OSError:
        pass
right, s = 0, begin()
right += answered(s, 0)
for i in range(20):
    os.kill(agent, signal.SIGSTOP)
    if i % 2: send(s, b'{"ask":"report","seq":77}\n{"as')
    s.close()
    s = begin()
    os.kill(agent, signal.SIGCONT)
    right += answered(s, i)
s.close()
for i in range(2000):
    s = begin()
    if i % 3 == 0: send(s, b'{"ask":"hello","seq":1}\n')
    right += i % 3 == 0 or answered(s, i)
    s.close()
print(right)
END
told=$(python3 storm.py "$pid")
kill -CONT "$pid"
check "all are answered: $told of 2021" test "$told" = 2021
kill "$pid"
wait "$pid" 2>/dev/null

echo "# what the kernel does not count"
mkdir -p counts/proc
printf 'nr_free_pages 1000\nworkingset_refault_anon 0\nworkingset_refault_file 5\n' >counts/proc/vmstat
VMWSS_GUEST_ROOT=counts "$guest" paging -i 0.1 --json >out
check "paging: $(jq -c '[.verdict, .reason]' out)" quietly jq -e '.verdict == "unknown" and (.reason | test("scanned a second is not known")) and
	.per_s.scanned_kswapd_pages == null' out
check "in text" grep -q '^unknown: how many pages scanned' <(VMWSS_GUEST_ROOT=counts "$guest" paging -i 0.1)
memory() { VMWSS_GUEST_ROOT=$root/tests/fixtures/guest-7.3 "$guest" memory "$@"; }
check "memory: what the kernel counted below 0, and which numbers it marks as inaccurate" test \
	"$(memory --json | jq -c '.allocations | [.[4].bytes, map(.accurate)]')" = '[-2064,[null,false,false,null,false,null]]'
check "in text" test "$(memory | grep -c ' no$')" = 3

echo "# a control group whose pressure is switched off"
two=/sys/fs/cgroup
[[ -e $two/cgroup.controllers ]] || two=$two/unified
group=vmwss-odd-$$
if mkdir "$two/$group" 2>/dev/null && echo 0 2>/dev/null >"$two/$group/cgroup.pressure"; then
	expect_exit "--cgroup says so, and what to do" 2 "switched off for this control group: echo 1 >$two/$group/cgroup.pressure" \
		"$guest" pressure -g "$group"
	expect_exit "a trigger too" 2 "echo 1 >$two/$group/cgroup.pressure" "$guest" pressure -g "$group" -t memory:some:150000:1000000
	"$guest" pressure -G --json >out
	check "--cgroups names it" quietly jq -e --arg group "/$group" '.groups[] | select(.cgroup == $group) | .pressure_off | test("switched off")' out
	"$guest" pressure -G >out 2>why
	check "in the table, with dashes" grep -qE "^/$group +- +- +- " out
	check "and why: $(<why)" grep -q "echo 1 >" why
	echo 1 >"$two/$group/cgroup.pressure"
	check "switched on it has numbers" quietly "$guest" pressure -g "$group"
else
	skip "a control group's pressure" "no switch for it here (Linux 6.1, cgroup v2)"
fi
rmdir "$two/$group" 2>/dev/null
[[ ! -e $two/cgroup.controllers ]] ||
	expect_exit "a group that is not there" 2 'vmwss-no-such: there is no such control group' "$guest" pressure -g vmwss-no-such

echo "# a control group whose groups may not be listed"
if mkdir -p "$two/$group/below" 2>/dev/null && chmod 711 "$two/$group"; then
	check "is counted" quietly jq -e '.refused >= 1' <("${nobody[@]}" "$guest" pressure -G --json)
	"${nobody[@]}" "$guest" pressure -G >out 2>why
	check "and said: $(grep list why)" grep -q 'not permitted to list the groups below some control groups (.*; run as root' why
	check "root is refused nothing" quietly jq -e '.refused == null' <("$guest" pressure -G --json)
else
	skip "a control group's groups" "no group can be made here"
fi
rmdir "$two/$group/below" "$two/$group" 2>/dev/null

echo "# a process in a thousand groups"
begin setpriv --reuid=65534 --regid=65534 --groups="$(seq -s, 100000 101200)" sleep 600
settles grep -qx sleep "/proc/$pid/comm"
check "its user: $("$guest" smaps "$pid" --by user --json | jq -r .groups[0].name)" \
	test "$("$guest" smaps "$pid" --by user --json | jq -r .groups[0].name)" = nobody
kill "$pid"

echo "# other ways to mount /proc"
# proc_of OPTIONS COMMAND...
proc_of() { unshare --mount bash -c 'mount -t proc -o "$1" none /proc 2>/dev/null && shift && exec "$@"' _ "$@"; }
if proc_of subset=pid true; then
	for command in memory paging pressure; do
		expect_exit "subset=pid: $command" 2 'mounted with subset=pid' proc_of subset=pid "$guest" $command
	done
	check "wss does not know of reclaim" quietly jq -e '.flags | index("reclaim-unknown")' <(proc_of subset=pid "$guest" wss $$ 0.01 --json 2>/dev/null)
	begin unshare --mount bash -c 'mount -t proc -o subset=pid none /proc && exec "$1" serve --no-triggers --listen socket' _ "$guest"
	settles test -S socket
	check "serve: why there is no pressure" quietly jq -e '.report | .pressure_off | test("subset=pid")' <(report)
	kill "$pid"
	wait "$pid" 2>/dev/null
else
	skip "subset=pid" "this kernel has none (Linux 5.8)"
fi
without_proc() { unshare --mount bash -c 'mount -t tmpfs none /proc && exec "$@"' _ "$@"; }
echo >file
for command in "smaps" "wss --all 0.1" "memory" "paging" "pressure" "cache file"; do
	# shellcheck disable=SC2086 # words
	expect_exit "without /proc: $command" 2 'not mounted' without_proc "$guest" $command
done
# In a PID namespace with the /proc of another, numbers mean other processes to kcmp().
check "the /proc of another namespace: who shares memory is not known" quietly jq -e '.sharing_unknown and .hidden == false' \
	<(unshare --pid --fork "$guest" smaps --json 2>/dev/null)
check "in a PID namespace DAMON is not seen" quietly jq -e '.flags | index("damon-unknown")' \
	<(unshare --pid --fork --mount-proc "$guest" wss 1 0.01 --json 2>/dev/null)

echo "# a /proc that hides processes"
# hidden MODE COMMAND...: as a user of nobody else, where /proc is mounted with hidepid=MODE.
hidden() {
	# shellcheck disable=SC2016 # for the other shell
	unshare --mount bash -c 'mount -t proc -o hidepid="$1" none /proc && shift && exec setpriv --reuid=64199 --regid=64199 --clear-groups "$@"' _ "$@"
}
for mode in 2 4; do
	if ! seen=$(hidden "$mode" sh -c 'ls /proc | grep -cx 1') && [[ $seen == 0 ]]; then
		hidden "$mode" "$guest" smaps --json >out 2>why
		check "hidepid=$mode: smaps: how many is not known" quietly jq -e '.refused == null and .hidden and (.processes | length) > 0' out
		check "and said: $(<why)" grep -q 'hides the processes of other users (hidepid).*; run as root' why
		check "smaps --by user" grep -q 'hides the processes' <(hidden "$mode" "$guest" smaps --by user 2>&1)
		expect_exit "a process that is named and hidden" 2 'not permitted to look at some processes .1.' hidden "$mode" "$guest" smaps 1
		expect_exit "wss --all" 2 'hides the processes' hidden "$mode" "$guest" wss --all 0.1
		expect_exit "wss of it" 2 '/proc/1/stat: Permission denied; run as root' hidden "$mode" "$guest" wss 1 0.1
		expect_exit "cache --pid" 2 'process 1: Permission denied' hidden "$mode" "$guest" cache -p 1
		expect_exit "one that is not there is not there" 2 'there is no such process' hidden "$mode" "$guest" smaps 4194300
		check "root sees all" test "$(unshare --mount bash -c 'mount -t proc -o hidepid=2 none /proc && "$1" smaps --json' _ "$guest" 2>/dev/null | jq .hidden)" = false
	else
		skip "hidepid=$mode" "not here: $seen"
	fi
done
chmod 777 .
# Not by the function: what begin ends must be the agent itself, and not a shell that waits for it.
# shellcheck disable=SC2016 # for the other shell
begin unshare --mount bash -c 'mount -t proc -o hidepid=2 none /proc && exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@"' _ \
	"$guest" serve --no-triggers --listen socket 2>why
settles test -S socket
check "the agent's log says so" settles grep -q 'hides the processes .*: they are not in the reports' why
check "and its report" quietly jq -e '.report.processes_hidden' <(report)

finish
