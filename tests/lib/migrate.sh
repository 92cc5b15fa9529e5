# shellcheck shell=bash disable=SC2034,SC2154 # shared with the scripts that source this
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A second libvirtd on this machine, as another host would have it, and live migration between the two. Needs guests.sh, and
# libvirtd_begin of libvirtd.sh first.

there=$guests_dir/there
there_uri="qemu+unix:///system?socket=$there/libvirt-sock"
there_pid=

# begin_there: its directories are empty ones, its socket is below $there, where both can reach it.
begin_there() {
	mkdir "$there"
	cat /etc/libvirt/qemu.conf >"$there/qemu.conf"
	{
		# A URI that names a socket has that for reading, too.
		sed '/^unix_sock_rw_perms/d' /etc/libvirt/libvirtd.conf
		echo 'unix_sock_rw_perms = "0777"'
		printf 'unix_sock_dir = "%s"\nhost_uuid = "22222222-2222-4222-8222-222222222222"\n' "$there"
	} >"$there/libvirtd.conf"
	# shellcheck disable=SC2016 # expanded inside
	LIBVIRT_LOG_OUTPUTS=4:stderr unshare --mount --uts --propagation private -- bash -c '
		for dir in /run /etc/libvirt /var/lib /var/log /var/cache; do
			mount -t tmpfs -o mode=755 tmpfs "$dir" || exit 1
		done
		hostname there
		cp "$1/qemu.conf" "$1/libvirtd.conf" /etc/libvirt/
		exec "$2" libvirtd' bash "$there" "$nothp" >"$there/messages" 2>&1 &
	there_pid=$!
	settles test -S "$there/libvirt-sock" && settles virsh -q -c "$there_uri" list >/dev/null
}

end_there() { [[ -z $there_pid ]] || kill "$there_pid" 2>/dev/null; }

# migrate DOMAIN FROM TO [OPTION...]: one that does not get on, as the guest writes faster than it is copied, stands still
# after $patience seconds for the rest.
migrate() {
	local domain=$1 from=$2 to=$3
	shift 3
	virsh -q -c "$from" migrate --live "$domain" "$to" --migrateuri "unix://$there/stream" --timeout "${patience:-10}" "$@"
}
