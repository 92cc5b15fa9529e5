# shellcheck shell=bash disable=SC2154 # shared with the scripts that source this
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What the logs of run_test say together. Needs labs.sh.

# shellcheck source=labs.sh
. "$(dirname "${BASH_SOURCE[0]}")/labs.sh"

# print_summary DIR: of the logs in it: what failed, and why; what was skipped; deaths of the lab; sums of the checks.
print_summary() {
	local logs=$1
	# shellcheck disable=SC2016 # awk's
	find "$logs" -name '*.log' | sort | xargs -r awk '
		FNR == 1 { name = FILENAME; sub(".*/", "", name); sub(/\.log$/, "", name); why = 0 }
		why && /^#   / { print; next }
		{ why = 0 }
		/^not ok/ { print name ": " $0; failed++; why = 1; next }
		/^ok .* # SKIP/ { print name ": " $0; skipped++; next }
		/^ok / { passed++ }
		END { printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped > "/dev/stderr" }' 2>"$logs/sums"
	print_deaths
	cat "$logs/sums"
}
