# shellcheck shell=bash disable=SC2034,SC2154,SC2016 # shared with the scripts that source this; jq has variables of its own
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Traces of payload guests held against the payload's own list of pages. Needs: guests.sh.

trace_file=$guests_dir/trace
# trace ARG...: of the guest $pid into $trace_file, anew.
trace() {
	rm -f "$trace_file"
	"$vmwss" trace --pid "$pid" --out "$trace_file" "$@" >"$guests_dir/said" 2>"$guests_dir/messages" && return
	local status=$?
	cat "$guests_dir/messages" >&2
	return "$status"
}
# show: what it says, into $json.
show() { json=$("$vmwss" trace --show "$trace_file" --json 2>"$guests_dir/messages"); }
# holds_json FILTER: a jq filter that is true of it.
holds_json() { jq -e "$1" >/dev/null <<<"$json"; }
# traced_pages: "period page" of each page that was touched, from 16 MiB on: the payload's own are below.
traced_pages() {
	"$vmwss" trace --show "$trace_file" --csv | tr -d '\r' |
		awk -F, 'NR > 1 && $13 == "touched" { for (p = $9 / 4096; p < ($9 + $11) / 4096; p++) if (p >= 4096) print $1, p }'
}
# truth_pages PARAMS: page numbers, sorted as text.
truth_pages() {
	# shellcheck disable=SC2086 # parameters are words
	"$truth_tool" --list-ram $1 | sort
}
# pages_of PERIOD: of traced_pages in $guests_dir/pages.
pages_of() { awk -v period="$1" '$1 == period { print $2 }' "$guests_dir/pages" | sort; }
# is_period_of PARAMS PERIOD: the set of that period is the payload's, page for page.
is_period_of() { cmp -s <(truth_pages "$1") <(pages_of "$2"); }
# periods_of PARAMS: how many of its periods are that set, page for page.
periods_of() {
	local period n=0
	for period in $(seq "$(jq '.periods | length' <<<"$json")"); do
		if is_period_of "$1" "$period"; then n=$((n + 1)); fi
	done
	echo "$n"
}
