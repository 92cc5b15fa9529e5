#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: tcg libvirt cost=20
#
# A picture of several guests that cannot be written is reported, also where one of them was not measured.

libs=(embed guests)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

embed_begin
trap 'embed_end; end_guests' EXIT
params="total=32M hot=8M"
check "a domain" embed_create web1 96 "$params"
expect_exit "one guest, and a full disk" 2 '/dev/full: No space' \
	"$vmwss" profile -c "$embed_uri" web1 --from 0.1 --to 0.2 -m cold --svg /dev/full
expect_exit "one that is not there beside it, and a full disk" 2 '/dev/full: No space' \
	"$vmwss" profile -c "$embed_uri" web1 none1 --from 0.1 --to 0.2 -m cold --svg /dev/full
finish
