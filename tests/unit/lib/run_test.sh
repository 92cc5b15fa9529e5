#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What ctest makes of test scripts that pass, fail, skip, take too long, end in their midst or leave something behind, here and
# in the lab, also of one whose emulation dies: tests/lib/run_test and tests/declared.cmake, over scripts made here. And what a
# run prints of it in the end, and that a test that is stopped cleans up.

libs=(summary once_more)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"
dir=$(mktemp -d /tmp/vmwss-run.XXXX)
trap 'kill -KILL $(cat "$dir/left" <(cut -d " " -f 2 "$dir/ended/pids/"*_*)) 2>/dev/null; rm -rf -- "$dir"' EXIT
mkdir "$dir"/{integration,lab,tests,build}
ln -s "$root/tests/lib" "$dir/tests/lib"

# script FILE DECLARATION TEXT
script() {
	printf '#!/bin/bash\n# test: %s\n. "%s/tests/lib/check.sh"\n%s\n' "$2" "$root" "$3" >"$dir/$1.sh"
}
script integration/passes "cost=1" 'pass a; finish'
script integration/fails "core cost=2" 'pass a; fail b why; finish'
script integration/skips "tcg" 'skip a "cannot be had"; finish'
script integration/ends_early "tcg" 'pass a; exit 0'
script integration/dies "tcg" 'pass a; kill -KILL $$'
script integration/counts_none "tcg" 'finish'
script integration/unseen "tcg" '(fail "in a subshell"); pass b; finish'
script integration/hangs "limit=5 tcg" "trap 'sleep 1; touch $dir/cleaned_up' EXIT; touch $dir/begun; pass a; sleep 1000; finish"
script integration/leaves "tcg" "setsid sleep 1000 & echo \$! >$dir/left; pass a; finish"
script integration/leaves_quietly "tcg" "setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo \$! >$dir/left_quietly; pass a; finish"
# shellcheck disable=SC2016 # that script's
script integration/args "args=one,two name=arguments" \
	'check "$*" test "$*" = "one two"; check "the build" test "$BUILD" = '"$dir/build; finish"
# They look for each other. The groups of the last two are what a script is run in by its labels.
# They cost more than a lab, so that both begin while there is room for them; the second leaves the first time to begin.
script integration/one_at_a_time "serial cost=10500" \
	"check 'no other runs beside it' test ! -e $dir/running; touch $dir/running; sleep 1; rm $dir/running; finish"
script integration/the_other "serial cost=10400" "sleep 0.5; check 'no other runs beside it' test ! -e $dir/running; finish"
# shellcheck disable=SC2016 # that script's
group='read -r _ _ niceness </proc/self/autogroup'
script integration/with_guests "tcg cost=300" "$group; check 'it goes before its guests' test \"\$niceness\" = -10; finish"
script integration/without_guests "cost=300" "$group; check 'it comes after those, and before guests' test \"\$niceness\" = -5; finish"
script integration/lacks "needs=$dir/nothing" 'pass a; finish'
script lab/passes "lab=6.1,6.12 options=--icount" 'pass a; finish'
script lab/skips "lab=6.1" 'pass b; skip a why; finish'
script lab/died_once "lab=6.1" 'pass a; finish'
script lab/died_twice "lab=6.1" 'pass a; finish'
script lab/died_and_left "lab=6.1" 'pass a; finish'
script lab/fails "lab=6.1" 'fail a; finish'
script lab/time_up "lab=6.1" 'pass a; finish'

# Instead of the lab. How the emulation of a script ends, in turn, is in $dir/ends.SCRIPT: a status, and what goes to --deaths.
cat >"$dir/a_lab" <<-END
	#!/bin/bash
	echo "\$*" >>"$dir/labs"
	while [[ \$1 != --deaths ]]; do shift; done
	deaths=\$2 script=\${!#}
	ends=$dir/ends.\$(basename "\$script" .sh)
	status=
	if [[ -s \$ends ]]; then
		read -r status why <"\$ends"
		sed -i 1d "\$ends"
	fi
	[[ -n \$status ]] || exec bash "\$script"
	[[ -z \$why ]] || echo "\$why" >>"\$deaths"
	[[ \$script != */died_and_left.sh ]] || setsid sleep 1000 </dev/null >/dev/null 2>&1 &
	echo "not ok 1 - before it died"
	exit "\$status"
END
chmod +x "$dir/a_lab"
echo '125 running: QEMU: killed by signal 11' >"$dir/ends.died_once"
printf '125 running: %s\n' one two >"$dir/ends.died_twice"
echo '125 running: QEMU: it left something' >"$dir/ends.died_and_left"
echo '124 booting: x' >"$dir/ends.time_up"
export VMWSS_LAB_PROGRAM=$dir/a_lab VMWSS_PATIENCE=2 VMWSS_LOOKS=40

cat >"$dir/CMakeLists.txt" <<-END
	cmake_minimum_required(VERSION 3.25)
	project(scripts LANGUAGES NONE)
	enable_testing()
	include($root/tests/declared.cmake)
	file(GLOB integration integration/*.sh)
	file(GLOB lab lab/*.sh)
	declared_tests(integration \${integration})
	declared_tests(lab \${lab})
END
check "they are declared" quietly cmake -S "$dir" -B "$dir/build"

status=0
(cd "$dir/build" && ctest -j 4) >"$dir/printed" 2>&1 || status=$?
check "ctest fails" test "$status" = 8
verdict() { sed -nE "s/.* Test +#[0-9]+: $1 \.*[* ]*([A-Za-z ]*[A-Za-z]) .*/\1/p" "$dir/printed"; }
# is TEST VERDICT [PATTERN]: it is ctest's, and there is such a line in the log.
is() {
	check "$1: $2" test "$(verdict "$1")" = "$2"
	[[ -z ${3:-} ]] || check "$1: $3" grep -qE -- "$3" "$dir/build/Testing/logs/$1.log"
}
is integration.passes Passed '^1\.\.1$'
is integration.fails Failed '^not ok 2 - b'
is integration.skips Skipped '# SKIP cannot be had'
is integration.ends_early Failed '^not ok - .* did not come to its end'
is integration.dies Failed '^not ok - .* did not come to its end: status 137'
is integration.counts_none Failed '^not ok - .* ended with status 1'
is integration.unseen Failed '^not ok 1 - in a subshell'
is integration.hangs Failed 'had not come to its end after 10 s'
check "what hangs cleans up" test -e "$dir/cleaned_up"
is integration.leaves Failed 'left a process behind, which holds its output'
is integration.leaves_quietly Failed 'left a process behind: [0-9]*, sleep 1000'
check "what was left is ended" test ! -e "/proc/$(<"$dir/left")" -a ! -e "/proc/$(<"$dir/left_quietly")"
is integration.arguments Passed
is integration.one_at_a_time Passed
is integration.the_other Passed
# A kernel without such groups has no file; who is not root may not go before others.
if setsid -w bash -c 'echo -10 >/proc/self/autogroup' 2>/dev/null; then
	is integration.with_guests Passed
	is integration.without_guests Passed
fi
is integration.lacks "Not Run"
is lab.6.1.passes Passed
is lab.6.12.passes Passed
is lab.6.1.skips Failed 'something was skipped in the lab'
is lab.6.1.died_once Passed
is lab.6.1.died_twice Failed
is lab.6.1.died_and_left Passed
is lab.6.1.fails Failed
is lab.6.1.time_up Failed
labs_of() { grep -c "/$1.sh\$" "$dir/labs"; }
check "the lab died: once more" test "$(labs_of died_once)" = 2
check "also when it left a process behind" test "$(labs_of died_and_left)" = 2
check "but not a third time" test "$(labs_of died_twice)" = 2
check "failed: not again" test "$(labs_of fails)" = 1
check "its time was up: not again" test "$(labs_of time_up)" = 1
check "kernel, limit and options" \
	grep -q "^--kernel 6.12 --timeout 4800 --deaths [^ ]* --icount env BUILD=$dir/build VMWSS_PATIENCE=2 bash .*/passes.sh\$" "$dir/labs"

print_summary "$dir/build/Testing/logs" >"$dir/summary"
prints() { check "the summary: $1" grep -qxE -- "$1" "$dir/summary"; }
prints 'integration.fails: not ok 2 - b'
prints '#   why'
prints 'integration.skips: ok 1 - a # SKIP cannot be had'
prints 'The emulation died: lab.6.1.died_once, attempt 1, running: QEMU: killed by signal 11'
prints 'The emulation died: lab.6.1.died_once, attempt 1, after it failed: before it died'
prints '1 deaths of the lab while it booted, 4 while a script ran'
check "what is void is not in it" test "$(grep -c 'died_once: not ok' "$dir/summary")" = 0
prints '[1-9][0-9]* passed, [1-9][0-9]* failed, 2 skipped'

# once more: what passes then is flaky, what fails again is not, and only few tests of guests are run again.
mkdir -p "$dir/again/tests"
ln -s "$root/tests/lib" "$dir/again/tests/lib"
fails() { ! "$@"; }
# again TEXT...: ctest of integration.0, integration.1, ... with these texts; status of once_more.
again() {
	local i=0 text here=$dir/again
	rm -rf -- "$here"/{build,integration,first} && mkdir "$here"/{build,integration}
	for text in "$@"; do script "again/integration/$((i++))" "cost=1" "$text"; done
	sed 's/^declared_tests(lab.*//' "$dir/CMakeLists.txt" >"$here/CMakeLists.txt"
	quietly cmake -S "$here" -B "$here/build"
	(cd "$here/build" && ctest -j 4) >"$dir/printed" 2>&1
	once_more "$here/build" "$here/build/Testing/logs" >"$dir/once_more" 2>&1
}
late="[[ -e $dir/again/first ]] || { touch $dir/again/first; fail 'it was late' 'by 3 s'; }; pass a; finish"
check "what was late passes alone" again 'pass a; finish' "$late"
print_flaky "$dir/again/build/Testing/logs" >"$dir/flaky"
check "it is called flaky" grep -qx 'FLAKY: integration.1 failed beside others, and passed alone' "$dir/flaky"
check "with what failed" grep -q 'not ok 1 - it was late' "$dir/flaky"
check "what passed is not run again" test "$(grep -c 'Start .*integration\.' "$dir/once_more")" = 1
check "nothing is left that failed" test -z "$(failed_tests "$dir/again/build")"
check "what fails again has failed" fails again "$late" 'pass a; fail b; finish'
print_flaky "$dir/again/build/Testing/logs" >"$dir/flaky"
check "that is not flaky" test "$(grep -c 'FLAKY' "$dir/flaky")" = 1
check "ctest knows which" test "$(failed_tests "$dir/again/build")" = integration.1
check "three are not run again" fails again "$late" 'fail b; finish' 'fail c; finish'
# shellcheck disable=SC2034 # once_more's
too_late() { (no_repeat_after=0 && again "$@"); }
check "nor is any when the time is over" fails too_late "$late" 'pass a; finish'
check "which has failed" test "$(failed_tests "$dir/again/build")" = integration.0
rm "$dir/again/integration"/*
script again/integration/0 "cost=1" 'fail a; finish'
sed -i 's/declared_tests(integration/declared_tests(bare/' "$dir/again/CMakeLists.txt"
quietly cmake -S "$dir/again" -B "$dir/again/build"
(cd "$dir/again/build" && ctest) >"$dir/printed" 2>&1
check "a test without a guest has failed" test "$(failed_tests "$dir/again/build")" = bare.0
check "is not run again" fails once_more "$dir/again/build" "$dir/again/build/Testing/logs"

# unit_failed LINE...: ctest's log of a unit test that printed these.
unit_failed() {
	mkdir -p "$dir/unit/Testing/Temporary"
	{
		echo '1/2 Testing: unit.a'
		printf '%s\n' "$@"
		printf '%s\n' '"unit.a" end time: now' '2/2 Testing: unit.b' 'x.c:1:F:tests:y:0: false' '"unit.b" end time: now'
	} >"$dir/unit/Testing/Temporary/LastTest.log"
}
death='==12==LeakSanitizer has encountered a fatal error.' early='x.c:460:E:tests:z:0: (after this point) Early exit with return value 1'
unit_failed "$death" "$early"
check "LeakSanitizer failed itself" sanitizer_died "$dir/unit" unit.a
check "but not in the other test" fails sanitizer_died "$dir/unit" unit.b
unit_failed "$death" "$early" 'x.c:5:F:tests:w:0: false'
check "nor where a check failed, too" fails sanitizer_died "$dir/unit" unit.a
unit_failed "$death" "$early" '==13==ERROR: AddressSanitizer: heap-use-after-free'
check "or a sanitizer found something" fails sanitizer_died "$dir/unit" unit.a
unit_failed "$death" "$early" "$early"
check "or a process ended early without it" fails sanitizer_died "$dir/unit" unit.a
unit_failed "$early"
check "or it did not fail at all" fails sanitizer_died "$dir/unit" unit.a

check "ctest -L" test "$(cd "$dir/build" && ctest -N -L core | grep -c '#')" = 1
sed -i 's/# test: /&wrong /' "$dir/integration/passes.sh"
expect_exit "no such label" 1 'passes.sh: .*wrong is[[:space:]]+no label' cmake -S "$dir" -B "$dir/build"
sed -i 's/# test: wrong /# test: /' "$dir/integration/passes.sh"
sed -i '/# test: /d' "$dir/lab/fails.sh"
expect_exit "a script of the lab, for no kernel" 1 'fails.sh: needs a line' cmake -S "$dir" -B "$dir/build"

rm -f "$dir/begun" "$dir/cleaned_up"
bash "$root/tests/lib/run_test" --logs "$dir/logs" --limit 60 stopped "$dir/integration/hangs.sh" >/dev/null 2>&1 &
runner=$!
settles test -e "$dir/begun"
kill -TERM "$runner"
wait "$runner"
check "a test that is stopped cleans up, and is waited for" test -e "$dir/cleaned_up"

# Each way to end a test: which process gets which signal. The script's guest has daemonized, and has, as one of libvirt's, an
# environment of its own, so that neither a signal to a process group nor a look at environments finds it. A terminal is closed
# when the process that has its other side is killed.
ways=(ctest_TERM ctest_INT ctest_KILL terminal_KILL reaper_KILL run_test_KILL script_KILL)
ended=$dir/ended
mkdir -p "$ended"/{tests,integration,pids}
ln -s "$root/tests/lib" "$ended/tests/lib"
sed 's/^declared_tests(lab.*//' "$dir/CMakeLists.txt" >"$ended/CMakeLists.txt"
for way in "${ways[@]}"; do
	script "ended/integration/$way" "limit=600" "
		trap 'touch $ended/pids/$way.cleaned_up' EXIT
		(env -i setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo guest \$!) >$ended/pids/$way.begins
		echo script \$\$ run_test \$PPID reaper \$(ps -o ppid= -p \$PPID) | xargs -n 2 >>$ended/pids/$way.begins
		mv $ended/pids/$way.begins $ended/pids/$way
		while sleep 1; do :; done"
done
# Only a script ends what the reaper would have ended.
sed -i "s|trap '|&kill \$(sed -n \"s/guest //p\" $ended/pids/reaper_KILL); |" "$ended/integration/reaper_KILL.sh"
quietly cmake -S "$ended" -B "$ended/build"
# pid_in WAY PROCESS
pid_in() { sed -n "s/^$2 //p" "$ended/pids/$1"; }
# gone WAY: none of its processes is there.
gone() {
	local pid
	while read -r _ pid; do
		if kill -0 "$pid" 2>/dev/null; then return 1; fi
	done <"$ended/pids/$1"
}
in_terminal=(python3 -c 'import os, pty, sys
pid, terminal = pty.fork()
if pid == 0: os.execvp(sys.argv[1], sys.argv[1:])
while os.read(terminal, 4096): pass')
declare -A began=()
# Without job control SIGINT would be ignored in the background.
set -m
for way in "${ways[@]}"; do
	command=(ctest --test-dir "$ended/build" -R "\.$way\$")
	[[ $way != terminal_* ]] || command=("${in_terminal[@]}" "${command[@]}")
	"${command[@]}" </dev/null >"$ended/$way.printed" 2>&1 &
	began[$way]=$!
done
set +m
for way in "${ways[@]}"; do
	process=${way%_*} signal=${way##*_} pid=${began[$way]}
	if ! settles test -e "$ended/pids/$way"; then
		fail "$process: the test begins" "$(<"$ended/$way.printed")"
		continue
	fi
	[[ $process == ctest || $process == terminal ]] || pid=$(pid_in "$way" "$process")
	kill "-$signal" "$pid"
done
for way in "${ways[@]}"; do
	check "SIG${way##*_} for ${way%_*}: nothing is left running" settles gone "$way"
	[[ $way == script_KILL ]] || check "and the script has cleaned up" test -e "$ended/pids/$way.cleaned_up"
done

# Seen each time, and gone when it is to be ended. There is no such pid: none is so large.
mkdir "$dir/bin"
cat >"$dir/bin/grep" <<-END
	#!/bin/bash
	[[ \$1 == -lzxF ]] || exec $(command -v grep) "\$@"
	echo >>"$dir/looks"
	((\$(wc -l <"$dir/looks") > VMWSS_LOOKS)) || echo /proc/99999999/environ
END
chmod +x "$dir/bin/grep"
status=0
PATH=$dir/bin:$PATH bash "$root/tests/lib/run_test" --logs "$dir/logs" goes "$dir/integration/passes.sh" >/dev/null 2>&1 || status=$?
check "what went by itself at last is a failure" test "$status $(wc -l <"$dir/looks")" = "1 $((VMWSS_LOOKS + 1))"
check "and said" grep -q '^not ok - goes left a process behind' "$dir/logs/goes.log"

finish
