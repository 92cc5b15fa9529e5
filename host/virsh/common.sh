# shellcheck shell=sh disable=SC2034,SC2154 # shared with the scripts that source this
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What the vmwss-virsh scripts share. They need virsh, awk, date, sleep and a shell only. Domains are asked for by UUID:
# no name is ever part of a command that virsh takes apart. Needs: me, uri, domain.

namespace=urn:vmwss:domain:1

# refuse WORDS [STATUS]
refuse() {
	printf '%s: %s\n' "$me" "$1" >&2
	exit "${2:-1}"
}

# take_domain ARGUMENT: options may follow it.
take_domain() {
	[ -z "$domain" ] || refuse "one guest at a time: '$1' is too much"
	domain=$1
}

ask() { LC_ALL=C virsh --quiet ${uri:+--connect "$uri"} "$@" </dev/null; }

# matches PATTERN TEXT: all of it, and it is one line.
matches() { printf '%s\n' "$2" | grep -qxE "$1" && [ "$(printf '%s\n' "$2" | wc -l)" -eq 1 ]; }

# uuid_of DOMAIN: by UUID, id or name. Whatever a name consists of, it is one argument of virsh.
uuid_of() {
	if matches '[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}' "$1" && ask --readonly domname "$1" >/dev/null 2>&1; then
		printf '%s\n' "$1"
	else
		ask --readonly domuuid --domain "$1"
	fi
}

# is_busy: another job of the domain, as vmwssd's own while it publishes, keeps libvirt from asking QEMU: figures are then
# only what libvirt knows itself. States 4 to 6 do not run.
is_busy() {
	case $figures in
	*balloon.rss=* | *state.state=[456]*) return 1 ;;
	esac
}

# ask_about DOMAIN: sets uuid, and figures and element to what virsh says of it; or ends.
ask_about() {
	uuid=$(uuid_of "$1") || exit 2 # virsh has said why
	tries=10
	while
		figures=$(ask --readonly domstats --nowait --state --balloon "$uuid") || exit 2
		is_busy && [ $((tries -= 1)) -ge 0 ]
	do sleep 0.1; done
	element=$(ask --readonly metadata "$uuid" "$namespace" 2>/dev/null)
	# Where there is none virsh fails, or since libvirt 12 ends with 0 and an empty line.
	case $element in
	*'<wss'*) ;;
	*) refuse "domain $1: nothing is published of it; see publish in vmwssd.conf(5)" 2 ;;
	esac
}

# To begin an awk program with, run in the C locale: awk may know no other, and bytes that could move a cursor are
# taken out one by one.
# shellcheck disable=SC2016 # awk's own
awk_functions='
	# The value as it stands in the XML; "" when there is none.
	function attribute(element, name,    at, rest) {
		at = index(element, " " name "=\"")
		if (!at) return ""
		rest = substr(element, at + length(name) + 3)
		return substr(rest, 1, index(rest, "\"") - 1)
	}
	function is_window(name) { return name ~ /^[0-9.]+[smhd]$/ }
	function is_bytes(text) { return text ~ /^[0-9]+$/ && length(text) <= 18 }
	# A number that was read is text to awk until it is counted with: "101720064" is less than 1024.
	function human(value,    i) {
		value += 0
		for (i = 1; value >= 1024 && i < 6; i++) value /= 1024
		return sprintf(i == 1 ? "%.0f %s" : "%.1f %s", value, i == 1 ? "B" : substr("KiBMiBGiBTiBPiB", 3 * i - 5, 3))
	}
	# Seconds since 1970 of a time in UTC, -1 when it is none; the days are those of the Gregorian calendar.
	function seconds(at,    y, m, d) {
		if (at !~ /^[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9][0-9]:[0-9][0-9]:[0-9][0-9](\.[0-9]+)?Z$/)
			return -1
		y = substr(at, 1, 4) + 0
		m = substr(at, 6, 2) + 0
		d = substr(at, 9, 2) + 0
		if (m <= 2) {
			y--
			m += 12
		}
		d += 365 * y + int(y / 4) - int(y / 100) + int(y / 400) + int((153 * m - 457) / 5) - 719469
		return 86400 * d + 3600 * substr(at, 12, 2) + 60 * substr(at, 15, 2) + substr(at, 18, 2)
	}
	# Replaces control characters, both those of ASCII and C1 in UTF-8, so that the text can be shown.
	function clean(text) {
		gsub(/[\001-\037\177]/, "?", text)
		gsub(/\302[\200-\237]/, "?", text)
		return text
	}
	# Reads virsh domstats: kib["current"], kib["maximum"], kib["rss"]; kib["usable"] comes from the driver in the guest.
	/^  balloon\.(current|maximum|rss|usable)=[0-9]+$/ {
		split($0, part, /[.=]/)
		kib[part[2]] = part[3]
	}
'
