#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: lab=page_idle options=--phys-bits=48 thorough cost=110
#
# In the lab: where a guest's RAM above the PCI hole lies. Method zap sees guest-physical addresses, and QEMU from 7.1 on moves that
# RAM from 4 GiB to 1 TiB if the vCPU is AMD's and the map, with what may be plugged, reaches 1012 GiB. The payload finds its region
# by the memory map that it is given, so what it says is QEMU's own word for where its RAM is.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

# The guest has 5 GiB, of which only touched pages exist.
memory=5G,slots=4,maxmem=1100G
# high NAME MACHINE START WHERE OPTION...: a guest whose region is expected to begin at START, and is measured there.
high() {
	local name=$1 machine=$2 start=$3 begin=$4 family=pc params all t
	shift 4
	params="total=256M hot=16M populate=hot start=$start"
	[[ $machine != *q35* ]] || family=q35
	all="$params memory=5G machine=$family"
	t=$(truth "$all")
	MACHINE=$machine start_payload "$name" kvm "$params" -m "$memory" "$@" || return
	check "$name: QEMU has put its RAM at $begin" grep -q "ranges=$begin-" "$guests_dir/$name.out"
	check "$name: and touches as many pages of its own as the truth has" \
		grep -q " own_pages=$(truth "$all" own_pages) " "$guests_dir/$name.out"
	check_census "$name: by census" "$t" 1 --pid "$pid" -w 4 -m zap
	check_panel "$name: by panel" "$t" --pid "$pid" -w 2 -m zap
	stop_guest "$pid"
}

high moved pc-i440fx-7.2 1024G 0x10000000000
high q35 pc-q35-7.2 1024G 0x10000000000
high older pc-i440fx-7.0 4G 0x100000000
high intel pc-i440fx-7.2 4G 0x100000000 -cpu host,vendor=GenuineIntel

# Its name does not say from which version on it is.
if start_payload alias kvm "total=64M hot=16M populate=hot start=1024G" -m "$memory"; then
	expect_exit "a machine type without a version is refused by its name" 2 'machine type pc with an AMD vCPU' \
		"$vmwss" measure --pid "$pid" -w 1 -m zap
	stop_guest "$pid"
fi

finish
