# shellcheck shell=bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# HTTP servers and clients of a test.

# free_port: prints a port of 127.0.0.1 that nothing listens on.
free_port() { python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'; }
get() { curl --silent --show-error --max-time 60 "$@"; }
# status [OPTION...] URL: prints the status code.
status() { get --output /dev/null --write-out '%{http_code}' "$@"; }
has_status() { [[ $(status "$1") == "$2" ]]; }
# answers URL PATTERN [OPTION...]: a line of the answer matches the pattern.
answers() { get "${@:3}" "$1" 2>/dev/null | grep -aE -- "$2" >/dev/null; }
