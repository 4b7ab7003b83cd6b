#!/bin/sh
# Training speed compared with PyTorch (default), or one of the other scripts here:
#   run.sh [peer|check|golden|read|decide|encode|images|clip] [ARGUMENTS]
# Uses $PIPE_PEER_PYTHON, else a virtual environment in third_party/peer that it makes once
# (about 3 GB to fetch: PyTorch brings its CUDA wheels). torch.compile needs a C++ compiler.
# images needs no PyTorch: its environment is third_party/peer-images (80 MB).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

script=peer
case "${1:-}" in
peer | check | golden | read | decide | encode | images | clip)
	script=$1
	shift
	;;
esac

name=peer what="PyTorch, about 3 GB," requirements=$here/requirements.txt
if [ "$script" = images ]; then
	name=peer-images what="Pillow and onnxruntime" requirements=$here/requirements-images.txt
fi
python=${PIPE_PEER_PYTHON:-}
if [ -z "$python" ]; then
	venv=$root/third_party/$name
	python=$venv/bin/python
	if ! cmp -s "$requirements" "$venv/requirements.txt"; then
		echo "peer: installing $what into third_party/$name" >&2
		python3 -m venv "$venv"
		"$python" -m pip install --quiet --requirement "$requirements"
		cp "$requirements" "$venv/requirements.txt" # last: it counts only when it is whole
	fi
fi
export PYTHONDONTWRITEBYTECODE=1
exec "$python" "$here/$script.py" "$@"
