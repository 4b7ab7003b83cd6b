#!/bin/sh
# Training speed beside PyTorch (default), or one of the other scripts here:
#   run.sh [peer|check|golden|read|decide|encode] [ARGUMENTS]
# Uses $PIPE_PEER_PYTHON, else a virtual environment in third_party/peer that it makes once
# (about 3 GB to fetch: PyTorch brings its CUDA wheels). torch.compile needs a C++ compiler.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

script=peer
case "${1:-}" in
peer | check | golden | read | decide | encode)
	script=$1
	shift
	;;
esac

python=${PIPE_PEER_PYTHON:-}
if [ -z "$python" ]; then
	venv=$root/third_party/peer
	python=$venv/bin/python
	if ! cmp -s "$here/requirements.txt" "$venv/requirements.txt"; then
		echo "peer: installing PyTorch into third_party/peer, about 3 GB" >&2
		python3 -m venv "$venv"
		"$python" -m pip install --quiet --requirement "$here/requirements.txt"
		cp "$here/requirements.txt" "$venv/requirements.txt" # last: it counts only when it is whole
	fi
fi
export PYTHONDONTWRITEBYTECODE=1
exec "$python" "$here/$script.py" "$@"
