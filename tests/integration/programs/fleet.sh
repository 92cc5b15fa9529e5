#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: serial tcg libvirt cost=102
#
# Ten guests of known working sets under one vmwssd: what it reports is the truth, within its budget, and is what virsh
# and the exporter show. The bench of that name, in less than two minutes: looks come every 4 s, and so cost more.
# No other such test runs beside it: it holds CPU time against a budget, and each of the ten against what it touches in a few
# tenths of a second.

# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"
exec "$root/tests/bench/fleet" --minutes 1.3 --period 4 --budget 12
