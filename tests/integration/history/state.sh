#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg libvirt cost=16
#
# Where the history is: vmwssd makes its directory, closed to others; it starts and goes on while another process holds the
# history, and what reads it for somebody who does not read on holds nothing.

# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

# A host on which vmwss was never started, and that has the package's user and group.
if [[ -z ${VMWSS_STATE_NAMESPACE:-} ]]; then
	# shellcheck disable=SC2016 # expanded inside
	VMWSS_STATE_NAMESPACE=1 exec unshare --mount --propagation private -- bash -c '
		mount -t tmpfs -o mode=755 tmpfs /mnt && cp /etc/group /etc/passwd /mnt && sed -i "/^vmwss:/d" /mnt/group /mnt/passwd &&
			echo "vmwss:x:64099:" >>/mnt/group && echo "vmwss:x:64098:64099::/var/lib/vmwss:/bin/false" >>/mnt/passwd &&
			mount --bind /mnt/group /etc/group && mount --bind /mnt/passwd /etc/passwd && umount /mnt || exit 1
		for dir in /run /var/lib; do mount -t tmpfs -o mode=755 tmpfs "$dir" || exit 1; done
		exec "$@"' bash bash "$0" "$@"
fi

dir=$(mktemp -d /tmp/vmwss-state.XXXX)
chmod 755 "$dir"
cp "$build/host/vmwss" "$build/host/vmwss-exporter" "$dir"
log=$dir/log
db=/var/lib/vmwss/history.db
started=()
end() {
	local pid
	for pid in "${started[@]}"; do kill -KILL "$pid" 2>/dev/null; done
	rm -rf -- "$dir"
}
trap end EXIT

begin() {
	"$build/host/vmwssd" --foreground --config /dev/null --agents no 2>>"$log" &
	daemon=$!
	started+=("$daemon")
}
ends() {
	kill "$daemon" && wait "$daemon"
}
logged() { grep -qE -- "$1" "$log"; }
as() { setpriv --reuid=65534 --regid=65534 "$@"; }
# locks: holds a read lock on every byte of the WAL's index that SQLite locks, until it is ended. For a subshell.
locks() {
	exec python3 -c '
import fcntl, sys, time
with open(sys.argv[1]) as file:
    fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB, 8, 120)
    print("locked", flush=True)
    time.sleep(60)' "$db-shm"
}
refused() { ! "$@" >/dev/null 2>&1; }

echo "# it makes the directory"
begin
check "it starts" settles test -s "$db-wal"
check "closed to others, its user's and the group's" test "$(stat -c '%a %U %G' /var/lib/vmwss)" = '2750 vmwss vmwss'
check "so is the history" test "$(stat -c '%a %U %G' "$db" "$db-wal" "$db-shm" | sort -u)" = '640 vmwss vmwss'
check "others cannot lock it" refused as --clear-groups timeout 5 bash -c "exec <$db-shm"
expect_exit "nor read it, and are told what it takes" 2 'Permission denied.*group vmwss' \
	as --clear-groups "$dir/vmwss" report
check "the group can" quietly as --groups=64099 "$dir/vmwss-exporter" --print
check "it ends" ends
check "its WAL is empty" test ! -s "$db-wal"

echo "# the history is held"
locks >"$dir/locked" &
locker=$!
started+=("$locker")
settles test -s "$dir/locked"
begin
check "it starts, and says that no history is kept" settles logged '<3>no history is kept: .*: another process holds it'
check "and goes on" kill -0 "$daemon"
kill "$locker"
check "it is kept when it is free again" settles logged 'history is kept again'
check "it ends" ends

echo "# a reader that does not read on"
now=$(date +%s)
for ((i = 0; i < 1000; i++)); do
	echo "web1 11111111-1111-4111-8111-111111111111 $((now - 1000 + i)) 64 30 $i"
done >"$dir/seeds"
check "a history" test "$("$build/tests/integration/keep_writer" "$db" ask <"$dir/seeds" | grep -c '^0 ')" = 1000
mkfifo "$dir/fifo"
# The answer is more than a pipe holds: once that is full, it waits.
checkpoint() { test "$(sqlite3 "$db" 'PRAGMA wal_checkpoint(TRUNCATE)')" = '0|0|0'; }
waits() { [[ $(cat "/proc/$reader/syscall" 2>&1) =~ ^1\ 0x1\  ]]; }
# holds_nothing COMMAND...: while it waits for whoever reads what it prints.
holds_nothing() {
	local status=0
	"$@" >"$dir/fifo" 2>"$dir/messages" &
	reader=$!
	started+=("$reader")
	exec 9<"$dir/fifo"
	settles waits || { echo "# it does not wait: $(cat "$dir/messages")"; status=1; }
	"$build/tests/integration/keep_writer" "$db" ask <<<"web1 11111111-1111-4111-8111-111111111111 $now 64 30 1" >/dev/null
	checkpoint || status=1
	exec 9<&-
	wait "$reader" 2>/dev/null
	return $status
}
check "history: the WAL can be cut meanwhile" holds_nothing "$dir/vmwss" history --since 1h --window 10 --step record --json web1
check "as CSV" holds_nothing "$dir/vmwss" history --since 1h --window 10 --step record --csv web1

echo "# damaged"
python3 -c 'import sys; f = open(sys.argv[1], "r+b"); f.seek(40 * 4096); f.write(bytes([0xa5]) * 40 * 4096)' "$db"
begin
check "damage is found while guests are watched, and the file set aside" settles logged 'set aside as .*damaged-'
check "it ends" ends
check "a new one is begun" test "$(sqlite3 "$db" 'SELECT count(*) FROM sample')" = 0

finish
