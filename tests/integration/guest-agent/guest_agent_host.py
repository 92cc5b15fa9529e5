#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""The host's side of the agent's port, as a person at a socket: asks, floods, waits for a stall; or tells QEMU something.

guest_agent_host.py SOCKET ask NAME | flood N SECONDS | stall SECONDS | qmp COMMAND
"""

import json
import socket
import sys
import time

DEADLINE_S = 30  # a TCG guest on a busy machine


class Port:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.socket.settimeout(DEADLINE_S)
        self.rest = b""

    def send(self, message):
        self.socket.sendall(json.dumps(message).encode() + b"\n")

    def receive(self):
        """The next line; what is no JSON is an error of the agent. None at the end, or after the deadline."""
        while b"\n" not in self.rest:
            try:
                more = self.socket.recv(65536)
            except TimeoutError:
                return None
            if not more:
                return None
            self.rest += more
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line) if line else self.receive()


def ask(port, name):
    # Another number each time: an answer to an earlier host's question is none to ours.
    seq = time.monotonic_ns()
    port.send({"ask": name, "seq": seq})
    while (answer := port.receive()) is not None:
        if answer.get("seq") == seq:
            return answer
    return None


def flood(port, count, seconds):
    """Asks without reading, then reads up to the answer to the last question that went out, and asks again."""
    first, sent = time.monotonic_ns(), 0
    port.socket.setblocking(False)
    end = time.monotonic() + seconds
    while sent < count and time.monotonic() < end:
        try:
            # A line is far shorter than the socket's buffer takes at once; a part of one ends in the next's newline.
            port.socket.send(json.dumps({"ask": "report", "seq": first + sent}).encode() + b"\n")
            sent += 1
        except BlockingIOError:
            time.sleep(0.05)
    time.sleep(max(0, end - time.monotonic()))
    port.socket.settimeout(DEADLINE_S)
    port.socket.sendall(b"\n")
    answers = 0
    seq = time.monotonic_ns()
    port.send({"ask": "hello", "seq": seq})
    while (answer := port.receive()) is not None and answer.get("seq") != seq:
        answers += 1
    return {"sent": sent, "answers": answers, "lives": answer is not None}


def stall(port, seconds):
    end = time.monotonic() + seconds
    port.socket.settimeout(seconds)
    while time.monotonic() < end and (message := port.receive()) is not None:
        if "stall" in message:
            return message["stall"]
    return None


def qmp(port, command):
    port.receive()
    port.send({"execute": "qmp_capabilities"})
    port.receive()
    port.send(json.loads(command))
    while (answer := port.receive()) is not None and "event" in answer:
        pass
    return answer


def main():
    port, what, arguments = Port(sys.argv[1]), sys.argv[2], sys.argv[3:]
    if what == "ask":
        answer = ask(port, arguments[0])
    elif what == "flood":
        answer = flood(port, int(arguments[0]), float(arguments[1]))
    elif what == "stall":
        answer = stall(port, float(arguments[0]))
    else:
        answer = qmp(port, arguments[0])
    print(json.dumps(answer))
    return answer is None


if __name__ == "__main__":
    sys.exit(main())
