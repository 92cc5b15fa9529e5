#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: core cost=60 limit=300
#
# Histories and journals that somebody else has made: every reader ends, within seconds and two GB, with an answer or a refusal, and follows
# no link beside the file; vmwssd sets such a file aside.

# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"
# shellcheck source=../../lib/made_history.sh
. "$root/tests/lib/made_history.sh"

writer=$build/tests/integration/keep_writer period=60
vmwss=$build/host/vmwss exporter=$build/host/vmwss-exporter
dir=$(mktemp -d /tmp/vmwss-y.XXXX)
trap 'rm -rf "$dir"' EXIT

now=$(date +%s)
check "a history" made_history "$dir/base.db" $((now - 7200)) "$now" a:1:100:200:3 b:2:50:60:4
made_event "$dir/base.db" start $((now - 7100)) a
sqlite3 -batch "$dir/base.db" "PRAGMA wal_checkpoint(TRUNCATE)" >/dev/null
rm -f "$dir"/base.db-*

# ends COMMAND...: within 20 s, with a status of a command. Sets said.
ends() {
	local status=0
	said=$(timeout -k 1 20 prlimit --as=2000000000 "$@" 2>&1 >/dev/null) || status=$?
	((status <= 2)) && return
	echo "# $status: $*: ${said:0:200}"
	return 1
}
readers_end() {
	local file=$1 one=0
	ends "$vmwss" history a --database "$file" || one=1
	ends "$vmwss" history a --events --json --database "$file" || one=1
	ends "$vmwss" history a --events --database "$file" || one=1
	ends "$vmwss" report --database "$file" || one=1
	ends "$vmwss" report --html /dev/null --database "$file" || one=1
	ends "$vmwss" plan "$file" || one=1
	ends "$exporter" --print --database "$file" || one=1
	# Last, for what it says.
	ends "$vmwss" advise --database "$file" || one=1
	return $one
}
refused() { [[ $said == *$1* ]] || { echo "# ${said:0:200}" && false; }; }

check "readers of what vmwss wrote" readers_end "$dir/base.db"
check "which is not refused" test -z "$said"
for kind in trigger view view-for-table virtual capitals generated view-for-new huge names values times events other-table no-index index-of-none statistics statistics-tree tree link-wal link-shm \
	link-journal fifo-wal fifo-shm other-wal; do
	before=$(sha256sum <"$dir/base.db")
	"$root/tests/integration/history/hostile_history.py" "$dir/base.db" "$dir/$kind.db" "$kind" || fail "$kind is made"
	check "$kind: readers end" readers_end "$dir/$kind.db"
	case $kind in
	no-index | index-of-none) check "$kind: refused" refused 'index sample_by_guest is not as vmwss makes it' ;;
	view-for-table) check "$kind: refused" refused 'own_set' ;;
	capitals) check "$kind: refused" refused 'its table host_need is not' ;;
	generated) check "$kind: refused" refused 'its table write_set is not' ;;
	view-for-new) check "$kind: refused" refused 'its table owner is not' ;;
	virtual) check "$kind: refused" refused 'malformed database schema' ;; # by SQLite
	tree) check "$kind: refused" refused 'lead to more rows than it has room for' ;;
	esac
	check "$kind: no other file has changed" test "$(sha256sum <"$dir/base.db")" = "$before"
done
journal_readers_end() {
	local file=$1 one=0
	ends "$vmwss" balloon log --journal "$file" || one=1
	ends "$vmwss" balloon report --json --journal "$file" --database "$dir/base.db" || one=1
	ends "$exporter" --print --journal "$file" --database "$dir/base.db" || one=1
	ends "$vmwss" balloon why a --journal "$file" || one=1
	ends "$vmwss" balloon status --journal "$file" || one=1
	return $one
}
for kind in journal journal-view journal-virtual journal-generated journal-tree; do
	"$root/tests/integration/history/hostile_history.py" "$dir/base.db" "$dir/$kind.db" "$kind" || fail "$kind is made"
	check "$kind: readers end" journal_readers_end "$dir/$kind.db"
	case $kind in
	journal) check "$kind: it is read" test -z "$said" ;;
	journal-tree) check "$kind: refused" refused 'lead to more rows than it has room for' ;;
	*) check "$kind: refused" refused "$kind.db" ;;
	esac
done
finish
