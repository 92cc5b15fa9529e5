#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""A server that answers what no Prometheus should; for plan_url.sh.

plan_url_server.py LOG [PEM CA]   prints its port; the first folder of a path says how it answers; a line of LOG for each request;
with PEM, a certificate and its key, it speaks TLS and wants a client certificate that CA has signed
"""

import gzip
import http.server
import json
import ssl
import sys
import time

EMPTY = json.dumps({"status": "success", "data": {"resultType": "vector", "result": []}}).encode()
ERROR = {"status": "error", "errorType": "execution", "error": "query processing would load too many samples\x1b[2J"}
PARTIAL = {
    "status": "success",
    "warnings": ["store 10.0.0.7:10901 is gone"],
    "data": {"resultType": "vector", "result": []},
}
CHUNK = b'{"status":"success",'.ljust(1 << 20)


class Handler(http.server.BaseHTTPRequestHandler):
    refused = 0
    first = None

    def answer(self, status, body, *headers):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def hang(self):
        time.sleep(600)

    def drip(self):
        self.send_response(200)
        self.end_headers()
        while True:
            self.wfile.write(b" ")
            time.sleep(0.2)

    def garbage(self):
        self.answer(200, b"<html>It works!</html>")

    def truncated(self):
        self.answer(200, EMPTY[:-9])

    def cut(self):
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        self.wfile.write(EMPTY)

    def failing(self):
        self.answer(500, b"oops")

    # Mimir and Cortex: github.com/grafana/dskit, user/http.go and user/id.go.
    def tenant(self):
        good = self.headers.get("X-Scope-OrgID") == "ours"
        self.answer(*((200, EMPTY) if good else (401, b"no org id\n")))

    def limited(self):
        self.answer(429, b"the tenant exceeded the request rate limit\n")

    def gateway(self):
        self.answer(502, b"<html><h1>502 Bad Gateway</h1></html>")

    def restarting(self):
        Handler.refused += 1
        self.answer(*((503, b"upstream connect error") if Handler.refused <= 3 else (200, EMPTY)))

    def waiting(self):
        Handler.first = Handler.first or time.monotonic()
        if time.monotonic() - Handler.first < 3:
            self.answer(429, b"too many requests", ("Retry-After", "4"))
        else:
            self.answer(200, EMPTY)

    def refusing(self):
        self.answer(422, json.dumps(ERROR).encode())

    def enormous(self):
        self.send_response(200)
        self.end_headers()
        while True:
            self.wfile.write(CHUNK)

    def bomb(self):
        body = gzip.compress(b" " * (80 << 20), 1)
        self.answer(200, body, ("Content-Encoding", "gzip"))

    def empty(self):
        self.answer(200, EMPTY)

    def moved(self):
        self.answer(302, b"", ("Location", f"http://localhost:{self.server.server_port}/stolen/"))

    def stolen(self):
        self.answer(200, EMPTY)

    def partial(self):
        self.answer(200, json.dumps(PARTIAL).encode())

    def bearer(self):
        good = self.headers.get("Authorization") == "Bearer s3cret"
        self.answer(200 if good else 401, EMPTY)

    def do_GET(self):
        how = self.path.split("/")[1]
        with open(sys.argv[1], "a", encoding="ascii") as log:
            log.write(f"{how}\n")
        try:
            getattr(self, how)()
        except (BrokenPipeError, ConnectionResetError):
            pass
        self.close_connection = True

    def log_message(self, format, *args):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
if len(sys.argv) > 2:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(sys.argv[2])
    tls.load_verify_locations(sys.argv[3])
    tls.verify_mode = ssl.CERT_REQUIRED
    server.socket = tls.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
