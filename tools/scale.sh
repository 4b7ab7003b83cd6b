#!/bin/sh
# Runs the proofs of make scale: bin/pipe-beam on a Flink cluster that is started for them, with an S3 and a paid service that are
# local. Everything is in network and process namespaces of its own and ends with this script.
#
#   tools/scale.sh [small|full] [PATTERN]
#
# PATTERN selects proofs as go test -run does. Without Java or Maven the proofs are skipped; with CI=true that is an error.
set -eu
cd "$(dirname "$0")/.."
form=${1:-full}
pattern=${2:-.}

without() {
	echo "scale: $1" >&2
	[ "${CI:-}" != true ] || exit 1
	echo "scale: the proofs on Flink are skipped" >&2
	exit 0
}
for tool in java mvn unshare ip; do
	command -v $tool >/dev/null || without "no program $tool here; install a JDK (11 or 17), Maven, util-linux and iproute2"
done
unshare -rn -pf --mount-proc --kill-child true 2>/dev/null || without "unshare cannot make namespaces here"
data=$(realpath "${PIPE_DATA:-../shared/data}" 2>/dev/null) && [ -d "$data" ] || without "no folder ${PIPE_DATA:-../shared/data} of data"

go build -o bin/flink ./tools/flink
bin/flink fetch
go build -tags cloud -o bin/pipe ./cmd/pipe
go build -o bin/pipe-beam ./cmd/pipe-beam
go test -c -o bin/scale.test ./cmd/pipe-beam/scaletest

export PIPE_SCALE="$form" PIPE_ROOT="$PWD" PIPE_BIN="$PWD/bin" PIPE_FLINK_JARS="$PWD/third_party/flink" PIPE_DATA="$data"
export ONNXRUNTIME_LIB="${ONNXRUNTIME_LIB:-$PWD/third_party/onnxruntime/lib}"
exec bin/flink alone bin/scale.test -test.v -test.timeout 30m -test.run "$pattern"
