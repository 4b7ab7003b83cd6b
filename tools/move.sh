#!/usr/bin/env bash
# Changes the module path: in go.mod, in every import, and in the scripts and documents that name it.
#
#   tools/move.sh MODULE
#
# MODULE is a path such as example.org/group/pipe. The program keeps its name, bin/pipe. Nothing is built or committed, and
# moving back restores every file.
set -euo pipefail
cd "$(dirname "$0")/.."
to=${1:-}
if [[ ! $to =~ ^[A-Za-z0-9][A-Za-z0-9._~/-]*[A-Za-z0-9]$ ]]; then
	echo "usage: $0 MODULE, such as example.org/group/pipe" >&2
	exit 2
fi
from=$(go list -m)

# A path of ours begins with the module and a folder that has Go files; other strings, such as "pipe/rows", stay.
folders=$(git ls-files --cached --others --exclude-standard '*.go' | sed -n 's|/.*||p' | sort -u | paste -sd '|')
old=${from//./\\.}
git ls-files -z --cached --others --exclude-standard '*.go' '*.mod' '*.md' '*.sh' Makefile .ci/run |
	xargs -0 sed -Ei \
		-e "s#(^|[\"\`( =])$old/(($folders)([]/\"\`), ]|\$))#\1$to/\2#g" \
		-e "s#\"$old/\"#\"$to/\"#g" \
		-e "s#^module $old(/|\$)#module $to\1#" \
		-e "s#(-replace[ =])$old=#\1$to=#g" \
		-e "s#(-require[ =])$old@#\1$to@#g"
echo "move: the module was $from and is $(go list -m)" >&2
