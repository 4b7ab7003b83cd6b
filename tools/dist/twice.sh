#!/usr/bin/env bash
# Checks that one commit gives the same artifacts in two folders, each with an own cache of the compiler. It takes a quarter of an hour
# or more.
#   tools/dist/twice.sh [ARGUMENT...]    arguments of tools/dist, such as -platforms linux/amd64
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for folder in one and/another; do
	git clone --quiet --no-hardlinks . "$work/$folder/pipe"
	mkdir -p third_party && ln -s "$PWD/third_party" "$work/$folder/pipe/third_party"
	(cd "$work/$folder/pipe" && GOCACHE="$work/$folder/cache" go run ./tools/dist "$@")
done
diff "$work/one/pipe/dist/SHA256SUMS" "$work/and/another/pipe/dist/SHA256SUMS"
echo "twice: the same bytes:" >&2
cat "$work/one/pipe/dist/SHA256SUMS"
