# shellcheck shell=bash disable=SC2034,SC2154 # shared with the scripts that source this
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A directory for tests of vmwss-guest, which any user can run there; it is the working directory. What begin starts ends with the
# script.

dir=$(mktemp -d /var/tmp/vmwss-agent.XXXX)
started=()
# A script that has more to end replaces it.
end_more() { :; }
end_all() {
	local pid
	end_more
	for pid in "${started[@]}"; do kill -KILL "$pid"; done 2>/dev/null
	wait 2>/dev/null
	rm -rf -- "$dir"
}
trap end_all EXIT
cd "$dir" || exit 1
chmod 755 .
install -m 755 "$build/guest-agent/vmwss-guest" guest
guest=$dir/guest
nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)

# begin COMMAND...: in the background, to be ended with everything else; sets pid.
begin() {
	"$@" &
	pid=$!
	started+=("$pid")
}
