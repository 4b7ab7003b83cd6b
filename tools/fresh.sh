#!/usr/bin/env bash
# Runs a command as a new machine would: with an empty home and empty caches of Go, npm and pip.
#   tools/fresh.sh COMMAND [ARGUMENT...]
# A used machine hides missing steps, because what an earlier run downloaded or built is still there. The settings that say
# where packages come from are kept. All folders are removed at the end. The exit code is that of the command.
set -euo pipefail

# The go command reads its settings from a file of the home; npm and pip too.
export GOENV="$(go env GOENV)"
keep() { # keep VARIABLE FILE...: the variable names the first file that exists, if it is not set
	local name=$1 file
	shift
	[ -z "${!name:-}" ] || return 0
	for file; do
		if [ -e "$file" ]; then export "$name=$file" && return 0; fi
	done
}
keep NPM_CONFIG_USERCONFIG "$HOME/.npmrc"
keep PIP_CONFIG_FILE "$HOME/.config/pip/pip.conf" "$HOME/.pip/pip.conf"
keep GIT_CONFIG_GLOBAL "$HOME/.gitconfig"
# Toolchains that are installed in the home are no caches.
keep RUSTUP_HOME "$HOME/.rustup"
keep PYENV_ROOT "$HOME/.pyenv"

fresh=$(mktemp -d)
trap 'chmod -R u+w "$fresh" && rm -rf "$fresh"' EXIT
export HOME="$fresh/home" GOPATH="$fresh/go" GOMODCACHE="$fresh/go/pkg/mod" GOCACHE="$fresh/go-build"
export NPM_CONFIG_CACHE="$fresh/npm" PIP_CACHE_DIR="$fresh/pip" XDG_CACHE_HOME="$fresh/cache"
unset XDG_CONFIG_HOME XDG_DATA_HOME CARGO_HOME
mkdir -p "$HOME"
"$@"
