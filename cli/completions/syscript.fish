# SPDX-License-Identifier: MIT
# fish completion for syscript(1): what there is, the command itself says.

function __syscript_commands
    syscript --help | string replace -rf '^  ([a-z-]+)  +([a-z].*)' '$1\t$2'
end

function __syscript_options
    set -l tokens (commandline -opc)
    set -q tokens[2]; and syscript $tokens[2] --help 2>/dev/null |
        string replace -rf '^ .*(--[a-z-]+)[^ ]*( [A-Z]+)?  +(.*)' '$1\t$3'
end

function __syscript_programs
    syscript programs --json 2>/dev/null | string replace -rf '.*\{"name": "([^"]*)".*' '$1'
end

complete -c syscript -n '__fish_use_subcommand; or __fish_seen_subcommand_from help' -f -a '(__syscript_commands)'
complete -c syscript -n 'not __fish_use_subcommand; and string match -q -- "-*" (commandline -ct)' -f -a '(__syscript_options)'
complete -c syscript -n 'string match -q -- --backend (commandline -opc)[-1]' -f -a 'auto kernel user'
complete -c syscript -n 'string match -q -- --engine (commandline -opc)[-1]' -f -a 'auto luajit confined'
complete -c syscript -n '__fish_seen_subcommand_from call unload; or string match -q -- --program (commandline -opc)[-1]' -f -a '(__syscript_programs)'
