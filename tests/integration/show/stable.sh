#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: core cost=3
#
# What host/docs/STABILITY.md promises is still there: each field of JSON with its types and its unit, each metric, key, exit
# status, version of the history and field of the agent's wire that 1.0 has; and every name that a source file sets in JSON stands in a
# schema. That the outputs are as the schemas say is for schemas.sh.

# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

schema=$root/tests/lib/schema.py
dir=$(mktemp -d /tmp/vmwss-stable.XXXX)
trap 'rm -rf -- "$dir"' EXIT
promised=$root/host/docs/stable-1.0.txt

sort "$promised" >"$dir/promised"
"$schema" stable "$build" | sort >"$dir/now"
# vanished FILE: what of the promises is not in it.
vanished() { comm -23 "$dir/promised" "$1" | grep .; }
check "$(wc -l <"$promised") promises are kept" not vanished "$dir/now"
for what in json metric key status history wire; do
	check "of each kind there are some: $what" grep -q "^$what " "$dir/promised"
done
check "each name of JSON in the sources stands in a schema" "$schema" keys
valid() { python3 -c 'import json, sys, jsonschema
for path in sys.argv[1:]: jsonschema.Draft202012Validator.check_schema(json.load(open(path)))' "$root"/host/docs/schema/*.json; }
check "the schemas are ones" valid

echo "# what would break a promise is seen"
# without PATTERN, instead PATTERN TEXT: one promise less, or another in its place.
grep -v 'vmwss.sample.v1 windows\[\].wss_bytes ' "$dir/now" >"$dir/less"
check "a field that vanished" vanished "$dir/less"
sed 's/\(vmwss.sample.v1 windows\[\].wss_bytes integer\) bytes/\1 KiB/' "$dir/now" >"$dir/other"
check "a field with another unit" vanished "$dir/other"
sed 's/\(vmwss.sample.v1 ram_bytes\) integer/\1 string/' "$dir/now" >"$dir/other"
check "a field of another type" vanished "$dir/other"
for lost in 'metric vmwss_working_set_bytes' 'key vmwssd period' 'status vmwss 2 cannot measure' 'wire protocol 1'; do
	grep -vx "$lost" "$dir/now" >"$dir/less"
	check "lost: $lost" vanished "$dir/less"
done
echo '{"schema":"vmwss.event.v1","time":"2026-01-01T00:00:00Z","host":"h","domain":"d","uuid":"u"}' >"$dir/line"
check "an output without a field" not quietly "$schema" check "$dir/line"
echo '{"schema":"vmwss.event.v1","time":5,"host":"h","domain":"d","uuid":"u","event":"start"}' >"$dir/line"
check "one whose field has another type" not quietly "$schema" check "$dir/line"
echo '{"schema":"vmwss.event.v1","time":"t","host":"h","domain":"d","uuid":"u","event":"start","more":1}' >"$dir/line"
check "one with a field that no schema names" not quietly "$schema" check "$dir/line"

finish
