# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A machine shared with others stands still for seconds now and then, and of two hundred tests of real guests one is late. What
# failed so is run once more with nothing beside it: a defect fails twice. The first failure is not hidden, but printed in the end
# as FLAKY, to be looked into. Five at once are no accident; nor is anything that failed without a guest.

# failed_tests BUILD: names, as ctest has noted them.
failed_tests() { sed 's/^[0-9]*://' "$1/Testing/Temporary/LastTestsFailed.log" 2>/dev/null; }

# once_more BUILD LOGS: runs what failed in ctest's last run of BUILD again; 0 if all of that passed now. LOGS/NAME.first is what
# the first run of each printed.
once_more() {
	local build=$1 logs=$2 failed name pattern
	mapfile -t failed < <(failed_tests "$build")
	((${#failed[@]} >= 1 && ${#failed[@]} <= 4)) || return 1
	for name in "${failed[@]}"; do
		[[ $name =~ ^(integration|lab)\. ]] || return 1
	done
	printf '\n== once more, alone: %s (%d s)\n' "${failed[*]}" "$SECONDS"
	for name in "${failed[@]}"; do cp -- "$logs/$name.log" "$logs/$name.first" || return 1; done
	rm -- "$build/Testing/Temporary/LastTestsFailed.log"
	pattern=$(IFS='|' && echo "${failed[*]//./\\.}")
	if setpriv --pdeathsig TERM ctest --test-dir "$build" --parallel 1 --output-on-failure --no-tests=error -R "^($pattern)\$" </dev/null; then return 0; fi
	for name in "${failed[@]}"; do
		failed_tests "$build" | grep -qxF -- "$name" || continue
		# Twice: no accident.
		rm -- "$logs/$name.first"
	done
	return 1
}

# print_flaky LOGS: what passed the second time only, and what had failed.
print_flaky() {
	local first name
	for first in "$1"/*.first; do
		[[ -e $first ]] || continue
		name=$(basename "$first" .first)
		echo "FLAKY: $name failed beside others, and passed alone"
		grep -A 3 '^not ok' "$first" | sed 's/^/  /'
	done
}
