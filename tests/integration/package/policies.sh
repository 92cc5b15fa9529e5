#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: cost=5
#
# The AppArmor profiles and the SELinux module that the package brings: their compilers take them, and each profile names
# every capability that its unit does.

# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

policies=$root/host/package
scratch=$(mktemp -d)
trap 'rm -rf -- "$scratch"' EXIT

echo "# AppArmor"
for profile in vmwssd vmwss-balloond vmwss-exporter; do
	check "$profile is compiled" quietly apparmor_parser --skip-kernel-load --skip-cache --quiet "$policies/apparmor/$profile"
done
mkdir -p "$scratch/apparmor.d/local/abstractions"
printf 'abi <abi/3.0>,\nprofile guest {\n%s\n}\n' "$(cat "$policies/apparmor/libvirt-qemu")" >"$scratch/guest"
check "the rule for guests is compiled" quietly apparmor_parser --skip-kernel-load --skip-cache --quiet "$scratch/guest"
sed 's/ptrace (read, readby, trace)/ptrace (nonsense)/' "$policies/apparmor/vmwssd" >"$scratch/wrong"
if quietly apparmor_parser --skip-kernel-load --skip-cache --quiet "$scratch/wrong"; then
	fail "a profile that is wrong is refused"
else
	pass "a profile that is wrong is refused"
fi
# capabilities_of UNIT: those of its bounding set.
capabilities_of() { sed -n 's/^CapabilityBoundingSet=//p' "$1" | tr ' ' '\n' | sed -n 's/^CAP_//p' | tr '[:upper:]' '[:lower:]'; }
lacking() { # PROFILE UNIT
	local capability
	for capability in $(capabilities_of "$2"); do
		grep -q "^  capability $capability,$" "$policies/apparmor/$1" || echo "$capability"
	done
}
check "vmwssd has the capabilities of its unit" test -z "$(lacking vmwssd "$root/host/programs/vmwssd/vmwssd.service")"
check "vmwss-balloond, too" test -z "$(lacking vmwss-balloond "$root/host/programs/balloond/vmwss-balloond.service")"

echo "# SELinux"
check "the module is compiled" quietly checkmodule -M -m -o "$scratch/vmwss.mod" "$policies/selinux/vmwss.te"
check "and packaged" quietly semodule_package -o "$scratch/vmwss.pp" -m "$scratch/vmwss.mod" -f "$policies/selinux/vmwss.fc"
finish
