#!/bin/sh
# Measures inference over REST against MLServer and KServe's Python server on this machine, and prints a table:
#
#   tools/serve/oip_bench.sh [--rounds 5] [--seconds 10] [--connections 1,8,64] [--realtime]
#
# With --realtime all servers and the load generator have real-time priority, so that other work of the machine does not count.
# The row "constant answer" is Go's HTTP server alone, for comparison.
#
# The policy has 384 features, a hidden layer of 64 and nine pairs; POLICY=FILE measures another of WIDTH=N features. The two
# servers are installed from PyPI into third_party/serve-bench, about 1 GB, unless MLSERVER and KSERVE name a Python that has
# each of them with onnxruntime. PIPE names another program than the one of this checkout.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
home=$root/third_party/serve-bench
mkdir -p "$home"

# install NAME PACKAGES: a virtual environment with packages and ONNX Runtime; prints its Python.
install() {
	if [ ! -e "$home/$1/done" ]; then
		python3 -m venv "$home/$1"
		"$home/$1/bin/pip" install --quiet --disable-pip-version-check $2 onnxruntime >&2
		touch "$home/$1/done"
	fi
	echo "$home/$1/bin/python"
}

mlserver=${MLSERVER:-$(install mlserver "mlserver==1.7.1 uvloop==0.21.0")}
kserve=${KSERVE:-$(install kserve kserve==0.21.0)}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root"
go build -o "$work/load" ./tools/load
go build -o "$work/constant" ./tools/serve/constant
[ -n "${PIPE-}" ] || go build -trimpath -o "$work/pipe" ./cmd/pipe
[ -n "${POLICY-}" ] || go run ./tools/serve/policy 384 64 "$work/router.onnx"
python3 tools/serve/oip_bench.py --pipe "${PIPE-$work/pipe}" --load "$work/load" --policy "${POLICY-$work/router.onnx}" \
	--width "${WIDTH-384}" --mlserver "$mlserver" --kserve "$kserve" \
	--constant "$work/constant" "$@"
