#!/bin/sh
# Makes third_party/python, a virtual environment with the pinned packages of
# tools/python/requirements.txt that tests compare with, and prints the path
# of its Python. If that fails, it prints nothing and the tests that need these
# packages are skipped; under CI=true it is an error. The same goes for
# third_party/clients, the pinned clients for node of tools/serve/clients.
set -eu
cd "$(dirname "$0")/.."
venv=third_party/python
wanted=tools/python/requirements.txt

without() {
	echo "judges: $1" >&2
	[ "${CI:-}" = true ] && exit 1
	echo "judges: continuing without them; the tests that need them will be skipped" >&2
	exit 0
}

# clients installs the clients for node.
clients() {
	here=tools/serve/clients there=third_party/clients
	cmp -s "$here/package-lock.json" "$there/installed.json" && return 0
	echo "judges: installing clients for node into $there" >&2
	mkdir -p "$there" && rm -f "$there/installed.json"
	cp "$here/package.json" "$here/package-lock.json" "$here/.npmrc" "$there/" &&
		install_clients &&
		cp "$here/package-lock.json" "$there/installed.json"
}

# install_clients tries three times. npm counts a package for this machine only as optional, and says nothing if it
# could not get it.
install_clients() {
	for try in 1 2 3; do
		(cd "$there" && npm ci --ignore-scripts --silent >&2) &&
			ls "$there"/node_modules/@anthropic-ai/claude-code-*/claude* >/dev/null 2>&1 && return 0
		echo "judges: try $try did not install every client for node" >&2
	done
	return 1
}
clients || {
	echo "judges: npm could not install the clients for node" >&2
	[ "${CI:-}" != true ] || exit 1
}

if cmp -s "$wanted" "$venv/requirements.txt"; then
	echo "$PWD/$venv/bin/python"
	exit 0
fi
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || without "needs Python 3.11 or newer"
echo "judges: installing into $venv" >&2
rm -rf "$venv"
python3 -m venv "$venv" >&2 || { rm -rf "$venv"; without "python3 -m venv does not work here"; }
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$wanted" >&2 ||
	{ rm -rf "$venv"; without "pip could not install the packages"; }
# Written last: the environment is used only if it is complete.
cp "$wanted" "$venv/requirements.txt"
echo "$PWD/$venv/bin/python"
