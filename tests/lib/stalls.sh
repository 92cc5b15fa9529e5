# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# When this machine stood still, as a process sees it that wants to run five times a second. What is late then says nothing
# of vmwssd.

# stalls_begin FILE: in the background appends "BEGIN END stall", Unix time, for each second or more; sets stalls_pid.
stalls_begin() {
	: >"$1"
	python3 -c 'import sys, time
before = time.monotonic()
while True:
    time.sleep(0.2)
    now = time.monotonic()
    if now - before > 1:
        with open(sys.argv[1], "a") as file:
            print(time.time() - (now - before), time.time(), "stall", file=file)
    before = now' "$1" &
	# shellcheck disable=SC2034 # whoever sources this ends it
	stalls_pid=$!
	disown
}
