# shellcheck shell=bash disable=SC2034 # shared with the scripts that source this
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What test scripts begin with. Sets root (the checkout), build (its build directory, $BUILD if that is set) and accel (what guests
# run on here), and sources check.sh and, in their order, those of this directory that are in the array libs. With overlay,
# libvirtd or embed, which come first, the script is started again in a namespace of its own.

set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${BUILD:-$root/build/release}
# In the arm64 lab: what was cross-built.
[[ $(uname -m) != aarch64 ]] || build=$root/build/arm64
accel=tcg
[[ -z ${VMWSS_LAB_KERNEL:-} ]] || accel=kvm

# shellcheck source=tests/lib/check.sh
. "$root/tests/lib/check.sh"
# shellcheck disable=SC2154 # the script's own, if it needs any
for lib in "${libs[@]}"; do
	# shellcheck source=tests/lib/every.sh
	. "$root/tests/lib/$lib.sh" || exit 1
	case $lib in
	overlay) overlay_reexec "$@" ;;
	embed) embed_reexec "$@" ;;
	libvirtd)
		libvirtd_reexec "$@"
		embed_reexec "$@"
		;;
	esac
done
