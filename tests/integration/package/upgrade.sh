#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: lock=cpack thorough cost=600 limit=3600
#
# Upgrade and downgrade of the Debian package with a history in use, in a fresh Debian: the package of the last commit whose
# history had version 1 of the schema (or of $VMWSS_OLD_COMMIT; or $VMWSS_OLD_DEB), and that of this tree. The upgraded daemon
# converts the history, and every figure stays; the older one refuses it, says why, and leaves it as it is.

libs=(debian)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"
# shellcheck source=../../lib/made_history.sh
. "$root/tests/lib/made_history.sh"

dir=$(mktemp -d /tmp/vmwss-upgrade.XXXX)
fresh=$dir/fresh
end() {
	[[ ! -d $dir/old ]] || git -C "$root" worktree remove --force "$dir/old"
	rm -rf --one-file-system -- "$dir"
}
trap end EXIT
inside() { debian_inside "$fresh" "$@"; }

# pack TREE BUILD DIRECTORY
pack() { (cd "$1/$2" && cpack -G DEB -B "$3") >"$dir/cpack.log" 2>&1 || { tail "$dir/cpack.log"; return 1; }; }
build_old() {
	git -C "$root" worktree add -q --detach "$dir/old" "${VMWSS_OLD_COMMIT:-c1f85849302909f84233385639da90eb349afe56^}" || return 1
	(cd "$dir/old" && cmake --preset release -DBUILD_TESTING=OFF && cmake --build --preset release) >"$dir/old.log" 2>&1 ||
		{ tail "$dir/old.log"; return 1; }
	pack "$dir/old" build/release "$dir/was"
	old_deb=$(find "$dir/was" -maxdepth 1 -name 'vmwss_*.deb')
}
old_deb=${VMWSS_OLD_DEB:-}
[[ -n $old_deb ]] || check "the older package is built" build_old
check "and today's" pack "$build" . "$dir/is"
new_deb=$(find "$dir/is" -maxdepth 1 -name 'vmwss_*.deb')
if [[ -z $old_deb || -z $new_deb ]] || ! debian_tree "$fresh"; then
	tail -n 5 "$fresh.log"
	fail "two packages and a fresh Debian"
	finish
	exit 1
fi
cp "$old_deb" "$fresh/tmp/old.deb"
cp "$new_deb" "$fresh/tmp/new.deb"
install_inside() { # PACKAGE: whatever its version
	inside apt-get install -y -qq --no-install-recommends --reinstall --allow-downgrades -o Dpkg::Options::=--force-confold \
		"/tmp/$1.deb" >"$dir/apt.log" 2>&1 || { tail "$dir/apt.log"; return 1; }
}
history=$fresh/var/lib/vmwss/history.db
sql() { sqlite3 -batch -readonly "$history" "$1"; }
version_is() { test "$(sql 'PRAGMA user_version')" = "$1"; }
# daemon_runs: until it has opened its history, and a while longer. Its messages are in messages.
daemon_runs() {
	inside bash -c 'timeout --preserve-status --signal TERM 8 vmwssd --foreground' >"$dir/messages" 2>&1
}
# The report and the history as a person reads them, of a time that has passed, so that they stay the same.
figures() {
	inside bash -c "vmwss report --until '$until' --since '$since' --json; vmwss history web --since '$since' --until '$until' --json" |
		jq -S 'del(.time, .host, .size_bytes) | [.. | numbers]'
}
changed() { echo 'period = 17' >>"$fresh/etc/vmwss/vmwssd.conf"; }
kept() { grep -qx 'period = 17' "$fresh/etc/vmwss/vmwssd.conf"; }

check "its packages are found" inside apt-get update -qq
echo "# the older one, with a history"
check "it installs" install_inside old
changed
check "its daemon makes a history" daemon_runs
check "of version 1" version_is 1
# Made by today's writer, for guests that ran in the last two hours; its tables are those of version 1 but for two.
now=$(date +%s)
writer=$build/tests/integration/keep_writer period=60
check "records" made_history "$dir/made.db" $((now - 7200)) $((now - 120)) web:1:100:200:3 db:2:50:60:4
since=$(date -u -d "@$((now - 5400))" +%Y-%m-%dT%H:%M:%SZ) until=$(date -u -d "@$((now - 1800))" +%Y-%m-%dT%H:%M:%SZ)
copy() {
	local table
	for table in guest sample bucket host_need host_minutes; do
		sqlite3 -batch "$history" "ATTACH '$dir/made.db' AS made; INSERT INTO $table SELECT * FROM made.$table" || return 1
	done
	sqlite3 -batch "$history" "INSERT INTO told(guest_id, time_ms, lines) SELECT id, ${now}000, 'x' FROM guest;
		PRAGMA wal_checkpoint(TRUNCATE)" >/dev/null
	chown --reference="$fresh/var/lib/vmwss" "$history"*
}
check "are in it" copy
was=$(figures)
check "the older programs read them" test "$(jq length <<<"$was" | head -n 1)" -gt 10

echo "# upgrade"
check "today's installs over it" install_inside new
check "the configuration stays" kept
check "before its daemon runs, its programs read the same" test "$(figures)" = "$was"
check "and have not changed it" version_is 1
check "its daemon starts" daemon_runs
check "and has converted the history" version_is 2
check "nothing was set aside" test -z "$(find "$fresh/var/lib/vmwss" -name '*damaged*')"
check "each agent's report is there" test "$(sql 'SELECT count(*) FROM last_report')" = 2
check "each figure is as it was" test "$(figures)" = "$was"
check "the history is whole" test "$(sql 'PRAGMA integrity_check')" = ok

echo "# downgrade"
before=$(sql '.dump' | sha256sum)
check "the older one installs" install_inside old
daemon_runs
status=$?
check "its daemon does not go on with it" test "$status" = 2
check "and says why" grep -q 'schema version 2' "$dir/messages"
check "nothing is changed" test "$(sql '.dump' | sha256sum)" = "$before"
check "nor set aside" test -z "$(find "$fresh/var/lib/vmwss" -name '*damaged*')"
check "today's again" install_inside new
check "goes on" daemon_runs
check "with each figure" test "$(figures)" = "$was"
check "and the configuration" kept
finish
