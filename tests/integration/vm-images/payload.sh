#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg cost=5
#
# The payload says what its parameters lack of the machine: phases go by the timer of ACPI, without which it waited for ever.

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

without_acpi() { MACHINE=pc,acpi=off run_payload without tcg "$params" -m 64 2>/dev/null; }
is_refused() { ! without_acpi; }
params="total=16M phases=2:8M,2:4M"
check "with ACPI it gets ready" run_payload with tcg "$params" -m 64
check "without it does not" is_refused
check "and says why" grep -q 'vmwss-payload error: phases= needs a timer' "$guests_dir/without.out"
finish
