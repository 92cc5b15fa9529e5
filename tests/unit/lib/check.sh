#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# That what tests/lib/check.sh prints is TAP, as prove(1) of Perl reads it, and that its status is what ctest expects.

# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"
dir=$(mktemp -d /tmp/vmwss-check.XXXX)
trap 'rm -rf -- "$dir"' EXIT

# prints STATUS TEXT LINE...: a script of that text ends with that status, and prints these lines.
prints() {
	local want=$1 status=0
	printf '. "%s/tests/lib/check.sh"\n%s\nfinish\n' "$root" "$2" >"$dir/script"
	bash "$dir/script" >"$dir/printed" 2>&1 || status=$?
	shift 2
	if [[ $status == "$want" ]] && diff <(printf '%s\n' "$@") "$dir/printed" >"$dir/differ"; then return 0; fi
	echo "# status $status"
	sed 's/^/#   /' "$dir/differ"
	return 1
}
# proved WORDS: of that script's lines prove says so; its status is another matter.
proved() {
	prove --exec cat "$dir/printed" >"$dir/proved" 2>&1
	grep -q "$1" "$dir/proved"
}

check "passed" prints 0 'pass a; check "b c" true' 'ok 1 - a' 'ok 2 - b c' 1..2 '# 2 passed, 0 failed, 0 skipped'
check "is TAP" proved '^Result: PASS'
check "failed, and why" prints 1 'check a test 1 = 2; pass b' 'not ok 1 - a' '#   test 1 = 2' 'ok 2 - b' 1..2 \
	'# 1 passed, 1 failed, 0 skipped'
check "is TAP, too" proved '^  Failed test:  1$'
check "nothing in why is a check" prints 1 $'fail a $\'x\\nok 2 - b\'' 'not ok 1 - a' '#   x' '#   ok 2 - b' 1..1 \
	'# 0 passed, 1 failed, 0 skipped'
check "nothing in a name is an instruction" prints 1 'fail "a # SKIP b"' 'not ok 1 - a \# SKIP b' 1..1 \
	'# 0 passed, 1 failed, 0 skipped'
check "so it failed" proved '^  Failed test:  1$'
check "some skipped" prints 0 'pass a; skip b why' 'ok 1 - a' 'ok 2 - b # SKIP why' 1..2 '# 1 passed, 0 failed, 1 skipped'
check "all skipped" prints 77 'skip a why' 'ok 1 - a # SKIP why' 1..1 '# 0 passed, 0 failed, 1 skipped'
check "as prove sees it" proved '^Result: PASS'
check "one skipped and one failed" prints 1 'skip a why; fail b' 'ok 1 - a # SKIP why' 'not ok 2 - b' 1..2 \
	'# 0 passed, 1 failed, 1 skipped'
check "nothing checked is a failure" prints 1 '' 1..0 '# 0 passed, 0 failed, 0 skipped'
check "another script's" prints 1 'relay "ok 7 - a"; relay "not ok 8 - b \# c"; relay "ok 9 - d # SKIP e"; relay f || echo "# f"' \
	'ok 1 - a' 'not ok 2 - b \# c' 'ok 3 - d # SKIP e' '# f' 1..3 '# 1 passed, 1 failed, 1 skipped'

finish
