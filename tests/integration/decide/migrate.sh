#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg cost=50
#
# vmwss migrate foretells two real migrations, between two QEMUs: one that converges and one that does not, and refuses what it
# cannot read. The write curve is the payload's own truth, as no method sees the writes of a TCG guest on any kernel.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

curve=$root/tests/fuzz/corpus/curve_file/flat
foretold() { "$vmwss" migrate --curve "$curve" "$@"; }
verdict_is() {
	local verdict=$1
	shift
	[[ $(foretold --json "$@" | jq -r .verdict) == "$verdict" ]]
}

check "a hot set that fits into the downtime converges" verdict_is converges --bandwidth 40MiB/s
check "one that does not, does not" verdict_is diverges --bandwidth 5MiB/s
says() { foretold "${@:2}" | grep -q "$1"; }
check "the verdict is in words" says 'does not converge at 5.0 MiB/s with 300ms of downtime' -b 5MiB/s
check "the threshold is explained" says 'than 12.0 MiB is left' -b 40MiB/s --explain
check "so is which resident pages count as zeroes" says 'lower bound 20 %, or 33 % with huge pages' -b 40MiB/s --explain
check "a speed that is assumed is said" says 'bandwidth is assumed.*: 128.0 MiB/s'
check "that of a slower connection is the one that counts" says 'does not converge at 1.0 MiB/s' -b 40MiB/s --link 1MiB/s
check "and has to be more, too" says 'least bandwidth, also of the connection' -b 40MiB/s --link 1MiB/s
expect_exit "a speed without its unit is refused" 1 '10G: expected a speed with its unit' foretold --bandwidth 10G
expect_exit "a curve has its own guest" 1 'no DOMAIN and no --pid' foretold web1

curve=$guests_dir/markings
{
	cat "$root/tests/fuzz/corpus/curve_file/flat"
	jq -c '.writes.windows |= map(select(.window_s <= 1) | .write_set_bytes *= 5 | .write_set_low_bytes *= 5 |
		.write_set_high_bytes *= 5)' "$root/tests/fuzz/corpus/curve_file/flat"
} >"$curve"
check "a second marking in another phase: it may" verdict_is may-converge --bandwidth 40MiB/s
check "how many markings there were is said" says 'soft-dirty, 2 markings, thp\|file, 2 markings, thp' -b 40MiB/s
jq -c '.ram_bytes *= 2' "$root/tests/fuzz/corpus/curve_file/flat" >>"$curve"
expect_exit "markings of two guests are refused" 2 'records of different guests' foretold
curve=/dev/null
expect_exit "an empty file is no curve" 2 '/dev/null: not a JSON object' foretold

runs=$guests_dir/runs
"$root/tests/bench/migrate_parts/main.py" --accel tcg --guest small-256K:1,small-6M:1 --append "$runs" | sed 's/^/# /'
run_is() { jq -se --arg guest "$1" "map(select(.guest == \$guest)) | length == 1 and (.[0] | $2)" "$runs" >/dev/null; }
check "foretold to converge" run_is small-256K '.forecast.verdict == "converges"'
check "it does" run_is small-256K '.outcome.converged'
check "foretold not to converge" run_is small-6M '.forecast.verdict == "diverges"'
check "it does not" run_is small-6M '.outcome.converged | not'

finish
