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
# every_point CONDITION: holds for all windows of the writes in $record.
every_point() { record_has "(.writes.windows | length > 0) and (.writes.windows | all($1))"; }

every_exact() {
	every_point ".write_set_bytes >= $1 and .write_set_bytes <= $1 * 1.01 + $slack and .write_set_low_bytes == .write_set_bytes"
}
every_holds() { every_point ".write_set_low_bytes <= $1 + $slack and .write_set_high_bytes >= $1"; }

# ages_running TICK WINDOWS ARGS...: vmwss ages --writes of a guest that gets through its set within each tick; on a busy machine
# ticks and windows are longer.
ages_running() {
	local factor
	for factor in 1 2 4; do
		rm -f "$guests_dir/passes"
		count_passes "${serial_of[$pid]}" "$pid" "$guests_dir/passes"
		record=$("${passes[@]}" "$vmwss" ages --writes --json --pid "$pid" -t "$(longer "$1" $factor)" -w "$(longer "$2" $factor)" \
			"${@:3}" 2>"$guests_dir/messages") || { record=; cat "$guests_dir/messages" >&2; return 1; }
		if steady_passes $(($1 * factor)) "$guests_dir/passes"; then return 0; fi
	done
}

in_no_doubt() { record_has '(.writes.flags - ["stretched", "idle-guest"]) == []'; }
