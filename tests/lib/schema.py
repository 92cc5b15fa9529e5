#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Holds JSON that programs print against the schemas that are installed, host/docs/schema/.

schema.py check [FILE...]  each line is an object that its schema allows and whose fields the schema names; prints how many of
                           which schema there were
schema.py learn [FILE...]  extends the schemas by what these lines have, or makes them: for who adds a field, and looks at the
                           difference
schema.py stable BUILD     prints what is promised, as host/docs/stable-1.0.txt has it: each field of each schema with its types
                           and its unit, metrics, keys of configuration, exit statuses, the history's versions, the agent's wire
schema.py keys             prints names that a source file sets in JSON and no schema has: a field that was added, and not here

A field is a path, "windows[].wss_bytes". Its unit is that of its name: a number whose unit changes has to change its name.
The keys of an object whose schema has no properties are names: of domains, files, NUMA nodes.
"""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import jsonschema

ROOT = Path(__file__).parents[2]
SCHEMAS = ROOT / "host/docs/schema"
# Columns of tables and of CSV only, of outputs that are no JSON.
NOT_JSON = {
    "actual",
    "error",
    "first_touch_after_s",
    "first_touch_by_s",
    "goal",
    "kind",
    "period",
    "resident",
    "target",
    "value",
}
UNITS = {
    "bytes_per_second": "bytes/s",
    "bytes_per_s": "bytes/s",
    "per_s": "1/s",
    "per_hour": "1/h",
    "ns": "nanoseconds",
    "ms": "milliseconds",
    "s": "seconds",
    "seconds": "seconds",
    "hours": "hours",
    "days": "days",
    "bytes": "bytes",
    "pages": "pages",
    "kib": "KiB",
    "ratio": "ratio",
    "fraction": "ratio",
    "share": "ratio",
    "percent": "percent",
}
KINDS = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    type(None): "null",
    dict: "object",
    list: "array",
}


def unit(name):
    return next((UNITS[end] for end in UNITS if name == end or name.endswith("_" + end)), None)


def kinds(schema):
    kind = schema.get("type", [])
    return {kind} if isinstance(kind, str) else set(kind)


def learn(schema, value, name):
    """Extends the schema of a field by one value of it."""
    found = kinds(schema) | {KINDS[type(value)], "null"}  # a value that is not known
    if "number" in found:
        found.discard("integer")
    schema["type"] = found.pop() if len(found) == 1 else sorted(found)
    if {"integer", "number"} & kinds(schema) and unit(name):
        schema["unit"] = unit(name)
    if isinstance(value, list):
        for item in value:
            learn(schema.setdefault("items", {}), item, name)
    if isinstance(value, dict):
        learn_object(schema, value)


def learn_object(schema, value):
    if schema.get("additionalProperties"):
        return
    known = "properties" in schema
    properties = schema.setdefault("properties", {})
    required = set(value) if not known else set(schema.get("required", ())) & set(value)
    schema["required"] = [key for key in value if key in required]
    for key, item in value.items():
        learn(properties.setdefault(key, {}), item, key)


def unnamed(schema, value, path=""):
    """Yields the fields of a value that its schema does not name."""
    if isinstance(value, list):
        for item in value:
            yield from unnamed(schema.get("items", {}), item, path + "[]")
    elif isinstance(value, dict) and not schema.get("additionalProperties"):
        for key, item in value.items():
            full = f"{path}.{key}" if path else key
            if key not in schema.get("properties", {}):
                yield full
            else:
                yield from unnamed(schema["properties"][key], item, full)


def fields(schema, path=""):
    if path:
        yield path, "|".join(sorted(kinds(schema) - {"null"})) or "null", schema.get("unit", "-")
    if "items" in schema:
        yield from fields(schema["items"], path + "[]")
    for key, item in schema.get("properties", {}).items():
        yield from fields(item, f"{path}.{key}" if path else key)


def objects(paths):
    for path in paths or ["/dev/stdin"]:
        for line in Path(path).read_text().splitlines():
            if line.strip():
                yield json.loads(line)


def schema_path(name):
    return SCHEMAS / f"{name}.json"


def check(paths):
    found, counts = [], Counter()
    for value in objects(paths):
        name = value.get("schema")
        if not name or not schema_path(name).exists():
            found.append(f"{name}: there is no such schema in host/docs/schema")
            continue
        schema = json.loads(schema_path(name).read_text())
        counts[name] += 1
        for error in jsonschema.Draft202012Validator(schema).iter_errors(value):
            found.append(f"{name}: {'.'.join(map(str, error.absolute_path))}: {error.message[:200]}")
        found += [f"{name}: the schema does not name the field {path}" for path in unnamed(schema, value)]
    for line in sorted(set(found)):
        print(line)
    for name, n in sorted(counts.items()):
        print(f"{n} of {name}")
    return bool(found) or not counts


def learn_all(paths):
    for value in objects(paths):
        name = value["schema"]
        path = schema_path(name)
        schema = {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": f"https://example.org/vmwss/{name}.json",
        }
        if path.exists():
            schema = json.loads(path.read_text())
        learn_object(schema, value)
        schema["type"] = "object"
        schema.setdefault("required", []).sort(key=list(schema["properties"]).index)
        schema["properties"]["schema"] = {"const": name}
        path.write_text(json.dumps(schema, indent=1) + "\n")


def texts(*folders):
    return {path: path.read_text() for folder in folders for path in sorted((ROOT / folder).rglob("*.[ch]"))}


def found_in(pattern, *folders):
    """The first group of each match, once each."""
    return sorted({match for text in texts(*folders).values() for match in re.findall(pattern, text)})


def run(program, *arguments):
    return subprocess.run([program, *arguments], capture_output=True, text=True).stdout


def stable(build):
    for path in sorted(SCHEMAS.glob("*.json")):
        for field in fields(json.loads(path.read_text())):
            yield " ".join(("json", path.stem, *field))
    for name in found_in(r'"(vmwss_[a-z0-9_]+)"', "host"):
        yield f"metric {name}"
    for program in "vmwssd", "vmwss-balloond":
        dumped = run(f"{build}/host/{program}", "--config", "/dev/null", "--dump-config")
        for key in re.findall(r"^([a-z0-9-]+) =", dumped, re.M):
            yield f"key {program} {key}"
    for program in "host/vmwss", "host/vmwss-exporter", "guest-agent/vmwss-guest":
        status = re.search(r"Exit status: (.*?)(?:\. See|\nSee)", run(f"{build}/{program}", "--help"), re.S)
        for number, meaning in re.findall(r"(\d+) ([^,;.]+)", status[1] if status else ""):
            yield f"status {Path(program).name} {number} {' '.join(meaning.split())}"
    version = int(found_in(r"#define VERSION (\d+)", "host/history")[0])
    for n in range(1, version + 1):
        yield f"history {n}"
    for n in found_in(r"#define WIRE_PROTOCOL (\d+)", "host/base/wire"):
        yield f"wire protocol {n}"
    for kind, name in found_in(r"FIELD\(agent_(\w+), (\w+), VALUE", "host/guest/agent"):
        yield f"wire {kind} {name}"


def keys():
    named = set()
    for path in SCHEMAS.glob("*.json"):
        for field, *_ in fields(json.loads(path.read_text())):
            named |= set(re.split(r"[.\[\]]+", field))
    setters = r'(?:sheet_(?!cell|begin|hide|note|scope|put\b)\w+\(\s*&?\w+|json_object_set_new\([^,;]+|json_set_known\(\w+),\s*"(\w+)"'
    folders = "host/show", "host/programs", "guest-agent", "host/measure/record"
    return [
        key for key in found_in(setters + r'|\.json = "(\w+)"', *folders) if (key[0] or key[1]) not in named | NOT_JSON
    ]


def main():
    if sys.argv[1:2] == ["check"]:
        return check(sys.argv[2:])
    if sys.argv[1:2] == ["learn"]:
        return learn_all(sys.argv[2:])
    if sys.argv[1:2] == ["stable"] and len(sys.argv) == 3:
        print("\n".join(stable(sys.argv[2])))
        return 0
    if sys.argv[1:] == ["keys"]:
        missing = keys()
        print("".join(f"{a or b}\n" for a, b in missing), end="")
        return bool(missing)
    print(__doc__, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
