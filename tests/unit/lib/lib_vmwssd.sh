#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# That a test script fails when SQLite does: sql of tests/lib/vmwssd.sh.

# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"
dir=$(mktemp -d /tmp/vmwss-sql.XXXX)
trap 'rm -rf -- "$dir"' EXIT
sqlite3 "$dir/history.db" 'CREATE TABLE sample (id INTEGER); INSERT INTO sample VALUES (7)'
head -c 8192 /dev/urandom >"$dir/damaged.db"

# script TEXT: what a test script with that text prints, and its status.
script() {
	mkdir -p "$dir/guests"
	# shellcheck disable=SC2016 # expanded inside
	bash -c 'set -uo pipefail
		. "$1/tests/lib/check.sh"
		guests_dir=$2/guests build=$2
		libvirtd_end() { :; }
		end_guests() { rm -rf -- "$guests_dir"; }
		. "$1/tests/lib/vmwssd.sh"
		db=$2/history.db
		eval "$3"
		finish' bash "$root" "$dir" "$1" >"$dir/printed" 2>&1
}
passes() { script "$1" && grep -qx '# 1 passed, 0 failed, 0 skipped' "$dir/printed"; }
fails() { ! script "$1" && grep -q '^not ok 2 - SQLite: ' "$dir/printed" && grep -qx '# 1 passed, 1 failed, 0 skipped' "$dir/printed"; }

# shellcheck disable=SC2016 # the script's
check "an answer" passes 'check a test "$(sql "SELECT id FROM sample")" = 7'
# shellcheck disable=SC2016
check "no answer" passes 'check a test -z "$(sql "SELECT id FROM sample WHERE id > 7")"'
# shellcheck disable=SC2016
check "a query with a mistake is a failure" fails 'check a test -z "$(sql "SELECT idd FROM sample")"'
# shellcheck disable=SC2016
check "and so is a database that is damaged" fails 'db=$2/damaged.db; check a test -z "$(sql "SELECT id FROM sample")"'
# shellcheck disable=SC2016
check "one that is made later is waited for" passes \
	'db=$2/late.db; (sleep 1; cp "$2/history.db" "$2/late.db") & check a test "$(sql "SELECT id FROM sample")" = 7'
# shellcheck disable=SC2016
check "and one that is locked" passes '
	sqlite3 "$db" "BEGIN EXCLUSIVE" ".shell touch $2/locked; sleep 1" COMMIT &
	settles test -e "$2/locked"
	check a test "$(sql "SELECT id FROM sample")" = 7'

finish
