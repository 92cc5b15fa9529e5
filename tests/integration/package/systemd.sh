#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: extra tcg libvirt cost=315 limit=1500 lock=cpack
#
# The packages in a Debian that boots with systemd (TCG): they are installed while it runs, and are there after a reboot. What
# is checked in it is in systemd_inside; here is its machine, which has a port for the agent, and the host that asks it.

libs=(debian)
# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

dir=$(mktemp -d /tmp/vmwss-systemd.XXXX)
pid=
end_machine() {
	[[ -z $pid ]] || kill -KILL "$pid" 2>/dev/null || true
	pid=
}
trap 'end_machine; rm -rf --one-file-system -- "$dir"' EXIT

give_up() {
	tail -n 20 "$2" 2>/dev/null
	fail "$1"
	finish
	exit 1
}

# Gives the machine the packages, a guest of its own, and the checks.
bring() {
	(cd "$build" && cpack -G DEB -B "$dir/out") >"$dir/cpack.log" 2>&1 || return 1
	mkdir "$dir/bring"
	cp "$dir"/out/vmwss_*.deb "$dir/bring/vmwss.deb"
	cp "$dir"/out/vmwss-guest_*.deb "$dir/bring/vmwss-guest.deb"
	cp "$build/vm-images/payload/vmwss-payload.elf" "$root/tests/lib/check.sh" "$dir/bring/"
	cp "$root/tests/integration/package/systemd_inside" "$dir/bring/main"
	cp "$root/tests/integration/package/systemd_probe" "$dir/bring/probe"
	tar -C "$dir/bring" -cf "$dir/bring.tar" .
}

# For what has no time of its own to start in: an emulated machine on a busy host is slow, and what is late has failed.
patience=systemd.default_timeout_start_sec=900
# boot WORDS: the machine, with WORDS on its kernel's command line, until it ends. What it says is in said, its log in console.
boot() {
	: >"$dir/said"
	qemu-system-x86_64 -accel tcg -nodefaults -no-user-config -display none -vga none -no-reboot -m 1024 \
		-kernel "$boot_files/vmlinuz" -initrd "$boot_files/initrd.gz" \
		-append "console=ttyS0 no_timer_check panic=-1 transparent_hugepage=never guest.root=vda $patience $1" \
		-serial "file:$dir/console" -serial "file:$dir/said" -qmp "unix:$dir/qmp,server=on,wait=off" \
		-drive "file=$dir/disk,format=raw,if=virtio,cache=unsafe" \
		-drive "file=$dir/bring.tar,format=raw,if=virtio,readonly=on" \
		-device virtio-serial,id=serial0 -chardev "socket,id=agent,path=$dir/port,server=on,wait=off" \
		-device virtserialport,bus=serial0.0,nr=1,chardev=agent,id=port,name=org.vmwss.guest.0 &
	pid=$!
	listen
	wait "$pid"
	pid=
}
host() { python3 "$root/tests/integration/guest-agent/guest_agent_host.py" "$@"; }
qmp() { host "$dir/qmp" qmp "$1" | jq -e 'has("return")' >/dev/null; }

# Answers the machine's requests to its host.
serve() {
	case $1 in
	hello) check "its host is told hello" holds_json '.hello.protocol == 1' "$(host "$dir/port" ask hello)" ;;
	report)
		check "its host is told memory, stalls, and others' processes" holds_json \
			'.report | .memory and .pressure and any(.processes[]; .name == "libvirtd")' "$(host "$dir/port" ask report)"
		;;
	unplug) qmp '{"execute":"device_del","arguments":{"id":"port"}}' ;;
	plug)
		qmp '{"execute":"device_add","arguments":{"driver":"virtserialport","bus":"serial0.0","nr":1,"chardev":"agent","id":"port","name":"org.vmwss.guest.0"}}'
		;;
	esac || fail "QEMU does as it is told: $1"
}
holds_json() { jq -e "$1" <<<"$2" >/dev/null; }

# listen: until the machine ends, or is silent for ten minutes, which a busy host makes of one.
listen() {
	local line part='' silent=0
	finished=
	while ((silent < 3000)); do
		if IFS= read -r line; then
			line=${part}${line%$'\r'} part='' silent=0
			hear "$line"
			continue
		fi
		part+=$line
		[[ -e /proc/$pid/exe ]] || return 0
		silent=$((silent + 1))
		sleep 0.2
	done <"$dir/said"
	fail "the machine says something within ten minutes"
	kill -KILL "$pid"
}
hear() {
	if relay "$1"; then return; fi
	case $1 in
	'host: '*) serve "${1#host: }" ;;
	1..*) finished=$1 ;;
	*) printf '# %s\n' "$1" ;;
	esac
}
# stage N NAME
stage() {
	echo "# $2 ($SECONDS s)"
	boot "stage=$1"
	check "$2: it came to its end" test -n "$finished"
	[[ -n $finished ]] || tail -n 20 "$dir/console"
}

bring || give_up "cpack makes packages" "$dir/cpack.log"
mapfile -t needed < <(dpkg-deb -f "$dir/bring/vmwss.deb" Depends | tr ',' '\n' | sed 's/(.*//; s/ //g' | sort -u)
debian_image "$dir/debian" "${needed[@]}" init-system-helpers libvirt-daemon-system libvirt-daemon-driver-qemu libvirt-clients \
	qemu-system-x86 curl jq || give_up "a Debian with systemd can be made" "$dir/debian.log"
cp --sparse=always "$debian_disk" "$dir/disk"
boot_files=$("$root/vm-images/linux/make-linux-guest") || give_up "a kernel" /dev/null

stage 1 "installed while it runs"
stage 2 "after a reboot"
finish
