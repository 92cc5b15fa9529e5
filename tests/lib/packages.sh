# shellcheck shell=bash disable=SC2034,SC2154 # shared with the scripts that source this
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What a fresh Debian needs to build, demonstrate and test; installed only where missing.

packages_build=(build-essential cmake ninja-build pkg-config libvirt-dev libxml2-dev libjansson-dev
	libncurses-dev libsmartcols-dev libsqlite3-dev libinih-dev libsystemd-dev libcap-ng-dev libseccomp-dev libmicrohttpd-dev
	check libsubunit-dev)
packages_guests=(qemu-system-x86 libvirt-daemon libvirt-daemon-driver-qemu libvirt-clients jq procps python3 sqlite3 tmux
	libxml2-utils)
packages_lab=(busybox-static kmod cpio xz-utils flex bison bc libelf-dev libssl-dev)
# The picture that tests/bench/matrix draws; without it the table is the same.
packages_picture=(gnuplot-nox)
# What the Linux guests of tests/bench/matrix work at: a redis, a compiler. Nothing here starts a service.
packages_work=(redis-tools tcc)
# libFuzzer is in the run-time libraries of the clang that the release has.
packages_fuzz=(clang "libclang-rt-$(grep -qx 'VERSION_ID="12"' /etc/os-release && echo 14 || echo 19)-dev")
packages_lint=(git python3 clang-format clang-tidy cppcheck shellcheck black pyflakes3 man-db groff systemd)
# The Debian package: what finds fault with it, and a fresh Debian to install it in, and to boot.
packages_package=(lintian debootstrap e2fsprogs systemd)
# What the exporter is tested with.
packages_prometheus=(prometheus prometheus-node-exporter curl systemd)
# What the guest agent is held against: the page cache of files.
packages_guest_agent=(vmtouch)

# install_packages PACKAGE...
install_packages() {
	local package missing=()
	for package in "$@"; do
		dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
	done
	((${#missing[@]})) || return 0
	if ((EUID != 0)); then
		echo "missing: ${missing[*]}; run as root, or install them yourself" >&2
		return 1
	fi
	echo "installing ${missing[*]}"
	# Services are not started: everything here runs without any.
	local policy=/usr/sbin/policy-rc.d made=
	if [[ ! -e $policy ]]; then
		printf '#!/bin/sh\nexit 101\n' >"$policy"
		chmod 755 "$policy"
		made=$policy
	fi
	DEBIAN_FRONTEND=noninteractive apt-get update -qq &&
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
	local status=$?
	[[ -z $made ]] || rm -f -- "$made"
	return $status
}
