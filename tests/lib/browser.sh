# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Pages in a real Chromium. The script sets dir, and page: what judges a page, as page=(.../report_page.py).

# browse WIDTH PAGE [OPTION...]: the page, with the test's script in it, into $dir/dom and what it logs into $dir/console.
browse() {
	# shellcheck disable=SC2154 # the script's
	HOME=$dir timeout "$((300 * patience))" chromium --headless --no-sandbox --disable-gpu --user-data-dir="$dir/profile" --window-size="$1,900" \
		--enable-logging=stderr "${@:3}" --dump-dom "file://$dir/$2" >"$dir/dom" 2>"$dir/console"
}
no_error() { ! grep -E 'CONSOLE|Refused|Uncaught' "$dir/console"; }
# in_browser NAME WHAT WIDTH PAGE [OPTION...]
in_browser() {
	check "$1: it opens" browse "${@:3}"
	# shellcheck disable=SC2154 # the script's
	check "$1" "${page[@]}" dom "$2" "$dir/dom"
	check "$1: nothing on the console" no_error
}
