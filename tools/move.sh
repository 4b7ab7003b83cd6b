#!/usr/bin/env bash
# Changes the module path: in every go.mod, in every import, and in the scripts and documents that name it.
#
#   tools/move.sh MODULE
#
# MODULE is a path such as example.org/group/pipe. The program keeps its name, bin/pipe. Nothing is built or committed, and
# moving back restores every file.
set -euo pipefail
cd "$(dirname "$0")/.."
export GOWORK=off
to=${1:-}

refuse() {
	echo "move: $1; usage: $0 MODULE, such as example.org/group/pipe" >&2
	exit 2
}

# importable reports whether another module can import $to as docs/go.md says. It asks the go command with two empty modules.
importable() (
	dir=$(mktemp -d)
	trap 'rm -rf "$dir"' EXIT
	export GOFLAGS=-mod=mod GOPROXY=off GOTOOLCHAIN=local
	mkdir "$dir/ours" "$dir/theirs"
	{ cd "$dir/ours" && go mod init pipe && go mod edit -module "$to" && [[ $(go list -m) == "$to" ]] &&
		cd "$dir/theirs" && go mod init theirs && go mod edit -require "$to@v0.0.0" -replace "$to=../ours" &&
		[[ $(go list -m "$to") == "$to v0.0.0 => ../ours" ]]; } >&/dev/null
)

[[ $to =~ ^[A-Za-z0-9][A-Za-z0-9._~/-]*[A-Za-z0-9]$ ]] || refuse "\"$to\" is not the path of a module"
# Paths without a dot in the first element belong to the standard library. pipe is the path that this module began with.
[[ ${to%%/*} == *.* || $to == pipe ]] || refuse "$to does not begin with the name of a host"
importable || refuse "the go command does not accept $to"
needed() { awk -v to="$to" '$1 == to { found = 1 } END { exit !found }' go.sum bench/go.sum serve/go.sum cloud/go.sum cmd/pipe/go.sum cmd/pipe-beam/go.sum tools/dist/image/go.sum; }
! needed || refuse "$to is a module that this one needs"
from=$(go list -m)

# A path of ours begins with the module and a folder that has Go files; other strings, such as "pipe/rows", stay.
folders=$(git ls-files --cached --others --exclude-standard '*.go' | sed -n 's|/.*||p' | sort -u | paste -sd '|')
old=${from//./\\.}
git ls-files -z --cached --others --exclude-standard '*.go' '*.proto' '*.mod' '*.md' '*.sh' Makefile .ci/run |
	xargs -0 sed -Ei \
		-e "s#(^|[\"\`( =])$old/(($folders)([]/\"\`), ]|\$))#\1$to/\2#g" \
		-e "s#\"$old/\"#\"$to/\"#g" \
		-e "s#^module $old(/|\$)#module $to\1#" \
		-e "s#^((require|replace|\t)+ ?)$old(/serve|/cloud|/bench)? (v|=)#\1$to\3 \4#" \
		-e "s#(-replace[ =])$old=#\1$to=#g" \
		-e "s#(-require[ =])$old@#\1$to@#g"
echo "move: the module was $from and is $(go list -m)" >&2
