#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The Debian package: lintian finds no error, and in a fresh Debian it installs, its programs start, a changed
# configuration survives, and purging leaves nothing.

set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${BUILD:-$root/build/release}
# shellcheck source=../lib/check.sh
. "$root/tests/lib/check.sh"

dir=$(mktemp -d /tmp/vmwss-package.XXXX)
trap 'rm -rf --one-file-system -- "$dir"' EXIT
fresh=$dir/fresh
cache=${VMWSS_CACHE:-${HOME:-/root}/.cache/vmwss}
suite=bookworm

# The machine's own way to Debian, which may be a mirror or a proxy.
sources_of_this_machine() {
	cp /etc/resolv.conf "$fresh/etc/resolv.conf"
	rm -f "$fresh/etc/apt/sources.list"
	cp -r /etc/apt/sources.list /etc/apt/sources.list.d /etc/apt/apt.conf.d /etc/apt/trusted.gpg.d "$fresh/etc/apt/" 2>/dev/null
	[[ ! -e /etc/apt/apt.conf ]] || cp /etc/apt/apt.conf "$fresh/etc/apt/"
}
mirror() {
	# shellcheck disable=SC2016 # apt's own variables
	apt-get indextargets --format '$(REPO_URI)' | grep -m 1 -v security
}

# make_fresh: a minimal Debian in $fresh; kept for the next time, for a month.
make_fresh() {
	local kept
	kept=$(find "$cache" -maxdepth 1 -name "debian-$suite.tar" -mtime -30 2>/dev/null)
	mkdir -p "$fresh" "$cache"
	if [[ -z $kept ]]; then
		debootstrap --variant=minbase "$suite" "$fresh" "$(mirror)" >"$dir/debootstrap.log" 2>&1 || return 1
		tar -C "$fresh" -cf "$cache/debian-$suite.tar.new" . && mv "$cache/debian-$suite.tar.new" "$cache/debian-$suite.tar"
	else
		tar -C "$fresh" -xf "$kept" || return 1
	fi
	sources_of_this_machine
}

# inside COMMAND...: in the fresh Debian, with namespaces of its own, so that nothing it starts or mounts stays.
inside() {
	# shellcheck disable=SC2016 # expanded inside
	DEBIAN_FRONTEND=noninteractive unshare --mount --pid --fork --kill-child --propagation private -- bash -c '
		mount -t proc proc "$0/proc" && mount --rbind /sys "$0/sys" && mount --rbind /dev "$0/dev" || exit 125
		exec chroot "$0" "$@"' "$fresh" "$@"
}
apt_inside() { inside apt-get "$@" -y -qq >"$dir/apt.log" 2>&1; }
# What a package could leave; not what apt itself writes.
files() {
	(cd "$fresh" && find . -path ./proc -prune -o -path ./sys -prune -o -path ./dev -prune -o -path ./var/lib/dpkg -prune \
		-o -path ./var/lib/apt -prune -o -path ./var/cache -prune -o -path ./var/log -prune -o -path ./tmp -prune -o -print) | sort
}

check "cpack makes a package" bash -c "cd '$build' && cpack -G DEB -B '$dir/out' >'$dir/cpack.log' 2>&1"
deb=$(find "$dir/out" -maxdepth 1 -name '*.deb' | head -n 1)
if [[ -z $deb ]]; then
	cat "$dir/cpack.log"
	finish
	exit 1
fi
check "lintian finds no error" lintian --allow-root --fail-on error "$deb"
check "its version is the program's" test "$(dpkg-deb -f "$deb" Version)" = "$("$build/host/vmwss" --version | awk '{ print $2 }')"

if ! make_fresh; then
	tail -n 5 "$dir/debootstrap.log"
	fail "a fresh Debian can be made"
	finish
	exit 1
fi
printf '#!/bin/sh\nexit 101\n' >"$fresh/usr/sbin/policy-rc.d"
chmod 755 "$fresh/usr/sbin/policy-rc.d"
cp "$deb" "$fresh/tmp/vmwss.deb"

check "a fresh Debian finds its packages" inside apt-get update -qq
# What it needs first, so that what it leaves can be told from what they leave.
mapfile -t needed < <(dpkg-deb -f "$deb" Depends | tr ',' '\n' | sed 's/(.*//; s/ //g')
check "what it depends on is there" apt_inside install --no-install-recommends "${needed[@]}" init-system-helpers
files >"$dir/before"
check "it installs" apt_inside install --no-install-recommends /tmp/vmwss.deb
check "vmwss runs" inside bash -c 'vmwss --version >/dev/null'
check "vmwss says what this host can do" inside bash -c 'vmwss doctor >/dev/null'
check "its manual page is there" test -s "$fresh/usr/share/man/man1/vmwss-measure.1.gz"
check "its configuration is what the daemon has without one" \
	inside bash -c 'diff <(vmwssd --dump-config) <(vmwssd --config /dev/null --dump-config)'
check "the service is enabled" test -L "$fresh/etc/systemd/system/multi-user.target.wants/vmwssd.service"
check "the exporter is not, unasked" test ! -e "$fresh/etc/systemd/system/sockets.target.wants/vmwss-exporter.socket"
# As systemctl enable makes it, which a fresh Debian has not.
check "but can be" inside bash -c 'cd /etc/systemd/system && mkdir -p sockets.target.wants &&
	ln -s /lib/systemd/system/vmwss-exporter.socket sockets.target.wants/'
check "the daemon starts, keeps its history, and ends" inside bash -c '
	mkdir -p /var/lib/vmwss
	timeout --preserve-status --signal TERM 5 vmwssd --foreground 2>/tmp/messages || { cat /tmp/messages; exit 1; }
	test -s /var/lib/vmwss/history.db'
check "the exporter reads it" inside bash -c 'vmwss-exporter --print | grep -qx "vmwss_guests 0"'
echo 'period = 17' >>"$fresh/etc/vmwss/vmwssd.conf"
check "it can be installed again" apt_inside install --reinstall --no-install-recommends \
	-o Dpkg::Options::=--force-confold /tmp/vmwss.deb
check "with the configuration as it was changed" grep -qx 'period = 17' "$fresh/etc/vmwss/vmwssd.conf"
check "it is removed" apt_inside remove vmwss
check "its configuration stays until it is purged" test -e "$fresh/etc/vmwss/vmwssd.conf"
check "it is purged" apt_inside purge vmwss
files >"$dir/after"
check "nothing is left" diff "$dir/before" "$dir/after"
((failed == 0)) || cat "$dir/apt.log"

finish
