# shellcheck shell=bash disable=SC2034,SC2154 # shared with the scripts that source this
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A libvirtd of our own, in a mount namespace in which libvirt's directories are empty: qemu:///system without touching
# a libvirt that this machine may have. For what an embedded driver cannot do, as it can be open in one process only.

# shellcheck source=tests/lib/embed.sh
. "${BASH_SOURCE[0]%/*}/embed.sh"

# libvirtd_reexec "$@": starts the script $0 again in such a namespace. Before anything else.
libvirtd_reexec() {
	[[ -z ${VMWSS_LIBVIRTD_NAMESPACE:-} ]] || return 0
	# shellcheck disable=SC2016 # expanded inside
	VMWSS_LIBVIRTD_NAMESPACE=1 exec unshare --mount --propagation private -- bash -c '
		for dir in /run /etc/libvirt /var/lib /var/log /var/cache; do
			mount -t tmpfs -o mode=755 tmpfs "$dir" || exit 1
		done
		exec "$@"' bash "$0" "$@"
}

# libvirtd_begin: guests run as root, without cgroups, confinement and huge pages. Sets embed_uri and embed_dir, so that
# embed_create of embed.sh makes them. Needs $nothp, check.sh and embed.sh.
libvirtd_begin() {
	embed_uri=qemu:///system
	embed_dir=${embed_dir:-$(mktemp -d /tmp/vmwss.XXXX)}
	cat >/etc/libvirt/qemu.conf <<-END
		stdio_handler = "file"
		security_driver = "none"
		user = "root"
		group = "root"
		cgroup_controllers = [ ]
		namespaces = [ ]
		remember_owner = 0
	END
	# As Debian has it: who may write is in a group. Elsewhere polkit decides, and the socket is open to all.
	printf '%s\n' 'auth_unix_ro = "none"' 'auth_unix_rw = "none"' 'unix_sock_group = "libvirt"' 'unix_sock_ro_perms = "0777"' \
		"unix_sock_rw_perms = \"${libvirtd_rw_perms:-0770}\"" >/etc/libvirt/libvirtd.conf
	LIBVIRT_LOG_OUTPUTS=4:stderr "$nothp" libvirtd >/dev/null 2>&1 &
	libvirtd_pid=$!
	settles libvirtd_answers_or_ended && libvirtd_answers
}

libvirtd_answers() { embed_virsh list >/dev/null 2>&1; }
# Nothing waits for one that has ended.
libvirtd_answers_or_ended() { libvirtd_answers || ! kill -0 "$libvirtd_pid" 2>/dev/null; }

libvirtd_stop() {
	[[ -n ${libvirtd_pid:-} ]] || return 0
	kill "$libvirtd_pid" 2>/dev/null
	wait "$libvirtd_pid" 2>/dev/null
	libvirtd_pid=
}

# libvirtd_end: ends all domains, whether libvirtd answers or not, then libvirtd.
libvirtd_end() {
	[[ -n ${embed_dir:-} ]] || return 0
	qemus_end /var/lib/libvirt/qemu
	libvirtd_stop
	# One that was starting.
	qemus_end /var/lib/libvirt/qemu
	rm -rf -- "$embed_dir"
}
