#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: cost=13
#
# Clients of the exporter that send a byte now and then, more of them than it has connections: it is scraped meanwhile, and
# each of them has an end.

# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

dir=$(mktemp -d /tmp/vmwss-slow.XXXX)
exporter=
end() {
	[[ -z $exporter ]] || kill -KILL "$exporter" 2>/dev/null
	rm -rf -- "$dir"
}
trap end EXIT

echo "web1 11111111-1111-4111-8111-111111111111 $(date +%s) 64 30 1" |
	"$build/tests/integration/keep_writer" "$dir/history.db" ask >/dev/null
# From socket activation, so that nobody else can have the port.
cat >"$dir/with_port.py" <<-'END'
	"""Listens on a free port, writes it, and becomes the exporter that is given the socket."""
	import os, socket, sys
	listener = socket.create_server(("127.0.0.1", 0), backlog=64)
	with open(sys.argv[1], "w") as out:
	    print(listener.getsockname()[1], file=out)
	os.dup2(listener.fileno(), 3)
	os.set_inheritable(3, True)
	os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
	os.execv(sys.argv[2], sys.argv[2:])
END
python3 "$dir/with_port.py" "$dir/port" "$build/host/vmwss-exporter" --database "$dir/history.db" 2>"$dir/messages" &
exporter=$!
settles test -s "$dir/port"

cat >"$dir/drip.py" <<-'END'
	"""Forty clients send a byte of a header every half second; five scrapes in between; then all of the forty end."""
	import socket, sys, time, urllib.request
	port = int(sys.argv[1])
	slow = [socket.create_connection(("127.0.0.1", port)) for _ in range(40)]
	ended = set()

	def drip():
	    for i, client in enumerate(slow):
	        try:
	            client.send(b"G")
	            if client.recv(1000) == b"":
	                ended.add(i)
	        except BlockingIOError:
	            pass
	        except OSError:
	            ended.add(i)

	for client in slow:
	    client.send(b"GET /metrics HTTP/1.1\r\nHost: x\r\nX-Slow: ")
	    client.setblocking(False)
	scrapes = 0
	for _ in range(5):
	    for _ in range(2):
	        drip()
	        time.sleep(0.5)
	    try:
	        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=3) as answer:
	            scrapes += b"vmwss_guests 1\n" in answer.read()
	    except OSError as error:
	        print("#", error, file=sys.stderr)
	print("scrapes", scrapes, flush=True)
	for _ in range(60):
	    if len(ended) == 40:
	        break
	    drip()
	    time.sleep(0.5)
	print("ended", len(ended))
END
python3 "$dir/drip.py" "$(<"$dir/port")" >"$dir/drip"
check "it is scraped meanwhile, five times of five" grep -qx 'scrapes 5' "$dir/drip"
check "and each of them has an end, though its bytes come" grep -qx 'ended 40' "$dir/drip"
status_of() { curl -s -o /dev/null -w '%{http_code}' "$@" "http://127.0.0.1:$(<"$dir/port")/metrics"; }
long=$(printf '%010000d' 0)
check "headers of 10 KiB are refused" test "$(status_of -H "X-Long: $long")" -ge 400
check "it goes on" test "$(status_of)" = 200

finish
