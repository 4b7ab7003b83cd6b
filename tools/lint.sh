#!/bin/sh
# Fails on code that is not formatted, not vetted, on untidy modules and on
# generated files that are out of date.
set -eu
cd "$(dirname "$0")/.."
failed=0

# step NAME COMMAND...: runs the command and fails if it fails or prints anything on stdout.
step() {
	name=$1
	shift
	if out=$("$@") && [ -z "$out" ]; then
		echo "lint: $name ok" >&2
	else
		printf '%s\nlint: %s failed\n' "$out" "$name" >&2
		failed=1
	fi
}

# Generated files are as their generator formats them.
step gofumpt go tool -modfile=tools/lint/go.mod gofumpt -l $(git ls-files --cached --others --exclude-standard '*.go' ':!:*.pb.go')
step vet go vet ./...
step staticcheck go tool -modfile=tools/lint/go.mod staticcheck ./...
step "go mod tidy" go mod tidy -diff
step "generated files" tools/genproto.sh --check
exit $failed
