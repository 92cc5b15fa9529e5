#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg cost=60
#
# Fifty ways to write a machine's RAM for QEMU (command_lines.py): vmwss finds what QEMU says that it is, or refuses the guest.
# With $QEMU_ROOT, the QEMU of another Debian, made by debootstrap with qemu-system-x86 in it.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

trap 'end_guests; rm -rf -- "${QEMU_ROOT:-}$guests_dir"' EXIT
while IFS= read -r line; do
	case $line in
	"ok "*) pass "${line#ok }" ;;
	"skip "*) skip "${line%%: *}" "${line#*: }" ;;
	*) fail "${line#not ok }" ;;
	esac
done < <(python3 -B "$(dirname "$0")/command_lines.py" "$vmwss" "$guests_dir" 2>&1)
finish
