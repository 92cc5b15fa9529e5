# shellcheck shell=bash disable=SC2034,SC2154 # shared with the scripts that source this
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# libvirt's embedded QEMU driver: real domains, no daemon, everything below one directory.

# libvirt, run as root, looks up the user libvirt-qemu even when qemu.conf names another one. The package that makes
# the user (libvirt-daemon-system) also brings services and a network, so where it is not installed the script $0 starts
# again in a mount namespace of its own, in which /etc/passwd and /etc/group know the user. Nothing outside changes.
embed_reexec() {
	if getent passwd libvirt-qemu >/dev/null && getent group libvirt-qemu >/dev/null; then return 0; fi
	if [[ -n ${VMWSS_EMBED_NAMESPACE:-} ]]; then
		echo "the user libvirt-qemu is missing" >&2
		exit 1
	fi
	# shellcheck disable=SC2016 # expanded inside
	VMWSS_EMBED_NAMESPACE=1 exec unshare --mount --propagation private -- bash -c '
		set -e
		for file in passwd group; do
			copy=$(mktemp /tmp/vmwss-$file.XXXX)
			cat /etc/$file >"$copy"
			chmod 644 "$copy"
			case $file in
			passwd) echo "libvirt-qemu:x:64055:64055::/var/lib/libvirt:/usr/sbin/nologin" >>"$copy" ;;
			group) echo "libvirt-qemu:x:64055:" >>"$copy" ;;
			esac
			mount --bind "$copy" /etc/$file
			rm "$copy"
		done
		exec "$@"' bash "$0" "$@"
}

# embed_begin: makes embed_dir and embed_uri.
embed_begin() {
	# Short: libvirt puts sockets below it, and their paths may have 107 bytes.
	embed_dir=$(mktemp -d /tmp/vmwss.XXXX)
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

# embed_end: ends all domains and removes the directory.
embed_end() {
	local name
	while read -r name; do
		[[ -z $name ]] || embed_virsh destroy "$name" </dev/null >/dev/null 2>&1
	done < <(embed_virsh list --name 2>/dev/null)
	rm -rf -- "$embed_dir"
}

# embed_create NAME MIB PARAMS [XML]: starts a payload guest, without huge pages, and waits until it is ready. XML is
# put among the domain's elements; EMBED_TYPE=kvm makes it a KVM guest, BALLOON=virtio gives it that balloon. Needs
# $payload and $nothp.
embed_create() {
	local name=$1 mib=$2 params=$3 extra=${4:-} i
	cat >"$embed_dir/$name.xml" <<-END
		<domain type='${EMBED_TYPE:-qemu}'>
		  <name>$name</name>
		  <memory unit='MiB'>$mib</memory>
		  <vcpu>1</vcpu>
		  $extra
		  <os>
		    <type arch='x86_64' machine='pc'>hvm</type>
		    <kernel>$payload</kernel>
		    <cmdline>$params</cmdline>
		  </os>
		  <devices>
		    <emulator>/usr/bin/qemu-system-x86_64</emulator>
		    <serial type='file'><source path='$embed_dir/$name.out'/></serial>
		    <controller type='usb' model='none'/>
		    <memballoon model='${BALLOON:-none}'/>
		  </devices>
		</domain>
	END
	"$nothp" virsh -q -c "$embed_uri" create "$embed_dir/$name.xml" || return 1
	for ((i = 0; i < 1200; i++)); do
		if grep -qs 'vmwss-payload ready' "$embed_dir/$name.out"; then return 0; fi
		sleep 0.1
	done
	echo "guest $name did not get ready: $(cat "$embed_dir/$name.out" 2>&1)" >&2
	return 1
}
