#!/usr/bin/env bash
# Checks a change quickly: format, vet, the import table, and short tests of the packages that changed and of those that import them.
#   tools/check.sh [BASE]
# A change is what differs from the commit BASE (default: HEAD, so that only what is not committed counts). .ci/run checks
# everything.
set -euo pipefail
cd "$(dirname "$0")/.."
base=${1:-HEAD}
modules='./... ./cloud/... ./cmd/pipe/... ./cmd/pipe-beam/... ./serve/... ./bench/...'

changed=$( (git diff --name-only "$base" && git ls-files --others --exclude-standard) | sort -u)
[ -n "$changed" ] || { echo "check: nothing differs from $base" >&2; exit; }

files=$(grep '\.go$' <<<"$changed" | grep -v '\.pb\.go$' | while read -r f; do [ ! -e "$f" ] || echo "$f"; done || true)
if [ -n "$files" ]; then
	wrong=$(xargs env GOWORK=off go tool -modfile=tools/lint/go.mod gofumpt -l <<<"$files")
	[ -z "$wrong" ] || { printf '%s\ncheck: not formatted by gofumpt\n' "$wrong" >&2; exit 1; }
fi

# The package of a file is that of its folder, or for testdata that of the nearest folder above with one.
folders=$(go list -f '{{.Dir}}' $modules)
mine=$(while read -r f; do
	f=$PWD/$f
	while [ "$f" != "$PWD" ]; do
		f=${f%/*}
		if grep -qxF "$f" <<<"$folders"; then echo "$f" && break; fi
	done
done <<<"$changed" | sort -u)

# Lines "folder of a package, package, its imports, those of its tests".
affected=$(go list -f '{{.Dir}} {{.ImportPath}} {{join .Imports " "}} {{join .TestImports " "}} {{join .XTestImports " "}}' $modules |
	awk -v mine="$mine" '
		BEGIN { n = split(mine, list, "\n"); for (i = 1; i <= n; i++) changed[list[i]] = 1 }
		{ lines[NR] = $0; if ($1 in changed) names[$2] = 1 }
		END {
			for (l = 1; l <= NR; l++) {
				n = split(lines[l], word, " ")
				for (i = 2; i <= n; i++) if (word[i] in names) { print word[2]; break }
			}
		}')
root=$(go list -m -f '{{.Path}}' | head -n 1)
packages=$(sort -u <<<"$affected"$'\n'"$root") # the root package has the tests of the import table and of the layout
count=$(wc -l <<<"$packages")
echo "check: vet and short tests of $count packages" >&2
xargs go vet <<<"$packages"
xargs go test -vet=off -ldflags=-w -short -timeout 9m <<<"$packages" | grep -v '\[no test files\]'
