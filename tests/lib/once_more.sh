# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A machine shared with others stands still for seconds now and then, and of two hundred tests of real guests one is late. What
# failed so is run once more with nothing beside it: a defect fails twice. The first failure is not hidden, but printed in the end
# as FLAKY, to be looked into. A dozen at once are no accident; nor is anything that failed without a guest, unless it was the
# sanitizer that failed.

# None begins later than so many seconds after the beginning of tests/run.
no_repeat_after=4300

# failed_tests BUILD: names, as ctest has noted them.
failed_tests() { sed 's/^[0-9]*://' "$1/Testing/Temporary/LastTestsFailed.log" 2>/dev/null; }

# output_of BUILD NAME: what a test printed in ctest's last run.
output_of() { sed -n "/^[0-9]*\\/[0-9]* Testing: ${2//./\\.}\$/,/^\"${2//./\\.}\" end time/p" "$1/Testing/Temporary/LastTest.log"; }

# sanitizer_died BUILD NAME: LeakSanitizer could not look at the threads of a process ("Can't read directory entries from
# /proc/PID/task"), and nothing else failed. Seen in two processes of one test, in none of its next eight runs.
sanitizer_died() {
	local said deaths wrong
	said=$(output_of "$1" "$2")
	deaths=$(grep -c '^==[0-9]*==LeakSanitizer has encountered a fatal error' <<<"$said")
	wrong=$(grep -cE ':[FE]:|ERROR: |runtime error:|WARNING: ' <<<"$said")
	((deaths > 0 && wrong == deaths && wrong == $(grep -c ':E:.*Early exit with return value' <<<"$said")))
}

# once_more BUILD LOGS [PRESET]: runs what failed in ctest's last run of BUILD again; 0 if all of that passed now. LOGS/NAME.first
# is what the first run of each printed.
once_more() {
	local build=$1 logs=$2 noted=$1/Testing/Temporary/LastTestsFailed.log where=(--test-dir "$1") failed name first
	[[ -z ${3:-} ]] || where=(--preset "$3")
	mapfile -t failed < <(failed_tests "$build")
	((${#failed[@]} >= 1 && ${#failed[@]} <= 12)) || return 1
	for name in "${failed[@]}"; do
		if sanitizer_died "$build" "$name"; then
			output_of "$build" "$name" >"$logs/$name.log"
		elif [[ ! $name =~ ^(integration|lab)\. ]]; then
			return 1
		fi
	done
	printf '\n== once more, alone: %s (%d s)\n' "${failed[*]}" "$SECONDS"
	first=$(<"$noted")
	for name in "${failed[@]}"; do
		cp -- "$logs/$name.log" "$logs/$name.first" || return 1
		if ((SECONDS < no_repeat_after)) &&
			setpriv --pdeathsig TERM ctest "${where[@]}" --output-on-failure --no-tests=error -R "^${name//./\\.}\$" </dev/null; then
			first=$(grep -vx "[0-9]*:${name//./\\.}" <<<"$first")
		else
			# Twice: no accident.
			rm -- "$logs/$name.first"
		fi
	done
	# Each ctest wrote what failed in it.
	rm -f -- "$noted"
	[[ -z $first ]] || {
		printf '%s\n' "$first" >"$noted"
		return 1
	}
}

# print_flaky LOGS: what passed the second time only, and what had failed.
print_flaky() {
	local first name
	for first in "$1"/*.first; do
		[[ -e $first ]] || continue
		name=$(basename "$first" .first)
		echo "FLAKY: $name failed beside others, and passed alone"
		grep -A 3 -E '^not ok|LeakSanitizer has' "$first" | sed 's/^/  /'
	done
}
