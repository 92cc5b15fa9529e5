# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What the table of vm-images/demo says.

# right_figures FILE: each guest has rows in which it got through its set, and these are within 1 % of the truth.
right_figures() {
	awk '$1 ~ /^(small|medium|large)$/ && $2 ~ /^[0-9]+$/ && $7 ~ /%$/ {
		rows[$1]++
		error = ($5 - $4) / $4
		if (error < -0.01 || error > 0.01) { print "# " $0; wrong = 1 }
	}
	END { exit wrong || !(rows["small"] && rows["medium"] && rows["large"]) }' "$1" || { cat "$1"; return 1; }
}
