#!/usr/bin/env bash
# Writes the pages of the repository as a site with a search into the folder OUT: build.sh [OUT]. A dead link is an error.
set -euo pipefail
cd "$(dirname "$0")/../.."
out=${1:-out/site}
tools=$PWD/third_party/site
[ -x "$tools/hugo" ] || { echo "site: no Hugo in third_party/site: run make site" >&2; exit 1; }
"$tools/hugo" --source . --config tools/site/hugo.toml --destination "$out" --cleanDestinationDir --noBuildLock --panicOnWarning >/dev/null
"$tools/pagefind" --quiet --site "$out"
