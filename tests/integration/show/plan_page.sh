#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: core cost=60
#
# vmwss plan --html: its page has the values of --json and says what is missing; in a real Chromium it sorts and is searched, by
# keyboard, tells a screen reader what it is, has no error, has contrast in light, in the dark and on paper, fits a narrow screen,
# names no address and shows hostile names as text. A thousand hosts of 20 guests are at most 2 MB.

# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"
# shellcheck source=../../lib/made_history.sh
. "$(dirname "$0")/../../lib/made_history.sh"

dir=$(mktemp -d /tmp/vmwss-plan-page.XXXX)
trap 'rm -rf -- "$dir"' EXIT
vmwss=$build/host/vmwss
writer=$build/tests/integration/keep_writer
page=("$root/tests/integration/show/plan_page.py")

# --- the command ---------------------------------------------------------------------------------------------------

now=$(date +%s) day=86400 period=1800
hostile='<script>"&lt;<b>'
check "three histories" made_history "$dir/a.db" $((now - 20 * day)) "$now" web1:1:50:150:2 web2:2:50:150:2
made_history "$dir/b.db" $((now - 20 * day)) "$now" ci:5:25:25:0
made_history "$dir/c.db" $((now - 20 * day)) $((now - 2 * day)) lost:7:50:50:0
plan() { "$vmwss" plan --from a="$dir/a.db" --from "$hostile=$dir/b.db" c="$dir/c.db" --capacity 1G "$@"; }

plan --html "$dir/small.html" --empty --place 512M >"$dir/printed"
check "nothing is printed beside it" test ! -s "$dir/printed"
check "its values are those of --json" "${page[@]}" markup "$dir/small.html" <(plan --json --empty --place 512M)
check "a host that is stale is said" "${page[@]}" doubts "$dir/small.html" 'c: no record since'
plan --html "$dir/short.html"
check "without moves as well" "${page[@]}" markup "$dir/short.html" <(plan --json)
check "as a report's sentences" quietly grep -F 'Overcommit ratio at a risk of 0.1%' "$dir/short.html"
expect_exit "not beside --json" 1 'only one of them' plan --html "$dir/x.html" --json
expect_exit "nor beside --csv" 1 'only one of them' plan --html "$dir/x.html" --csv
expect_exit "a directory that is not there" 2 "$dir/none/page.html: No such file" plan --html "$dir/none/page.html"
expect_exit "a full device" 2 '/dev/full: No space left' plan --html /dev/full
expect_exit "no such history" 2 'none\.db: no history there' "$vmwss" plan "$dir/none.db" --html "$dir/x.html"
check "nothing is left of these" test ! -e "$dir/x.html"
# Whole or not at all: what is there when it is killed is the page of before, or the next one.
killed_anywhere() {
	local seconds
	mkdir "$dir/killed" && cp "$dir/small.html" "$dir/killed/page.html" || return 1
	for seconds in 0.02 0.05 0.1 0.2 0.4; do
		timeout --signal KILL $seconds "$vmwss" plan a="$dir/a.db" --capacity 1G --html "$dir/killed/page.html"
		[[ $(ls -A "$dir/killed") == page.html && $(tail -n 1 "$dir/killed/page.html") == '</body></html>' ]] || return 1
	done 2>/dev/null
}
check "kill -9 at any time: a whole page" killed_anywhere
# --- fleets of all kinds -------------------------------------------------------------------------------------------

made() { "$build/tests/integration/plan_page_writer" "$@"; }
check "60 hosts of 8 guests" quietly made 60 8 "$dir/page.html" "$dir/plan.json"
check "their values are those of the JSON, and so are their bars" "${page[@]}" markup "$dir/page.html" "$dir/plan.json"
check "what is missing is said" "${page[@]}" doubts "$dir/page.html" 'compute-0005.example: no record since' \
	'compute-0006.example (3.0 days)' "of the guests' time there is no record" 'host <b>lost</b> is left out'
check "it names no address, and its policy allows none" "${page[@]}" alone "$dir/page.html"
check "1,000 hosts of 20 guests" made 1000 20 "$dir/large.html" "$dir/large.json"
size=$(stat -c %s "$dir/large.html")
echo "# $size bytes"
check "are at most 2 MB" test "$size" -le 2000000
check "with all hosts, and as many guests and moves as it says" "${page[@]}" markup "$dir/large.html" "$dir/large.json"

# --- in a browser --------------------------------------------------------------------------------------------------

[[ -n $(command -v chromium) ]] || { skip "in Chromium" "chromium is not installed"; finish; exit; }
check "in Chromium, by keyboard, for a screen reader, on paper" "${page[@]}" browser "$dir/page.html" "$dir/profile"
check "a hostile name of a real history" "${page[@]}" alone "$dir/small.html"
check "a large fleet" "${page[@]}" large "$dir/large.html" "$dir/profile"
finish
