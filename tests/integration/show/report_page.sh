#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: core cost=30
#
# vmwss report --html: the page of a hundred guests and seven days in a real Chromium: it sorts, searches and is read out, has no
# error, fits a narrow screen, names no address, shows hostile names as text, has contrast, and is written whole or not at all.

libs=(browser)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

dir=$(mktemp -d /tmp/vmwss-page.XXXX)
trap 'rm -rf -- "$dir"' EXIT
vmwss=$build/host/vmwss
page=("$root/tests/integration/show/report_page.py")

# For each command the clock begins at the same moment, twenty minutes and a half after an hour: the page, --json and the history
# are of the same minutes and hours, however long one is made after the other, and the pictures the same on each day.
noon=$(date -d 2026-03-10T12:20:30Z +%s)
at_noon() {
	echo $((noon - $(date +%s))) >"$dir/clock"
	LD_PRELOAD=$build/tests/integration/libclock_ahead.so CLOCK_SET=$dir/clock "$@"
}
report() { at_noon "$vmwss" report --database "$dir/history.db" --capacity 640G "$@"; }

# --- the file ------------------------------------------------------------------------------------------------------

at_noon "$build/tests/integration/page_writer" "$dir/history.db" 100 7 900 >/dev/null || fail "the history is written"
TIMEFORMAT='%U %S'
cost=$({ time report --html "$dir/page.html" --guest-size 4G >"$dir/printed"; } 2>&1)
size=$(stat -c %s "$dir/page.html")
echo "# $size bytes; CPU time, user and system: $cost s"
check "100 guests and 7 days are at most 2 MB" test "$size" -le 2000000
check "nothing is printed beside it" test ! -s "$dir/printed"
expect_exit "not beside --json" 1 'only one of them' report --html "$dir/x.html" --json
expect_exit "a directory that is not there" 2 "$dir/none/page.html: No such file" report --html "$dir/none/page.html"
expect_exit "a directory in its place" 2 ': Is a directory' report --html "$dir"
expect_exit "a full device" 2 '/dev/full: No space left' report --html /dev/full
expect_exit "no history" 2 'no history there' "$vmwss" report --database "$dir/none.db" --html "$dir/x.html"
check "nothing is left of these" test ! -e "$dir/x.html"
through_link() {
	touch "$dir/linked.html" && ln -s linked.html "$dir/link.html" && report --html "$dir/link.html" --since 1h &&
		[[ -L $dir/link.html && -s $dir/linked.html ]]
}
check "a link stays one, and its file is the page" quietly through_link
# On a disk that is full the page of before stays, and nothing beside it.
# shellcheck disable=SC2016 # expanded inside
full_disk() {
	at_noon unshare --mount --propagation private -- bash -c 'mkdir -p "$1/full" && mount -t tmpfs -o size=96k tmpfs "$1/full" &&
		cd "$1/full" && echo before >page.html && ! "$0" report --database "$1/history.db" --html page.html 2>message.txt &&
		grep "page.html: No space left on device" message.txt && [[ $(<page.html) == before ]] && [[ $(ls -A | xargs) == "message.txt page.html" ]]' \
		"$vmwss" "$dir"
}
check "a full disk: an error, and the page of before" quietly full_disk
# killed_at SECONDS: by kill -9; what is there then is one page, whole.
killed_at() {
	at_noon timeout --signal KILL "$1" "$vmwss" report --database "$dir/history.db" --html "$dir/killed/page.html" 2>/dev/null
	[[ $(find "$dir/killed" -type f | wc -l) -le 1 ]] || return 1
	[[ ! -e $dir/killed/page.html ]] || [[ $(tail -n 1 "$dir/killed/page.html") == '</body></html>' ]]
}
mkdir "$dir/killed"
killed_anywhere() {
	local seconds
	for seconds in 0.1 0.5 0.8 0.9 1 1.2; do killed_at $seconds || return 1; done 2>/dev/null
}
check "kill -9 at any time: a whole page, or none" killed_anywhere

check "its markup: tables, captions, alternatives; and the values of --json" "${page[@]}" markup "$dir/page.html" <(report --json --guest-size 4G)
# With a gap, and unmeasurable in parts.
for guest in 00000002-1111-4111-8111-111111111111 00000003-1111-4111-8111-111111111111; do
	for window in 10 60 600 3600; do
		at_noon "$vmwss" history "$guest" --database "$dir/history.db" --window $window --step hour --json >"$dir/$guest.$window"
	done
	check "the pictures of $guest are its history" "${page[@]}" pictures "$dir/page.html" "$guest" "$dir/$guest".{10,60,600,3600}
done
check "the write set is in the chart of the working set" "${page[@]}" written "$dir/page.html" 00000000-1111-4111-8111-111111111111
report --html "$dir/short.html" --since 6h
check "between two records of every 15 minutes there is no gap" "${page[@]}" whole "$dir/short.html" 00000003-1111-4111-8111-111111111111
check "it names no address, and its policy allows none" "${page[@]}" alone "$dir/page.html"
check "the contrast of its colours: light, dark, printed" "${page[@]}" contrast "$root/host/show/html_page.css"

# --- in a browser --------------------------------------------------------------------------------------------------

[[ -n $(command -v chromium) ]] || { skip "in Chromium" "chromium is not installed"; finish; exit; }
"${page[@]}" tested "$dir/page.html" >"$dir/tested.html"
"${page[@]}" framed >"$dir/framed.html"
in_browser "as it is" plain 1280 tested.html
in_browser "sorted by working set" 'sort=wss' 1280 'tested.html#sort=wss'
in_browser "sorted by name, from Z" 'sort=-guest' 1280 'tested.html#sort=-guest'
in_browser "searched" 'find=0a' 1280 'tested.html#find=instance%200000000a'
in_browser "on a narrow screen" narrow 1280 framed.html --virtual-time-budget=5000
in_browser "in the dark" dark 1280 tested.html --blink-settings=preferredColorScheme=0
finish
