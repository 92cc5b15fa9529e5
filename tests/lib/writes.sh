# shellcheck shell=bash disable=SC2154 # of the scripts that source this
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The write working set of a payload guest in $record. Needs guests.sh.

# point FILTER: of the last window of the writes in $record.
point() { jq ".writes.windows[-1].$1" <<<"$record"; }
writes_flag() { record_has ".writes.flags | index(\"$1\") != null"; }
say() {
	printf '# %s: %s [%s, %s] of %s, flags %s\n' "$1" "$(point write_set_bytes)" "$(point write_set_low_bytes)" \
		"$(point write_set_high_bytes)" "$2" "$(jq -c .writes.flags <<<"$record")"
}

# The tables that the CPU walks count as written under KVM: a page for each GiB, and two more.
slack=$((4 * 4096))
holds_truth() { holds "$(point write_set_low_bytes) <= $1 + $slack && $(point write_set_high_bytes) >= $1"; }
is_truth() { holds "$(point write_set_bytes) >= $1 && $(point write_set_bytes) <= $1 * 1.01 + $slack"; }
in_no_doubt() { record_has '(.writes.flags - ["stretched", "idle-guest"]) == []'; }
