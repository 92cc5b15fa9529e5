#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: core cost=10
#
# On a terminal of 80 columns no line of a command is wider: tables leave columns out, and sentences go on in the next line at
# the end of a word. In a pipe a sentence is one line. Commands that need no guest, on histories, traces and curves.

# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"
# shellcheck source=../../lib/made_history.sh
. "$root/tests/lib/made_history.sh"

writer=$build/tests/integration/keep_writer period=600
vmwss=$build/host/vmwss
dir=$(mktemp -d /tmp/vmwss-narrow.XXXX)
trap 'rm -rf -- "$dir"' EXIT

now=$(date +%s)
# Two hosts, of which the second has no record of the last hour.
other() { sqlite3 -batch "$1" "UPDATE guest SET host = '$2'"; }
check "a history" made_history "$dir/a.db" $((now - 3 * 86400)) "$now" database-of-the-accounts:1:100:200:3:2:1 web-frontend-west:2:50:60:4
check "one of another host" made_history "$dir/b.db" $((now - 3 * 86400)) $((now - 5000)) \
	build-worker-of-the-night-shift:3:220:250:20:40 proxy:4:30:30:4
other "$dir/a.db" a-host-with-a-long-name.example.org
other "$dir/b.db" the-second-host-in-the-rack.example.org
made_event "$dir/a.db" start $((now - 86400)) web-frontend-west

# shown WORD...: on a terminal, without colours. $1 is empty, or what the shell does first.
shown() { script -qec "stty cols ${cols:-80}; $*" /dev/null </dev/null | tr -d '\r' | sed 's/\x1b\[[0-9;]*[A-Za-z]//g'; }
wide() { LC_ALL=C.UTF-8 grep -E "^.{$((${cols:-80} + 1))}"; }
# narrow NAME COMMAND...: prints something, none of it too wide, and no sentence begins right behind the one before.
narrow() {
	local name=$1
	shift
	shown "$@" >"$dir/$name"
	{ wide <"$dir/$name"; grep -E '[a-z]\.[A-Z][a-z]* ' "$dir/$name"; } >"$dir/wrong"
	sed 's/^/# /' "$dir/wrong"
	[[ -s $dir/$name && ! -s $dir/wrong ]]
}
commands=(
	"status --database $dir/a.db" "status --database $dir/b.db"
	"report --database $dir/a.db" "report --database $dir/b.db --capacity 1G --guest-size 256M" "report --database $dir/a.db --capacity 150M"
	"report --database $dir/a.db --capacity 1G --risk 0.01%"
	"advise --database $dir/a.db" "advise --database $dir/a.db --explain" "advise --database $dir/a.db --backtest"
	"history web-frontend-west --database $dir/a.db" "history web-frontend-west --events --database $dir/a.db"
	"history database-of-the-accounts --writes --database $dir/a.db"
	"plan $dir/a.db $dir/b.db --capacity 2G" "plan $dir/a.db $dir/b.db --capacity 1G --empty --place 512M"
	"plan $dir/a.db $dir/b.db --capacity 700M --drain a-host-with-a-long-name.example.org --spare 1"
	"migrate database-of-the-accounts --at $dir/a.db --bandwidth 100MiB/s"
)
for file in "$root"/tests/fuzz/corpus/trace/*; do commands+=("trace --show $file"); done
for file in "$root"/tests/fuzz/corpus/curve_file/*; do commands+=("migrate --curve $file --explain --bandwidth 100MiB/s"); done
n=0
for command in "${commands[@]}"; do
	check "${command//$dir\//}" narrow "$((n += 1))" "$vmwss $command"
done

echo "# in a pipe"
one_line() { "$vmwss" plan "$dir/a.db" "$dir/b.db" --capacity 1G --empty --place 512M | grep -v '^[ ┌│└A-Z]* *HOST' | wide >/dev/null; }
check "a sentence is one line" one_line
# words FILE: one a line; of both the same, in the same order.
words() { tr -s ' \n' '\n' <"$1"; }
same_words() {
	"$vmwss" migrate --curve "$root/tests/fuzz/corpus/curve_file/markings" --explain --bandwidth 100MiB/s >"$dir/pipe"
	shown "$vmwss migrate --curve $root/tests/fuzz/corpus/curve_file/markings --explain --bandwidth 100MiB/s" >"$dir/terminal"
	diff <(words "$dir/pipe") <(words "$dir/terminal")
}
check "on a terminal no word is lost" same_words
check "and a sentence goes on as far as the line does" grep -qE '^rounds: QEMU sends .* and the state of the devices, in .*\.$' "$dir/pipe"
finish
