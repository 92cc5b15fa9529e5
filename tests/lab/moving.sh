#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# In the lab: numbers while memory moves (tests/integration/moving.sh), of KVM guests and by every method of this kernel.

methods=(pageout zap)
[[ ! -e /sys/kernel/mm/page_idle/bitmap ]] || methods+=(idle)
[[ ! -e /sys/kernel/mm/damon ]] || methods+=(damon)
ACCEL=kvm METHODS=${METHODS:-${methods[*]}} exec bash "$(dirname "${BASH_SOURCE[0]}")/../integration/moving.sh"
