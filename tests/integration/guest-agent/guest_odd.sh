#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: cost=16
#
# vmwss-guest in odd guests: processes, files, mounts, namespaces and control groups that few guests have, made here as far as this
# machine allows.

# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

dir=$(mktemp -d /var/tmp/vmwss-odd.XXXX)
started=()
end_all() {
	local pid
	for pid in "${started[@]}"; do kill -KILL "$pid"; done 2>/dev/null
	wait 2>/dev/null
	rm -rf -- "$dir"
}
trap end_all EXIT
cd "$dir" || exit 1
chmod 755 .
install -m 755 "$build/guest-agent/vmwss-guest" guest
guest=$dir/guest
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)

# begin COMMAND...: in the background, to be ended with everything else; sets pid.
begin() {
	"$@" &
	pid=$!
	started+=("$pid")
}

# ready COMMAND...: begin, and wait until it has printed a line, which is then in ./said.
ready() {
	: >said
	begin "$@" >said
	settles test -s said
}

# report: of an agent on ./socket, the report.
report() {
	python3 - <<-'END'
	import socket
	s = socket.socket(socket.AF_UNIX)
	s.connect("socket")
	s.sendall(b'{"ask":"report","seq":1}\n')
	print(s.makefile().readline())
	END
}
# serve COMMAND...: an agent on ./socket, begun by COMMAND; sets pid.
serve() {
	rm -f socket
	begin "$@" "$guest" serve --no-triggers --listen socket 2>why
	settles test -S socket
}

echo "# a process whose first thread has ended"
cat >zombie.py <<'END'
import ctypes, threading, time
memory = bytearray(b"\1") * (64 << 20)
file = open("zombie.py")
threading.Thread(target=time.sleep, args=(600,)).start()
print("ready", flush=True)
ctypes.CDLL(None).syscall(60 if __import__("os").uname().machine == "x86_64" else 93, 0)
END
ready python3 zombie.py
settles grep -q '^State:.Z' "/proc/$pid/status"
zombie=$pid
has_it() { quietly jq -e --argjson pid "$zombie" "$1" out; }
"$guest" smaps "$zombie" --json >out
check "smaps: $(jq -c '.processes[0] | [.rss_bytes, .pss_bytes]' out)" has_it '.processes[0] | .rss_bytes > 67108864 and .pss_bytes > 67108864'
"$guest" smaps --all --json >out
check "smaps --all" has_it '.processes[] | select(.pid == $pid) | .uss_bytes > 67108864'
"$guest" smaps --by program --json >out
check "smaps --by" has_it '.groups[] | select(.name | startswith("python3")) | .pss_bytes > 67108864'
"${nobody[@]}" "$guest" smaps "$zombie" --json >out 2>/dev/null
check "by its RSS, to one who may not see more" has_it '.refused == 1 and .processes[0].rss_bytes > 67108864 and .processes[0].swap_bytes >= 0'
"$guest" wss "$zombie" 0.1 --json >out
check "wss" has_it '[.. | .rss_bytes? // empty] | max > 67108864'
"$guest" cache -p "$zombie" --json >out
check "cache --pid: what it maps" has_it '[.files[].name | select(test("libc"))] != []'
check "and has open" has_it '[.files[].name | select(endswith("/zombie.py"))] != []'
serve env
report >out
check "serve" has_it '.report.processes[] | select(.pid == $pid) | .pss_bytes > 67108864'
kill "$pid"
kill -KILL "$zombie"

finish
