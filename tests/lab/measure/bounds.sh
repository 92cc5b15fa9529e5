#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: lab=6.12 thorough cost=100
#
# In the lab, any kernel with zap: bounds that hold the bytes touched in huge pages, whatever the method; and a working set
# that does not grow when QEMU takes memory for itself.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

echo "# huge pages of which a quarter is touched"
strided="total=192M hot=16M pattern=strided stride=16K"
t=$(truth "$strided")
methods=(zap zap-all)
if [[ $VMWSS_LAB_KERNEL == page_idle* ]]; then methods+=(idle); fi
if THP=yes start_payload strided kvm "$strided" -m 256; then
	for method in "${methods[@]}"; do
		check "$method: measures" measure_it_running --pid "$pid" -w 3 -m "$method"
		check "$method: $(field wss_bytes) [$(field wss_low_bytes), $(field wss_high_bytes)] of $t bytes, $(field granularity_bytes)" \
			holds "$(field wss_low_bytes) <= $t && $t <= $(field wss_high_bytes) && $(field granularity_bytes) == 2097152"
	done
	stop_guest "$pid"
fi

echo "# QEMU's own memory is not the guest's"
params="total=192M hot=64M"
t=$(truth "$params")
if start_payload heap kvm "$params" -m 256 -qmp "unix:$guests_dir/qmp,server=on,wait=off"; then
	"$vmwss" measure --pid "$pid" -w 2 -m zap -n 2000 -i 6 -k 3 --json >"$guests_dir/series" &
	measuring=$!
	settles test -s "$guests_dir/series"
	check "QEMU takes 128 MiB for itself" qemu_takes 134217728
	wait "$measuring"
	while read -r record; do
		check_interval "zap" "$t"
		echo "# resident $(field resident_bytes)"
	done <"$guests_dir/series"
	check "resident stays" test "$(jq -s 'map(.resident_bytes) | max - min < 2097152' "$guests_dir/series")" = true
	stop_guest "$pid"
fi

finish
