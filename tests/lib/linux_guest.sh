# shellcheck shell=bash disable=SC2034,SC2154 # shared with the scripts that source this
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Linux guests as domains of libvirt, with the channel of the agent. Needs: root, build, check.sh, and embed_begin of
# embed.sh or libvirtd_begin of libvirtd.sh before the first guest.

agent_program=$build/guest-agent/vmwss-guest

# linux_image [--kernel NAME] PROGRAM...: sets linux_dir, which holds a kernel and an initrd with these programs.
linux_image() {
	local options=() program
	if [[ ${1:-} == --kernel ]]; then
		options=("$1" "$2")
		shift 2
	fi
	for program in "$@"; do options+=(--add "$program"); done
	linux_dir=$("$root/vm-images/linux/make-linux-guest" "${options[@]}")
}

# linux_create NAME MIB WORDS [XML]: starts a Linux guest, without huge pages, whose kernel command line has these WORDS
# (see vm-images/README.md; and no_timer_check: on a busy host the kernel's trial of its timer fails, and it panics). XML
# goes among its devices: disks for instance. NO_AGENT=yes leaves the channel out,
# EMBED_TYPE=kvm makes it a KVM guest, BALLOON=virtio gives it that balloon, QEMU_ARGS="ARG..." more arguments of QEMU's,
# RAM_XML is put among the domain's elements. Its console is $embed_dir/NAME.out.
linux_create() {
	local name=$1 mib=$2 words=$3 devices=${4:-} cpu='' arg args=
	[[ -n ${NO_AGENT:-} ]] ||
		devices+="<channel type='unix'><source mode='bind'/><target type='virtio' name='org.vmwss.guest.0'/></channel>"
	if [[ ${EMBED_TYPE:-qemu} == kvm ]]; then
		cpu="<cpu mode='host-passthrough'/>"
		# An interrupt that is lost costs a tick then, not the timer: see vm-images/README.md.
		words+=" lapic=notscdeadline highres=off nohz=off"
	fi
	for arg in ${QEMU_ARGS:-}; do args+="<qemu:arg value='$arg'/>"; done
	cat >"$embed_dir/$name.xml" <<-END
		<domain type='${EMBED_TYPE:-qemu}' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
		  <name>$name</name>
		  <memory unit='MiB'>$mib</memory>
		  <vcpu>1</vcpu>
		  $cpu ${RAM_XML:-}
		  <features><acpi/></features>
		  <os>
		    <type arch='x86_64' machine='pc'>hvm</type>
		    <kernel>$linux_dir/vmlinuz</kernel>
		    <initrd>$linux_dir/initrd.gz</initrd>
		    <cmdline>console=ttyS0 quiet no_timer_check $words</cmdline>
		  </os>
		  <devices>
		    <emulator>/usr/bin/qemu-system-x86_64</emulator>
		    <serial type='file'><source path='$embed_dir/$name.out'/></serial>
		    <controller type='usb' model='none'/>
		    <memballoon model='${BALLOON:-none}'/>
		    $devices
		  </devices>
		  ${args:+<qemu:commandline>$args</qemu:commandline>}
		</domain>
	END
	"$nothp" virsh -q -c "$embed_uri" create "$embed_dir/$name.xml"
}

# linux_says NAME PATTERN [SECONDS]: its console has said so within SECONDS (60), times the patience.
linux_says() {
	local i
	for ((i = 0; i < ${3:-60} * 5 * patience; i++)); do
		if grep -qsE "$2" "$embed_dir/$1.out"; then return 0; fi
		sleep 0.2
	done
	echo "guest $1 did not say '$2': $(tail -n 5 "$embed_dir/$1.out" 2>&1)" >&2
	return 1
}

# A disk for linux_create's XML: linux_disk FILE NAME, where NAME is vda, vdb, ...
linux_disk() {
	printf "<disk type='file' device='disk'><driver name='qemu' type='raw'/><source file='%s'/><target dev='%s' bus='virtio'/></disk>" \
		"$1" "$2"
}

# --- asking its agent: needs guests.sh --------------------------------------------------------------

guest() { "$vmwss" guest -c "$embed_uri" "$@"; }

# view FILTER: it holds for what the agent of the last told has said.
view() { jq -e "$1" "$guests_dir/view" >/dev/null; }

# told NAME [FILTER]: the agent of this guest answers, and the FILTER holds.
told() {
	guest --json "$1" >"$guests_dir/view" 2>"$guests_dir/messages" && view '.report != null' && view "${2:-true}"
}

# until_so TIMES COMMAND...: with a second between them. The agent has two for an answer, of an emulated vCPU's time that a
# busy machine makes long.
until_so() {
	local i
	for ((i = 0; i < $1 * patience; i++)); do
		if "${@:2}"; then return 0; fi
		sleep 1
	done
	cat "$guests_dir/messages" >&2
	return 1
}
