#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: cost=34 lock=cpack
#
# The Debian packages, of the host's programs and of the guest agent: lintian finds no error, and in a fresh Debian it installs, its programs start, a changed
# configuration survives, and purging leaves nothing.

libs=(debian)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

dir=$(mktemp -d /tmp/vmwss-package.XXXX)
trap 'rm -rf --one-file-system -- "$dir"' EXIT
fresh=$dir/fresh

inside() { debian_inside "$fresh" "$@"; }
apt_inside() { inside apt-get "$@" -y -qq >"$dir/apt.log" 2>&1; }
# Lists files that a package could leave, without those that apt itself writes. The copies that groupadd, useradd and their
# like keep of /etc/group, /etc/passwd and the shadows of both are theirs.
files() {
	(cd "$fresh" && find . -path ./proc -prune -o -path ./sys -prune -o -path ./dev -prune -o -path ./var/lib/dpkg -prune \
		-o -path ./var/lib/apt -prune -o -path ./var/cache -prune -o -path ./var/log -prune -o -path ./tmp -prune -o -print) |
		grep -vxE '\./etc/(group|gshadow|passwd|shadow|subuid|subgid)-' | sort
}

check "cpack makes a package" bash -c "cd '$build' && cpack -G DEB -B '$dir/out' >'$dir/cpack.log' 2>&1"
deb=$(find "$dir/out" -maxdepth 1 -name 'vmwss_*.deb')
guest_deb=$(find "$dir/out" -maxdepth 1 -name 'vmwss-guest_*.deb')
if [[ -z $deb || -z $guest_deb ]]; then
	cat "$dir/cpack.log"
	finish
	exit 1
fi
check "lintian finds no error" lintian --allow-root --fail-on error "$deb"
check "nor in the guest's" lintian --allow-root --fail-on error "$guest_deb"
check "which needs no other package" test -z "$(dpkg-deb -f "$guest_deb" Depends)"
check "its version is the program's, and that of debian/" test "$(dpkg-deb -f "$deb" Version)" = \
	"$("$build/host/vmwss" --version | awk '{ print $2 }')-$(sed -n '1s/.*-\([0-9]*\)).*/\1/p' "$root/host/package/debian/changelog")"

if ! debian_tree "$fresh"; then
	tail -n 5 "$fresh.log"
	fail "a fresh Debian can be made"
	finish
	exit 1
fi
cp "$deb" "$fresh/tmp/vmwss.deb"
cp "$guest_deb" "$fresh/tmp/vmwss-guest.deb"

check "a fresh Debian finds its packages" inside apt-get update -qq
# Its dependencies come first, so that its own files can be told from theirs.
mapfile -t needed < <(dpkg-deb -f "$deb" Depends | tr ',' '\n' | sed 's/(.*//; s/ //g')
check "and each of them once" test -z "$(printf '%s\n' "${needed[@]}" | sort | uniq -d)"
check "what it depends on is there" apt_inside install --no-install-recommends "${needed[@]}" init-system-helpers
files >"$dir/before"
check "it installs" apt_inside install --no-install-recommends /tmp/vmwss.deb
check "vmwss runs" inside bash -c 'vmwss --version >/dev/null'
check "vmwss says what this host can do" inside bash -c 'vmwss doctor >/dev/null'
check "its manual page is there" test -s "$fresh/usr/share/man/man1/vmwss-measure.1.gz"
completions() { diff <(inside ls /usr/share/bash-completion/completions | grep '^vmwss') <(ls "$root/host/completion"); }
check "so are its completions" completions
check "and rules and dashboards" inside bash -c 'cd /usr/share/vmwss && test -s vmwss.rules.yml &&
	test -s grafana/vmwss-fleet.json && test -s grafana/vmwss-host.json && test -s grafana/vmwss-guest.json'
check "its configuration is what the daemon has without one" \
	inside bash -c 'diff <(vmwssd --dump-config) <(vmwssd --config /dev/null --dump-config)'
check "the service is enabled" test -L "$fresh/etc/systemd/system/multi-user.target.wants/vmwssd.service"
check "its services have their users" quietly inside getent passwd vmwss vmwss-balloond
check "the exporter is not, unasked" test ! -e "$fresh/etc/systemd/system/sockets.target.wants/vmwss-exporter.socket"
# As systemctl enable makes it, which a fresh Debian has not.
check "but can be" inside bash -c 'cd /etc/systemd/system && mkdir -p sockets.target.wants &&
	ln -s /lib/systemd/system/vmwss-exporter.socket sockets.target.wants/'
check "the daemon starts, keeps its history, and ends" inside bash -c '
	timeout --preserve-status --signal TERM 15 vmwssd --foreground 2>/tmp/messages || { cat /tmp/messages; exit 1; }
	test -s /var/lib/vmwss/history.db'
check "which its own user and the group vmwss may read" \
	test "$(inside stat -c '%A %U %G' /var/lib/vmwss /var/lib/vmwss/history.db | xargs)" = "drwxr-s--- vmwss vmwss -rw-r----- vmwss vmwss"
check "the exporter reads it" inside bash -c 'vmwss-exporter --print | grep -qx "vmwss_guests 0"'
echo 'period = 17' >>"$fresh/etc/vmwss/vmwssd.conf"
check "it can be installed again" apt_inside install --reinstall --no-install-recommends \
	-o Dpkg::Options::=--force-confold /tmp/vmwss.deb
check "with the configuration as it was changed" grep -qx 'period = 17' "$fresh/etc/vmwss/vmwssd.conf"
check "it is removed" apt_inside remove vmwss
check "its configuration stays until it is purged" test -e "$fresh/etc/vmwss/vmwssd.conf"
check "it is purged" apt_inside purge vmwss
check "its users are gone" test -z "$(inside getent passwd vmwss vmwss-balloond)$(inside getent group vmwss vmwss-balloond)"
files >"$dir/after"
check "nothing is left" diff "$dir/before" "$dir/after"

check "the guest's installs without any of it" apt_inside install --no-install-recommends /tmp/vmwss-guest.deb
check "it runs" inside bash -c 'vmwss-guest memory --json | grep -q total_bytes'
check "its manual page is there" test -s "$fresh/usr/share/man/man1/vmwss-guest.1.gz"
check "what udev starts is there" grep -q '^ExecStart=/usr/bin/vmwss-guest ' "$fresh/usr/lib/systemd/system/vmwss-guest.service"
check "and so is the rule" grep -q 'SYSTEMD_WANTS.*vmwss-guest.service' "$fresh/usr/lib/udev/rules.d/60-vmwss-guest.rules"
check "it can be installed again" apt_inside install --reinstall --no-install-recommends /tmp/vmwss-guest.deb
check "it is purged" apt_inside purge vmwss-guest
files >"$dir/after"
check "nothing is left of it" diff "$dir/before" "$dir/after"
((failed == 0)) || cat "$dir/apt.log"

finish
