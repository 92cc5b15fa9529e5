#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: core cost=120
#
# vmwss-exporter --web, activated by its socket, as nobody, on a read-only file system without a network, over the history of a
# hundred guests and seven days: pages only if asked for, the report made apart from the server and once for all who ask, clients
# that do not read, a history that is missing, damaged or locked, no room for files, kill -9; and in a real Chromium the report, and
# the guests now, which renew themselves.

libs=(http)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

dir=$(mktemp -d /tmp/vmwss-web.XXXX)
pids=()
end() {
	local pid
	for pid in "${pids[@]}"; do kill -CONT "$pid" && kill -KILL "$pid"; done 2>/dev/null
	rm -rf -- "$dir"
}
trap end EXIT

state=$dir/state db=$dir/state/history.db
mkdir "$state"
# Where nobody may run and read it.
chmod 755 "$dir" "$state"
exporter=$dir/vmwss-exporter
cp "$build/host/vmwss-exporter" "$exporter"
judge=("$root/tests/integration/programs/web_pages.py")
hostile="</script><img/src=x/onerror=document.title='evil'>"

# Or waits for a parent to take note.
ended() { [[ ! -e /proc/$1 || $(awk '{print $3}' "/proc/$1/stat" 2>/dev/null) == [ZX] ]]; }

# activate OPTION...: as its unit has it. Sets served (its process) and at. With room=FILE_SYSTEM that is where it may write files.
activate() {
	local port
	port=$(free_port)
	at=http://127.0.0.1:$port
	# shellcheck disable=SC2016 # expanded inside
	systemd-socket-activate --listen="127.0.0.1:$port" --setenv=exporter="$exporter" --setenv=db="$db" --setenv=state="$state" \
		--setenv=before="${before:-}" --setenv=SQLITE_TMPDIR="${room:-/nonexistent}" --setenv=ASAN_OPTIONS="${ASAN_OPTIONS:-}" \
		unshare --net --mount --propagation private -- bash -c '
		mount --bind "$state" "$state" && mount -o remount,bind,ro "$state" &&
			exec setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all --no-new-privs \
				${before:-} "$exporter" --database "$db" "$@"' bash "$@" 2>"$dir/log" &
	served=$!
	pids+=("$served")
	disown
	settles quietly get "$at/metrics" 2>/dev/null
}
# Sets maker: the process that makes the page. It lives for a second or so: stopped as soon as it is seen.
stop_maker() {
	local i
	maker=
	for ((i = 0; i < 2000; i++)); do
		maker=$(pgrep -P "$served" 2>/dev/null) && kill -STOP "$maker" 2>/dev/null && break
	done
	pids+=("$maker")
}
# makes_page: "/" is asked for until it is there
makes_page() { settles has_status "$at/" 200; }

# --- what it is told -----------------------------------------------------------------------------------------------

expect_exit "not with a file" 1 'excludes --textfile' "$exporter" --web --textfile "$dir/vmwss.prom"
expect_exit "not with --print" 1 'excludes --textfile and --print' "$exporter" --web --print
expect_exit "not two ways to print" 1 'only one of them' "$exporter" --print --page-to-stdout
expect_exit "a time that is none" 1 'expected a time' "$exporter" --web --web-since yesterday
expect_exit "a name that is none" 1 'without a port' "$exporter" --web --web-host 'a:80'
expect_exit "no page without a history" 2 'no history there' "$exporter" --page-to-stdout --database "$dir/none.db"

"$build/tests/integration/page_writer" "$db" 100 7 900 >/dev/null || fail "the history is written"
chmod 644 "$db"*
"$exporter" --page-to-stdout --web-since 7d --database "$db" >"$dir/page.html"
check "a page that is printed is whole" test "$(tail -n 1 "$dir/page.html")" = '</body></html>'
check "and has a row for each guest" test "$(grep -c '<tr data-for=' "$dir/page.html")" = 100
# shellcheck disable=SC2016 # expanded inside
expect_exit "a full disk under it" 2 'standard output: ' bash -c '"$0" --page-to-stdout --database "$1" >/dev/full' "$exporter" "$db"

# --- off by default ------------------------------------------------------------------------------------------------

activate
for path in /status /status.json /status.js /status.css; do check "without --web: $path is not there" has_status "$at$path" 404; done
check "and / is as it was" answers "$at/" '<a href="/metrics">metrics</a>'
check "and no page is made" not pgrep -P "$served"
get "$at/metrics" | grep -o '^vmwss_[a-z_]*' | sort -u >"$dir/families"
kill "$served"

# --- the report ----------------------------------------------------------------------------------------------------

activate --web --web-since 7d --web-host hv1.example.org
check "it is nobody" test "$(awk '/^Uid/ {print $2}' "/proc/$served/status")" = 65534
get "$at/metrics" | grep -o '^vmwss_[a-z_]*' | sort -u >"$dir/families-web"
check "the metrics are the same" cmp "$dir/families" "$dir/families-web"

quietly get "$at/"
stop_maker
check "the report is made by a process apart" test -n "$maker"
check "as nobody" test "$(awk '/^Uid/ {print $2}' "/proc/$maker/status")" = 65534
ten_at_once() {
	local client jobs=()
	for client in {1..10}; do
		status "$at/" >"$dir/answer.$client" &
		jobs+=($!)
	done
	wait "${jobs[@]}"
	[[ $(cat "$dir"/answer.*) == 503503503503503503503503503503 ]]
}
check "ten clients meanwhile: 503, none waits" ten_at_once
check "with when to come again" answers "$at/" '^Retry-After: 2' --include
check "and no further process" test "$(pgrep -c -P "$served")" = 1
check "metrics meanwhile" answers "$at/metrics" '^vmwss_guests '
check "the guests now meanwhile" answers "$at/status.json" '"schema":"vmwss.current.v1"'
kill -CONT "$maker"
check "then it is there" makes_page
check "and its process is not" settles ended "$maker"
get --include "$at/" >"$dir/answer"
# Its times and its number differ.
lines_of() { sed -n '/<table id="guests"/,/<\/table>/p' "$1" | sed 's/<time.*//' | sort; }
check "it is the page that is printed" test "$(lines_of "$dir/page.html" | wc -l)" = "$(lines_of "$dir/answer" | wc -l)"
check "whole" test "$(tail -n 1 "$dir/answer")" = '</body></html>'
# header NAME: what it has of it
header() { tr -d '\r' <"$dir/answer" | sed -n "s/^$1: //p"; }
check "it has a policy" test -n "$(header Content-Security-Policy)"
check "its policy is that of the page" grep -qF "$(header Content-Security-Policy | sed "s/; frame-ancestors 'none'$//")" <(grep '<meta http-equiv' "$dir/answer")
check "ten at once get one copy" python3 - "$at" <<-'END'
	import sys, threading, urllib.request
	pages = []
	def ask():
	    with urllib.request.urlopen(sys.argv[1] + "/", timeout=60) as answer:
	        pages.append(answer.read())
	threads = [threading.Thread(target=ask) for _ in range(10)]
	for thread in threads: thread.start()
	for thread in threads: thread.join()
	sys.exit(not (len(pages) == 10 and len(set(pages)) == 1 and len(pages[0]) > 500000))
END
nonce() { grep -ao "'nonce-[^']*'" | head -n 1; }
check "made once" test "$(nonce <"$dir/answer")" = "$(get "$at/" | nonce)"

# --- whose it is ---------------------------------------------------------------------------------------------------

status_as() { status -H "Host: $1" "$at$2"; }
check "another's name is refused" test "$(status_as evil.example /)$(status_as evil.example /status.json)" = 421421
check "to a scraper, too" test "$(status_as evil.example /metrics)" = 421
check "this host's is not" test "$(status_as "$(hostname)" /status)$(status_as localhost:1 /status)$(status_as HV1.example.org:19177 /)" = 200200200
check "no other path" test "$(status --path-as-is "$at/../../etc/passwd")$(status "$at/%2e%2e/state/history.db")$(status "$at/status.html")" = 404404404
check "no other method" test "$(status --data x "$at/status.json")$(status -X PUT "$at/")" = 405405
get --include "$at/status%0d%0aX-Evil:1?%0d%0aX-Evil:1" >"$dir/evil"
check "what is no path is answered" grep -q '^HTTP/1.1 404' "$dir/evil"
check "nothing of a request is in an answer" not grep -q Evil "$dir/evil"

# --- clients that do not read --------------------------------------------------------------------------------------

cat >"$dir/stall.py" <<-'END'
	"""Forty clients ask for the report and read nothing of it; five scrapes in between; then all of the forty have an end."""
	import socket, sys, time, urllib.request
	host, port = sys.argv[1].removeprefix("http://").split(":")
	slow = []
	for _ in range(40):
	    client = socket.socket()
	    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
	    client.connect((host, int(port)))
	    client.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
	    slow.append(client)
	scrapes = 0
	for _ in range(5):
	    with urllib.request.urlopen(sys.argv[1] + "/metrics", timeout=60) as answer:
	        scrapes += b"vmwss_guests " in answer.read()
	print("scrapes", scrapes, flush=True)
	time.sleep(12)
	ended = 0
	for client in slow:
	    client.settimeout(60)
	    try:
	        while client.recv(1 << 16):
	            pass
	        ended += 1
	    except ConnectionError:
	        ended += 1
	    except TimeoutError:
	        pass
	print("ended", ended)
END
python3 "$dir/stall.py" "$at" >"$dir/stall"
check "forty clients that do not read: it is scraped meanwhile" grep -qx 'scrapes 5' "$dir/stall"
check "and each of them has an end" grep -qx 'ended 40' "$dir/stall"
peak=$(awk '/^VmHWM/ {print $2}' "/proc/$served/status")
echo "# $peak KiB at most; the page has $(stat -c %s "$dir/answer") bytes"
# Sanitizers have a memory of their own.
[[ $build == */release ]] && check "its memory stays small" test "$peak" -le 40000

# --- in a browser --------------------------------------------------------------------------------------------------

in_browser() { check "in Chromium: $1" "${judge[@]}" "$2" "$3" "$dir/profile" "${@:4}"; }
add="echo \"$hostile aaaaaaaa-1111-4111-8111-111111111111 \$(date +%s) 64 30 1\" | '$build/tests/integration/keep_writer' '$db' ask | grep -qx '0 *' && chmod 644 '$db'*"
if [[ -n $(command -v chromium) ]]; then
	mkdir "$dir/profile"
	in_browser "the report" report "$at/"
	in_browser "the guests now: renewed, hostile names are text, the keyboard, what cannot be read" status "$at/status" \
		"$add" "mv '$state/history.db' '$state/away.db'" "mv '$state/away.db' '$state/history.db'"
else
	skip "in Chromium" "chromium is not installed"
	quietly bash -c "$add"
fi

# --- faults --------------------------------------------------------------------------------------------------------

kill "$served"
activate --web --web-since 7d
if [[ -n $(command -v chromium) ]]; then
	in_browser "the report comes by itself" arrives "$at/"
fi
kill "$served"

activate --web --web-since 7d
quietly get "$at/"
stop_maker
kill -KILL "$maker"
check "its process is killed: why" settles answers "$at/" 'was ended by signal 9$'
check "and metrics" has_status "$at/metrics" 200
check "it is tried again" makes_page
kill "$served"

activate --web --web-since 7d
quietly get "$at/"
stop_maker # where it may not have asked yet to end with its parent
kill -KILL "$served"
kill -CONT "$maker"
check "kill -9 of the server: the page's process ends, too" settles ended "$maker"

activate --web --web-since 7d
quietly get "$at/"
bound() { [[ $(cat "/proc/$1/oom_score_adj" 2>/dev/null) == 1000 ]]; }
stop_bound_maker() {
	local i
	maker=
	for ((i = 0; i < 2000; i++)); do
		maker=$(pgrep -P "$served" 2>/dev/null) && bound "$maker" && kill -STOP "$maker" 2>/dev/null && break
	done
	pids+=("$maker")
}
stop_bound_maker
check "the kernel ends the page's process first" bound "$maker"
kill -KILL "$served"
check "kill -9 of the server: a page's process that hangs ends, too" settles ended "$maker"

before="env --ignore-signal=CHLD" activate --web --web-since 7d
check "started by one who ignores SIGCHLD: the report" makes_page
kill "$served"

activate --web --web-since 7d
quietly get "$at/"
stop_maker
kill -TERM "$served"
check "the end does not wait for a page" settles ended "$served"
check "nor leaves its process" settles ended "$maker"

mkdir "$dir/full"
mount -t tmpfs -o size=4k,mode=777 tmpfs "$dir/full"
head -c 4096 /dev/zero >"$dir/full/other"
room=$dir/full activate --web --web-since 7d
check "no room for files: the report" makes_page
check "and the guests now" has_status "$at/status.json" 200
check "nothing was left there" test "$(ls -A "$dir/full")" = other
umount "$dir/full"
kill "$served"

python3 - "$db" "$dir/locked" <<-'END' &
	import os, sqlite3, sys, time
	connection = sqlite3.connect(sys.argv[1], isolation_level=None)
	connection.execute("PRAGMA locking_mode=EXCLUSIVE")
	connection.execute("BEGIN EXCLUSIVE")
	connection.execute("DELETE FROM guest WHERE 0")
	open(sys.argv[2], "w").close()
	time.sleep(600)
END
locker=$!
pids+=("$locker")
disown
settles test -e "$dir/locked"
activate --web --web-since 7d
check "locked: the guests now, why" answers "$at/status.json" '"error":".*locked'
check "and the report" settles answers "$at/" "^$db: .*locked"
check "metrics have an answer" has_status "$at/metrics" 503
kill "$locker"
check "unlocked: the report" makes_page
check "and the guests now" settles has_status "$at/status.json" 200
kill "$served"

mv "$db" "$dir/history.db"
activate --web --web-since 7d
check "no history: 503 for each" test "$(status "$at/status.json")$(status "$at/metrics")$(status "$at/")" = 503503503
check "and why" settles answers "$at/" "^$db: no history there: start vmwssd"
check "in JSON" answers "$at/status.json" '"error":".*no history there'
check "the page is there all the same" has_status "$at/status" 200
mv "$dir/history.db" "$db"
check "it comes back: the guests now" settles has_status "$at/status.json" 200
check "and the report" makes_page
kill "$served"

# Every tenth page but the first hundred is noise.
python3 - "$db" <<-'END'
	import os, random, sys
	random.seed(1)
	with open(sys.argv[1], "r+b") as file:
	    pages = os.path.getsize(sys.argv[1]) // 4096
	    for page in range(100, pages, 10):
	        file.seek(page * 4096)
	        file.write(random.randbytes(4096))
END
rm -f "$db-wal" "$db-shm"
activate --web --web-since 7d
damaged() { [[ $(status "$at/") == 503 ]] && not answers "$at/" 'being made'; }
check "damaged: the report says so" settles damaged
check "the server goes on" has_status "$at/status" 200
check "the metrics are an answer" grep -qx '200\|503' <(status "$at/metrics"; echo)
check "its log is short" test "$(wc -l <"$dir/log")" -le 20
check "nothing was written beside the history" test "$(find "$dir" -user 65534 | wc -l)" = 0
finish
