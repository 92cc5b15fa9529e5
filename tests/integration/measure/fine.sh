#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: serial cost=9
#
# measure --fine: huge pages of a process are split and joined again, with all bytes in place, also after ctrl-C and
# kill -9. What it measures is held against the truth in the lab (tests/lab/measure/fine.sh).

libs=(guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

no_guardian() { [[ -z $(pgrep -x vmwss-guardian)$(pgrep -x split_and_join) ]]; }

# told FILTER: a jq filter that is true of the line in $told.
told() { jq -e "$1" <<<"$told" >/dev/null; }

if grep -qs '\[never\]' /sys/kernel/mm/transparent_hugepage/enabled; then
	skip "splitting and joining" "transparent huge pages are off"
else
	for signal in 0 2 9; do
		told=$("$build/tests/integration/split_and_join" "$signal")
		echo "# $told"
		check "signal $signal: memory is in huge pages" told '.before >= 40'
		check "signal $signal: 32 of them are split while it measures" told '.during == .before - 32'
		check "signal $signal: all are joined in the end" told '.after == .before'
		check "signal $signal: memory holds what it held" told '.wrong_words == 0'
		check "signal $signal: no guardian is left" settles no_guardian
		case $signal in
		0) check "32 huge pages, a sixteenth of each" told '.rc == 0 and .n == 32 and .density == 0.0625 and .not_joined == 0' ;;
		2) check "interrupted" told '.rc == -4 and .not_joined == 0' ;;
		9) check "killed" told '.signal == 9' ;;
		esac
	done
fi

echo "# refused"
if start_payload tcg tcg "total=64M hot=8M" -m 128; then
	if [[ ! -e /sys/kernel/mm/page_idle/bitmap ]]; then
		expect_exit "a TCG guest without a method for single pages" 2 'cold: ' \
			"$vmwss" measure --pid "$pid" -w 0.5 --fine
		expect_exit "a method that counts mappings" 2 'cold: ' \
			"$vmwss" measure --pid "$pid" -w 0.5 -m cold --fine
	fi
	expect_exit "no number" 1 'fine' "$vmwss" measure --pid "$pid" --fine=x
	expect_exit "not while it is paused" 1 'exclude each other' "$vmwss" measure --pid "$pid" --fine --pause
	expect_exit "too few" 1 'fine' "$vmwss" measure --pid "$pid" --fine=1
	stop_guest "$pid"
fi
if start_payload locked tcg "total=64M hot=8M" -m 128 -overcommit mem-lock=on; then
	expect_exit "locked memory" 2 'fine: the guest.s RAM is locked' "$vmwss" measure --pid "$pid" -w 0.5 --fine
	stop_guest "$pid"
fi

finish
