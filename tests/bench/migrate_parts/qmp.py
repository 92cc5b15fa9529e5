# SPDX-License-Identifier: LGPL-2.1-or-later
"""QEMU's monitor protocol: one command, one answer, and the events that came meanwhile with QEMU's own time stamps."""

import json
import socket
import time


class Refused(Exception):
    """QEMU's answer to a command was an error."""


class Monitor:
    """A connection to a QMP socket."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(path)
        self.lines = self.socket.makefile("r", encoding="utf-8")
        self.events = {}  # name: when it came last, Unix time
        json.loads(self.lines.readline())
        self.ask("qmp_capabilities")

    def ask(self, command, **arguments):
        self.socket.sendall(json.dumps({"execute": command, "arguments": arguments}).encode() + b"\n")
        while True:
            message = json.loads(self.lines.readline() or '{"error": {"desc": "QEMU has ended"}}')
            if "error" in message:
                raise Refused(f"{command}: {message['error']['desc']}")
            if "return" in message:
                return message["return"]
            if "event" in message:
                self._keep(message)

    def _keep(self, message):
        stamp = message["timestamp"]
        self.events[message["event"]] = stamp["seconds"] + stamp["microseconds"] / 1e6

    def until_event(self, name, patience_s):
        """Waits until an event has come; False if it did not within the time."""
        end = time.monotonic() + patience_s
        while name not in self.events and time.monotonic() < end:
            self.ask("query-status")
            time.sleep(0.02)
        return name in self.events

    def close(self):
        self.lines.close()
        self.socket.close()
