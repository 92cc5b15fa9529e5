# shellcheck shell=bash disable=SC2034,SC2154 # shared with the scripts that source this
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# libvirt's embedded QEMU driver: real domains, no daemon, everything below one directory.

# XML for embed_create: the guest's RAM is a shared memfd.
memfd="<memoryBacking><source type='memfd'/><access mode='shared'/></memoryBacking>"

# embed_reexec "$@": starts the script $0 again in a mount namespace of its own, so that nothing outside changes: /run is
# its own there, where libvirt 11 leaves a token; and /etc/passwd and /etc/group know the users of vmwssd and vmwss-balloond,
# the group libvirt, and the user libvirt-qemu, which libvirt, run as root, looks up even when qemu.conf names another one. On
# Debian 12 the package that makes this user also brings services and a network. A package whose scripts make a user or group
# cannot be installed in that namespace (the files are mount points there): install first.
embed_reexec() {
	[[ -z ${VMWSS_EMBED_NAMESPACE:-} ]] || return 0
	# In a chroot / may be no mount point, so that unshare cannot make it private; the namespace's own root, to which nsenter
	# goes, is one. The copies are in a tmpfs that stays as long as what is mounted from it.
	# shellcheck disable=SC2016 # expanded inside
	VMWSS_EMBED_NAMESPACE=1 exec unshare --mount --propagation unchanged -- bash -c '
		set -e
		mount --make-rprivate / 2>/dev/null || nsenter --mount=/proc/self/ns/mnt mount --make-rprivate /
		mount -t tmpfs tmpfs /mnt
		cp -p /etc/passwd /etc/group /mnt
		getent passwd libvirt-qemu >/dev/null ||
			echo "libvirt-qemu:x:64055:64055::/var/lib/libvirt:/usr/sbin/nologin" >>/mnt/passwd
		getent group libvirt-qemu >/dev/null || echo "libvirt-qemu:x:64055:" >>/mnt/group
		getent passwd vmwss >/dev/null || echo "vmwss:x:64056:64056::/nonexistent:/usr/sbin/nologin" >>/mnt/passwd
		getent group vmwss >/dev/null || echo "vmwss:x:64056:" >>/mnt/group
		getent passwd vmwss-balloond >/dev/null ||
			echo "vmwss-balloond:x:64058:64058::/nonexistent:/usr/sbin/nologin" >>/mnt/passwd
		getent group vmwss-balloond >/dev/null || echo "vmwss-balloond:x:64058:" >>/mnt/group
		getent group libvirt >/dev/null || echo "libvirt:x:64057:" >>/mnt/group
		for file in passwd group; do mount --bind /mnt/$file /etc/$file; done
		umount /mnt
		mount -t tmpfs -o mode=755 tmpfs /run
		exec "$@"' bash bash "$0" "$@"
}

# embed_begin: makes embed_dir and embed_uri. A trap that calls embed_end may be set before.
embed_begin() {
	# Short: libvirt puts sockets below it, and their paths may have 107 bytes. Its name is known before it is made, so
	# that a signal at any moment finds it.
	until
		embed_dir=$(mktemp -u /tmp/vmwss.XXXX)
		mkdir -m 700 "$embed_dir"
	do
		embed_dir=
	done
	embed_uri="qemu:///embed?root=$embed_dir"
	mkdir "$embed_dir/etc"
	cat >"$embed_dir/etc/qemu.conf" <<-END
		stdio_handler = "file"
		security_driver = "none"
		user = "root"
		group = "root"
		cgroup_controllers = [ ]
		namespaces = [ ]
		remember_owner = 0
	END
	export LIBVIRT_LOG_OUTPUTS=4:file:/dev/null
}

embed_virsh() { virsh -q -c "$embed_uri" "$@"; }

# embed_pid NAME: the process of a domain, also of the libvirtd of libvirtd.sh.
embed_pid() { cat "$embed_dir/run/qemu/$1.pid" 2>/dev/null || cat "/run/libvirt/qemu/$1.pid"; }

# embed_nice NAME NICENESS: of the whole guest: libvirt starts each in a session, and so in a scheduling group, of its own.
embed_nice() { echo "$2" >"/proc/$(embed_pid "$1")/autogroup"; }

# qemus_below DIR: the pids of the QEMU processes, guests or libvirt's probes, whose command line names a file below DIR, in
# this mount namespace; and of a virsh that is about to become one.
qemus_below() {
	local file pid
	# Processes end while they are looked at.
	while read -r file; do
		pid=${file#/proc/}
		pid=${pid%/cmdline}
		[[ /proc/$pid/ns/mnt -ef /proc/self/ns/mnt ]] || continue
		case $(readlink "/proc/$pid/exe" 2>/dev/null) in */qemu-system-* | */virsh*) echo "$pid" ;; esac
	done < <(grep -lasF -- "$1/" /proc/[0-9]*/cmdline 2>/dev/null)
	return 0
}

# qemus_end DIR: ends them, and returns once none is there: asked first, killed after two seconds. Fails if one stays for
# ten more. A guest is not ended through libvirt: "virsh destroy" of an embedded driver (libvirt 9.0) may end it and return
# 1, and virsh itself may just have been interrupted.
qemus_end() {
	local i pids
	for ((i = 0; i < 120; i++)); do
		mapfile -t pids < <(qemus_below "$1")
		((${#pids[@]})) || return 0
		case $i in
		0) kill -TERM "${pids[@]}" 2>/dev/null || true ;;
		20 | 60 | 100) kill -KILL "${pids[@]}" 2>/dev/null || true ;;
		esac
		sleep 0.1
	done
	echo "QEMU does not end: ${pids[*]}" >&2
	return 1
}

# embed_end: ends all domains and removes the directory. May be called again, and before embed_begin; what is gone
# already is no failure.
embed_end() {
	[[ -n ${embed_dir:-} ]] || return 0
	local status=0
	qemus_end "$embed_dir" || status=1
	rm -rf -- "$embed_dir" || status=1
	return $status
}

# embed_create NAME MIB PARAMS [XML]: starts a payload guest, without huge pages, and waits until it is ready. XML is
# put among the domain's elements; EMBED_TYPE=kvm makes it a KVM guest, BALLOON=virtio gives it that balloon. Needs
# $payload, $nothp and resting().
embed_create() {
	local name=$1 mib=$2 params extra=${4:-} i arch=x86_64 machine=pc features=
	params=$(resting "$3")
	[[ $(uname -m) != aarch64 ]] || arch=aarch64 machine=virt features="<features><gic version='3'/></features>"
	cat >"$embed_dir/$name.xml" <<-END
		<domain type='${EMBED_TYPE:-qemu}'>
		  <name>$name</name>
		  <memory unit='MiB'>$mib</memory>
		  <vcpu>1</vcpu>
		  $extra
		  $features
		  <os>
		    <type arch='$arch' machine='$machine'>hvm</type>
		    <kernel>$payload</kernel>
		    <cmdline>$params</cmdline>
		  </os>
		  <devices>
		    <emulator>/usr/bin/qemu-system-$arch</emulator>
		    <serial type='file'><source path='$embed_dir/$name.out'/></serial>
		    <controller type='usb' model='none'/>
		    <memballoon model='${BALLOON:-none}'/>
		  </devices>
		</domain>
	END
	"$nothp" virsh -q -c "$embed_uri" create "$embed_dir/$name.xml" || return 1
	for ((i = 0; i < 1200; i++)); do
		if grep -qszP 'vmwss-payload ready[^\n]*\n' "$embed_dir/$name.out"; then return 0; fi
		if grep -qs 'vmwss-payload error' "$embed_dir/$name.out"; then break; fi
		sleep 0.1
	done
	echo "guest $name did not get ready: $(cat "$embed_dir/$name.out" 2>&1)" >&2
	return 1
}
