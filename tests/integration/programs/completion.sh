#!/usr/bin/env bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# test: libvirt cost=5
#
# What Tab offers in bash: of each program and command the options that --help has and no others, values of some of them,
# and the domains of a libvirt connection. And the options of the manual pages of vmwss's and vmwss-guest's commands: those of --help.

# shellcheck source=../../lib/preamble.sh
. "$(dirname "$0")/../../lib/preamble.sh"

declare -A function_of=() program_of=(
	[vmwss]=$build/host/vmwss [vmwssd]=$build/host/vmwssd [vmwss-exporter]=$build/host/vmwss-exporter
	[vmwss-balloond]=$build/host/vmwss-balloond
	[vmwss-guest]=$build/guest-agent/vmwss-guest
)
for name in vmwss-virsh-{dashboard,guest,balloon}; do program_of[$name]=$root/host/virsh/$name; done

for file in "$root"/host/completion/* "$root"/guest-agent/completion/*; do
	# shellcheck source=/dev/null
	check "${file##*/} can be read" source "$file"
done
while read -r _ _ how name; do
	function_of[$name]=$how
done < <(complete -p | awk '$2 == "-F"')

# tab WORD...: what Tab offers at the end of the last word, one a line.
tab() {
	# shellcheck disable=SC2034 # the functions read them
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
	COMPREPLY=()
	"${function_of[$1]}" "$1" "${!#}" "${@: -2:1}" 2>/dev/null
	printf '%s\n' "${COMPREPLY[@]}"
}
offered() { tab "$@" -- | grep -- '^--' | sort; }
# documented PROGRAM [COMMAND]: the options at the beginning of a line of --help, and those after them: -a, --all.
documented() { "${program_of[$1]}" "${@:2}" --help | grep -oE '^ +(-[^ ,]+, )?--[a-z-]+' | grep -oE -- '--[a-z-]+' | sort -u; }
has_all() {
	offered "$@" >"$dir/offered"
	documented "$@" >"$dir/documented"
	diff "$dir/documented" "$dir/offered" | sed -n 's/^</# not offered:/p; s/^>/# not in --help:/p'
	[[ -s $dir/documented ]] && cmp -s "$dir/documented" "$dir/offered"
}
commands_of() { "${program_of[$1]}" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z]*\) .*/\1/p'; }
# narrow PROGRAM [COMMAND]: no line of --help is wider than a terminal.
narrow() { "${program_of[$1]}" "${@:2}" --help | LC_ALL=C.UTF-8 grep -E '^.{81}' | sed 's/^/# /'; [[ ${PIPESTATUS[1]} == 1 ]]; }
# offers VALUE WORD...: the value is among what Tab offers.
offers() { tab "${@:2}" | grep -xF -- "$1" >/dev/null; }
offers_all_commands() {
	local command
	for command in $(commands_of "$1"); do offers "$command" "$1" '' || return 1; done
	[[ -n ${command:-} ]]
}

dir=$(mktemp -d /tmp/vmwss-completion.XXXX)
trap 'rm -rf -- "$dir"' EXIT
for name in "${!program_of[@]}"; do
	check "$name has a completion" test -n "${function_of[$name]:-}"
	check "$name: the options of --help, and no others" has_all "$name"
	check "$name: --help has at most 80 columns" narrow "$name"
done
for name in vmwss vmwss-guest; do
	check "$name: its commands" offers_all_commands "$name"
	for command in $(commands_of "$name"); do
		check "$name $command: the options of --help, and no others" has_all "$name" "$command"
		check "$name $command: --help has at most 80 columns" narrow "$name" "$command"
	done
done

# The entries of the section OPTIONS, which may have been formatted in some ways.
in_page() { sed -n '/^\.SH OPTIONS/,/^\.SH [^O]/p' "$1" | grep -E '^\.(B|BR|BI) \\-' | grep -oE '\\-\\-[a-z\-]+' | tr -d '\134' | sort -u; }
# page_has_all PAGE PROGRAM [COMMAND...]
page_has_all() {
	local command
	in_page "$1" >"$dir/page"
	for command in "${@:3}"; do documented "$2" "$command"; done | sort -u >"$dir/documented"
	(($# > 2)) || documented "$2" >"$dir/documented"
	diff "$dir/documented" "$dir/page" | sed -n 's/^</# not in the page:/p; s/^>/# not in --help:/p'
	[[ -s $dir/page ]] && cmp -s "$dir/documented" "$dir/page"
}
for command in $(commands_of vmwss); do
	case $command in
	grow) continue ;;
	profile) check "vmwss-profile(1): the options of --help" page_has_all "$root/host/man/vmwss-profile.1" vmwss profile grow ;;
	guest) check "vmwss-guest(1vmwss): the options of --help" page_has_all "$root/host/man/vmwss-guest.1vmwss" vmwss guest ;;
	*) check "vmwss-$command(1): the options of --help" page_has_all "$root/host/man/vmwss-$command.1" vmwss "$command" ;;
	esac
done
check "vmwss-guest(1): the options of --help" page_has_all "$root/guest-agent/man/vmwss-guest.1" vmwss-guest
for command in $(commands_of vmwss-guest); do
	check "vmwss-guest-$command(1): the options of --help" page_has_all "$root/guest-agent/man/vmwss-guest-$command.1" vmwss-guest "$command"
done

# keys_in_page PROGRAM PAGE: each key of --dump-config is an entry of the page.
keys_in_page() {
	local key missing=0
	awk '/^\.TP/ { getline; print }' "$2" | tr -d '\134"' >"$dir/entries"
	"${program_of[$1]}" --config /dev/null --dump-config | sed -n 's/^\([a-z-]*\) *=.*/\1/p' >"$dir/keys"
	while read -r key; do
		grep -qE "^\.[A-Z]+ (.* )?$key( |,|$)" "$dir/entries" || { echo "# not in the page: $key" && missing=1; }
	done <"$dir/keys"
	[[ -s $dir/keys ]] && ((!missing))
}
check "vmwssd.conf(5): the keys of --dump-config" keys_in_page vmwssd "$root/host/man/vmwssd.conf.5"
check "vmwss-balloond.conf(5): the keys of --dump-config" keys_in_page vmwss-balloond "$root/host/man/vmwss-balloond.conf.5"
check "vmwss-balloond(8): the options of --help" page_has_all "$root/host/man/vmwss-balloond.8" vmwss-balloond

same_methods() {
	local command=$1
	"${program_of[vmwss]}" "$command" --help | sed '/^  -n,/,$d' | tr -s ' \n' ' ' |
		sed -n 's/.* -m, --method NAME \(auto[-a-z, ]*[a-z]\).*/\1/p' | sed 's/ -.*//' | tr -d ' ' | tr , '\n' |
		sort >"$dir/documented"
	tab vmwss "$command" -m '' | sort >"$dir/offered"
	diff "$dir/documented" "$dir/offered" && [[ -s $dir/documented ]]
}
for command in measure ages map profile; do check "the methods of $command" same_methods "$command"; done
check "a method" offers zap-all vmwss measure -m zap-
check "a method by name only" offers mglru vmwss measure -m mg
check "only what goes on as it begins" test "$(tab vmwssd --log-level n)" = notice
check "a value after =" offers yes vmwssd --publish = y
touch "$dir/a.conf"
check "a file" offers "$dir/a.conf" vmwssd --config "$dir/a"
check "a history" offers "$dir/a.conf" vmwss plan --risk 1% "$dir/a"
check "likewise after --from" offers "$dir/a.conf" vmwss plan --from "$dir/a"
# libvirt's own test driver has one domain, of this name.
check "a domain" settles offers test vmwss measure --connect test:///default te
check "one is enough" test -z "$(tab vmwss measure --connect test:///default test t)"
finish
