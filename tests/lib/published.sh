# shellcheck shell=bash disable=SC2034,SC2154 # shared with the scripts that source this
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What vmwssd has published in libvirt's metadata, held against its history. Needs check.sh, embed.sh and vmwssd.sh.

namespace=urn:vmwss:domain:1

# element DOMAIN: as libvirt shows it now, that of $element_uri if this is set.
element() { virsh -q -c "${element_uri:-$embed_uri}" metadata "$1" "$namespace" 2>/dev/null; }

is_kept() { [[ -n $(sql "SELECT s.id $1") ]]; }

# as_kept DOMAIN: every figure of the element is that of the record of the same moment.
as_kept() {
	local element row of kept
	element=$(element "$1")
	value() { xmllint --xpath "string(/wss/@$1)" - <<<"$element"; }
	of="FROM sample s JOIN guest g ON g.id = guest_id WHERE g.name = '$1'
		AND strftime('%Y-%m-%dT%H:%M:', s.time_ms / 1000, 'unixepoch') ||
		printf('%06.3fZ', s.time_ms % 60000 / 1000.0) = '$(value at)'"
	eventually is_kept "$of" || return 1
	kept=$(sql "SELECT json_object('w', json(windows), 'r', resident_bytes, 'ram', ram_bytes, 'm', method, 'h', host,
		'f', flags, 'p', printf('%.4f', precision)) $of")
	row="[$(value ram),$(value resident),\"$(value method)\",\"$(value host)\",\"$(value precision)\"]"
	echo "# $element, kept $kept"
	jq -e --argjson row "$row" '[.ram, .r, .m, .h, .p] == $row' <<<"$kept" >/dev/null || return 1
	jq -e --arg flags "$(value flags)" '(.f | split(",") | sort) == ($flags | split(",") | sort)' <<<"$kept" >/dev/null || return 1
	local n=0 name
	for name in $(value windows); do
		jq -e --argjson n $n --argjson w "[$(value "wss-$name"),$(value "low-$name"),$(value "high-$name")]" \
			'.w[$n][2:5] == $w' <<<"$kept" >/dev/null || return 1
		n=$((n + 1))
	done
	((n > 0)) && jq -e --argjson n $n --argjson left "$(value reclaimable | grep . || echo null)" \
		'(.w | length) == $n and ($left == null or $left == .r - .w[-1][4])' <<<"$kept" >/dev/null
}
