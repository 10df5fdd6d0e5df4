# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# bash completion for syscript(1): what there is, the command itself says.

_syscript() {
	local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
	local command=${COMP_WORDS[1]} words=

	if [ "$COMP_CWORD" = 1 ] || [[ $COMP_CWORD$command == 2help ]]; then
		words=$(syscript --help | sed -n 's/^  \([a-z-]*\)  *[a-z].*/\1/p')
	elif [ "$before" = --backend ]; then
		words="auto kernel user"
	elif [ "$before" = --engine ]; then
		words="auto luajit confined"
	elif [ "$before" = --program ] || [[ $COMP_CWORD$command == 2@(call|unload) ]]; then
		words=$(syscript programs --json 2>/dev/null | sed -n 's/.*{"name": "\([^"]*\)".*/\1/p')
	elif [[ $word == -* ]]; then
		words=$(syscript "$command" --help 2>/dev/null | grep -oE -- '(^|[ ,])--[a-z-]+')
	else
		mapfile -t COMPREPLY < <(compgen -f -- "$word")
		return
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

complete -o filenames -F _syscript syscript
