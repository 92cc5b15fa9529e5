# shellcheck shell=bash disable=SC2154 # shared with the scripts that source this
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# For shellcheck, which follows no name that is made at run time: all that preamble.sh may source.

# shellcheck source=tests/lib/overlay.sh
. "$root/tests/lib/overlay.sh"
# shellcheck source=tests/lib/libvirtd.sh
. "$root/tests/lib/libvirtd.sh"
# shellcheck source=tests/lib/guests.sh
. "$root/tests/lib/guests.sh"
# shellcheck source=tests/lib/linux_guest.sh
. "$root/tests/lib/linux_guest.sh"
# shellcheck source=tests/lib/vmwssd.sh
. "$root/tests/lib/vmwssd.sh"
# shellcheck source=tests/lib/balloond.sh
. "$root/tests/lib/balloond.sh"
# shellcheck source=tests/lib/published.sh
. "$root/tests/lib/published.sh"
# shellcheck source=tests/lib/migrate.sh
. "$root/tests/lib/migrate.sh"
# shellcheck source=tests/lib/moving.sh
. "$root/tests/lib/moving.sh"
# shellcheck source=tests/lib/oracle.sh
. "$root/tests/lib/oracle.sh"
# shellcheck source=tests/lib/debian.sh
. "$root/tests/lib/debian.sh"
# shellcheck source=tests/lib/kernel_state.sh
. "$root/tests/lib/kernel_state.sh"
# shellcheck source=tests/lib/stalls.sh
. "$root/tests/lib/stalls.sh"
# shellcheck source=tests/lib/summary.sh
. "$root/tests/lib/summary.sh"
# shellcheck source=tests/lib/browser.sh
. "$root/tests/lib/browser.sh"
# shellcheck source=tests/lib/http.sh
. "$root/tests/lib/http.sh"
# shellcheck source=tests/lib/traced.sh
. "$root/tests/lib/traced.sh"
# shellcheck source=tests/lib/outsiders.sh
. "$root/tests/lib/outsiders.sh"
# shellcheck source=tests/lib/guest_program.sh
. "$root/tests/lib/guest_program.sh"
