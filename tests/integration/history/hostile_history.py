#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""hostile_history.py BASE FILE KIND: copies the history BASE to FILE, and makes it one that vmwss has not written; or makes a
journal that vmwss-balloond has not written."""

import os
import re
import shutil
import sqlite3
import struct
import sys

base, path, kind = sys.argv[1:]
GROWN = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < %d) "


def columns(table, changed):
    """The columns of a table, for a SELECT, with those that are changed."""
    with sqlite3.connect(base) as db:
        return ", ".join(changed.get(row[1], row[1]) for row in db.execute(f"PRAGMA table_info({table})"))


def many_guests():
    guest = columns(
        "guest", {"id": "x + 1000", "name": "'n' || x", "uuid": "printf('%08d-1111-4111-8111-222222222222', x)"}
    )
    sample = columns("sample", {"id": "x + 1000", "guest_id": "1000 + x % 3000", "time_ms": "time_ms - x"})
    return (
        f"INSERT INTO guest {GROWN % 3000} SELECT {guest} FROM c, (SELECT * FROM guest LIMIT 1)",
        f"INSERT INTO sample {GROWN % 200000} SELECT {sample} FROM c, (SELECT * FROM sample ORDER BY id DESC LIMIT 1)",
    )


def hidden(create):
    """own_set is another thing, and the row that says so bears another name: the file seems to lack the table, as an old one."""
    return (
        "DROP TABLE own_set",
        create,
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET name = 'other', tbl_name = 'other' WHERE name = 'own_set'",
    )


ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
STATEMENTS = {
    "trigger": ("CREATE TRIGGER t AFTER INSERT ON sample BEGIN DELETE FROM sample; END",),
    "view": ("DROP VIEW wss", f"CREATE VIEW wss AS {ENDLESS}"),
    "view-for-table": ("DROP TABLE own_set", f"CREATE VIEW own_set AS {ENDLESS}"),
    "virtual": hidden(f"CREATE VIRTUAL TABLE own_set USING fts5({columns('own_set', {})})"),
    "capitals": ("DROP TABLE host_need", f"CREATE VIRTUAL TABLE HOST_NEED USING fts5({columns('host_need', {})})"),
    "generated": ("DROP TABLE write_set", "CREATE TABLE Write_Set(guest_id, time_ms AS (zeroblob(1000000000)))"),
    "view-for-new": ("DROP TABLE owner", f"CREATE VIEW owner AS {ENDLESS}"),
    "huge": ("UPDATE sample SET windows = printf('%.*c', 50000000, '[') WHERE id = (SELECT max(id) FROM sample)",),
    "names": ("UPDATE guest SET name = printf('%.*c', 900000, 'x')",),
    "values": ("UPDATE sample SET windows = printf('[%.*c]', 900000, '[')",),
    "times": ("UPDATE sample SET time_ms = 9223372036854775807 - id, ram_bytes = 9223372036854775807",),
    "other-table": (
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'guest') WHERE name = 'sample'",
    ),
    "events": (
        f"INSERT INTO event(guest_id, time_ms, kind) {GROWN % 300000} SELECT guest_id, time_ms + x, 'start' FROM c, event",
    ),
    "no-index": ("DROP INDEX sample_by_guest", "DROP INDEX bucket_by_guest", *many_guests()),
    "statistics": (
        *many_guests(),
        "ANALYZE",
        "UPDATE sqlite_stat1 SET stat = '1000000000 1000000000 1000000000 1000000000' WHERE idx IS NOT NULL",
        "DROP TABLE IF EXISTS sqlite_stat4",
    ),
    "index-of-none": (
        "DROP INDEX sample_by_guest",
        "CREATE INDEX sample_by_guest ON sample(guest_id, time_ms) WHERE guest_id = -1",
    ),
}


def tree(table, levels=8):
    """Pages of a tree all of whose cells lead to the same page below: 18^8 rows of table, which has no rowid."""
    with sqlite3.connect(path) as db:
        (root,) = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
        (pages,) = db.execute("PRAGMA page_count").fetchone()
    with open(path, "rb") as file:
        data = bytearray(file.read())
    child = root
    while data[(child - 1) * size] == 2:
        at = (child - 1) * size
        (first,) = struct.unpack_from(">H", data, at + 12)
        (child,) = struct.unpack_from(">I", data, at + first)
    at = (child - 1) * size
    first = at + struct.unpack_from(">H", data, at + 8)[0]
    long = data[first] >= 0x80
    length = (data[first] & 0x7F) << 7 | data[first + 1] if long else data[first]
    cell = bytes(data[first : first + 1 + long + length])
    if child == root:
        data += data[at : at + size]
        pages += 1
        child = pages
    cells = (size - 200) // (len(cell) + 6)
    for level in range(levels):
        page = bytearray(size)
        begin = size - (4 + len(cell)) * cells
        struct.pack_into(">BHHHBI", page, 0, 2, 0, cells, begin, 0, child)
        for i in range(cells):
            at = begin + (4 + len(cell)) * i
            struct.pack_into(">H", page, 12 + 2 * i, at)
            struct.pack_into(">I", page, at, child)
            page[at + 4 : at + 4 + len(cell)] = cell
        if level == levels - 1:
            data[(root - 1) * size : root * size] = page
        else:
            data += page
            pages += 1
            child = pages
    struct.pack_into(">I", data, 28, pages)
    data[24:28] = data[92:96]
    with open(path, "wb") as file:
        file.write(data)


def table_tree(table, levels=8):
    """The same of a table with rowids."""
    with sqlite3.connect(path) as db:
        (root,) = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
        (pages,) = db.execute("PRAGMA page_count").fetchone()
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with open(path, "rb") as file:
        data = bytearray(file.read())
    data += data[(root - 1) * size : root * size]
    child = pages = pages + 1
    cells = (size - 200) // 7
    for level in range(levels):
        page = bytearray(size)
        struct.pack_into(">BHHHBI", page, 0, 5, 0, cells, size - 5 * cells, 0, child)
        for i in range(cells):
            struct.pack_into(">H", page, 12 + 2 * i, size - 5 * (i + 1))
            struct.pack_into(">IB", page, size - 5 * (i + 1), child, 1)
        if level == levels - 1:
            data[(root - 1) * size : root * size] = page
        else:
            data += page
            child = pages = pages + 1
    struct.pack_into(">I", data, 28, pages)
    data[24:28] = data[92:96]
    with open(path, "wb") as file:
        file.write(data)


DECISIONS = "id INTEGER PRIMARY KEY, time_s REAL, uuid TEXT, name TEXT, mode TEXT, acted INTEGER, level TEXT, action TEXT, hold TEXT, why TEXT"
DECISION = "1, unixepoch(), '11111111-1111-4111-8111-111111111111', 'a', 'lazy', 0, 'ample', 'none', 'none', 'why'"
# Tens of seconds for each row, in one step of SQLite.
SLOW = "instr(printf('%.*c', 900000, 'a'), printf('%.*c', 450000, 'a') || 'b')"
JOURNALS = {
    "journal": (f"CREATE TABLE decision({DECISIONS})", f"INSERT INTO decision VALUES ({DECISION})"),
    "journal-view": (f"CREATE VIEW decision AS SELECT * FROM (SELECT {DECISION}), ({ENDLESS})",),
    "journal-virtual": (f"CREATE VIRTUAL TABLE decision USING fts5({re.sub(' [A-Z ]+', '', DECISIONS)})",),
    "journal-generated": (
        f"CREATE TABLE decision({DECISIONS}, target_bytes INTEGER AS ({SLOW}), goal_bytes INTEGER AS ({SLOW}))",
        f"INSERT INTO decision VALUES ({DECISION})",
    ),
}


def run(statements):
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


if kind in JOURNALS or kind == "journal-tree":
    run(JOURNALS.get(kind, JOURNALS["journal"]))
    if kind == "journal-tree":
        table_tree("decision")
    sys.exit()
shutil.copy(base, path)
if kind in STATEMENTS:
    run(STATEMENTS[kind])
elif kind == "tree":
    tree("bucket")
elif kind == "statistics-tree":
    run(("ANALYZE",))
    table_tree("sqlite_stat1")
elif kind.startswith("link-"):
    os.symlink(base, path + kind.removeprefix("link"))
elif kind.startswith("fifo-"):
    os.mkfifo(path + kind.removeprefix("fifo"))
elif kind == "other-wal":  # whose frames are of another file
    connection = sqlite3.connect(path + ".other")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("CREATE TABLE guest(id)")
    connection.execute(f"INSERT INTO guest {GROWN % 3000} SELECT x FROM c")
    connection.commit()
    shutil.copy(path + ".other-wal", path + "-wal")
    connection.close()
else:
    sys.exit(f"{kind}: unknown")
