#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Kills vmwssd again and again, and holds what it has acknowledged against what is kept.

killed.py ROUNDS SEED DATABASE NOTIFY-SOCKET COMMAND...

Acknowledged is what any reader has seen of the history, every column of it, and as many records as vmwssd has told the
service manager that it has kept. Prints one JSON object.
"""
import json
import os
import random
import re
import signal
import socket
import sqlite3
import subprocess
import sys
import time

DEADLINE_S = 60


class Reader:
    """All that has ever been seen of the history."""

    def __init__(self, path):
        self.path = path
        self.rows = {}
        self.connection = None

    def ask(self, query, *values):
        """The rows; none while vmwssd has yet to make the history."""
        try:
            if self.connection is None:
                self.connection = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True, timeout=30)
            return self.connection.execute(query, values).fetchall()
        except sqlite3.OperationalError as error:
            if not re.search("unable to open|no such table", str(error)):
                raise
            self.connection = None
            return []

    def look(self):
        """How many new records there are."""
        new = self.ask("SELECT * FROM sample WHERE id > ?", max(self.rows, default=0))
        self.rows.update((row[0], row) for row in new)
        return len(new)

    def lost(self):
        """What was seen, and is not there as it was."""
        kept = {row[0]: row for row in self.ask("SELECT * FROM sample")}
        return [number for number, row in self.rows.items() if kept.get(number) != row]

    def wrong(self):
        """What is wrong with the history as a whole, or nothing."""
        checked = self.ask("PRAGMA quick_check")
        if checked != [("ok",)]:
            return str(checked)
        records = self.ask("SELECT count(*) FROM sample")
        for level in 60, 3600:
            counted = self.ask("SELECT total(records) FROM bucket WHERE level_s = ?", level)
            if counted != records:
                return f"{records} records, in buckets of {level} s {counted}"
        return ""


class Told:
    """What vmwssd tells the service manager."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(path)
        os.chmod(path, 0o666)  # as the service manager's is
        self.socket.setblocking(False)

    def kept(self):
        """The highest number of records that it has said are in the history; 0 when it said nothing."""
        highest = 0
        while True:
            try:
                message = self.socket.recv(4096).decode()
            except BlockingIOError:
                return highest
            found = re.search(r" (\d+) in the history", message)
            highest = max(highest, int(found.group(1)) if found else 0)


def written(path):
    """Changes whenever the write-ahead log does."""
    try:
        status = os.stat(path + "-wal")
        return status.st_size, status.st_mtime_ns
    except FileNotFoundError:
        return None


def await_moment(kind, reader, told, still_runs):
    """Until it is time to kill. Returns the records that vmwssd has said are kept, and whether the moment came."""
    pause_s, before, kept = random.uniform(0, 3), written(reader.path), 0
    times = random.randint(1, 3)
    if kind == "beginning":
        pause_s /= 10
    began = time.monotonic()
    while still_runs() and time.monotonic() < began + DEADLINE_S:
        new = reader.look()
        kept = max(kept, told.kept())
        if kind in ("any", "beginning") and time.monotonic() >= began + pause_s:
            return kept, True
        if kind == "writing" and written(reader.path) != before:
            before = written(reader.path)
            times -= 1
            if times == 0:
                time.sleep(random.choice((0, 0.0003, 0.001, 0.003)))
                return kept, True
        if kind == "seen" and new > 0:
            times -= 1
            if times == 0:
                return kept, True
        if kind == "told" and kept > 0:
            return kept, True
        time.sleep(0.0002 if kind == "writing" else 0.002)
    return kept, False


def notices(reader):
    """Of a copy that lacks one record: that it is lost, and that its buckets are wrong."""
    path = reader.path + ".control"
    copy = sqlite3.connect(path)
    with copy:
        reader.connection.backup(copy)
        copy.execute("DELETE FROM sample WHERE id = (SELECT max(id) FROM sample)")
    copy.close()
    control = Reader(path)
    control.rows = reader.rows
    return len(control.lost()) == 1 and control.wrong() != ""


def main():
    rounds, seed, path, notify, *command = sys.argv[1:]
    random.seed(int(seed))
    reader, told = Reader(path), Told(notify)
    environment = dict(os.environ, NOTIFY_SOCKET=notify)
    kinds = ("beginning", "any", "writing", "seen", "writing", "seen", "any", "told")
    result = {"kills": 0, "told": 0, "lost": [], "wrong": [], "behind_s": []}
    for i in range(int(rounds)):
        kind = kinds[i % len(kinds)]
        told.kept()
        reader.look()
        before = len(reader.rows)
        with subprocess.Popen(command, env=environment) as daemon:
            kept, came = await_moment(kind, reader, told, lambda: daemon.poll() is None)
            daemon.send_signal(signal.SIGKILL)
            killed = time.time()
            daemon.wait()
        result["kills"] += came and daemon.returncode == -signal.SIGKILL
        # A message that was under way counts as well.
        kept = max(kept, told.kept())
        result["told"] += kept
        seen = len(reader.rows) - before
        result["lost"] += [f"{kind}: record {number}" for number in reader.lost()]
        reader.look()
        if len(reader.rows) - before < kept:
            result["lost"].append(f"{kind}: {kept} are said to be kept, {len(reader.rows) - before} are")
        if reader.wrong():
            result["wrong"].append(f"{kind}: {reader.wrong()}")
        if seen:
            result["behind_s"].append(round(killed - max(row[2] for row in reader.rows.values()) / 1000, 2))
    result["records"] = len(reader.rows)
    result["notices"] = notices(reader)
    print(json.dumps(result))


main()
