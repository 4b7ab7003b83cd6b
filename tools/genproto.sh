#!/bin/sh
# Regenerates, with pinned tools, the Go code of two schemas:
#
#   onnx/onnxpb              from onnx-ml.proto, the schema of ONNX files (Apache-2.0), as the pinned PyPI package onnx ships it
#   serve/oip/inferencepb    from inference.proto, the gRPC service of the Open Inference Protocol, which is kept there
#
#   tools/genproto.sh          write the generated files in place
#   tools/genproto.sh --check  change nothing; print a diff and exit 1 if a file is out of date
#
# protoc comes from the PyPI package grpcio-tools in a separate virtual environment, protoc-gen-go and protoc-gen-go-grpc
# from the Go module proxy; all land in third_party/genproto and are reused.
set -eu

onnx=1.23.2
grpcio=1.76.0
plugin=v1.36.12
services=v1.6.2

root=$(cd "$(dirname "$0")/.." && pwd)
tools=$root/third_party/genproto
stamp=$tools/$onnx-$grpcio-$plugin-$services

if [ ! -e "$stamp" ]; then
	rm -rf "$tools"
	mkdir -p "$tools"
	python3 -m venv "$tools/venv"
	"$tools/venv/bin/pip" install --quiet --disable-pip-version-check \
		"grpcio==$grpcio" "grpcio-tools==$grpcio" "protobuf==6.33.6" "setuptools==80.9.0"
	"$tools/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --target "$tools/schema" "onnx==$onnx"
	GOBIN=$tools/bin go install "google.golang.org/protobuf/cmd/protoc-gen-go@$plugin"
	GOBIN=$tools/bin go install "google.golang.org/grpc/cmd/protoc-gen-go-grpc@$services"
	touch "$stamp"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

protoc() {
	PATH=$tools/bin:$PATH "$tools/venv/bin/python" -m grpc_tools.protoc "$@"
}

mkdir -p "$work/onnx/onnxpb" "$work/serve/oip/inferencepb"
protoc --proto_path="$tools/schema/onnx" --go_out="$work/onnx/onnxpb" --go_opt=paths=source_relative \
	--go_opt=Monnx-ml.proto=pipe/onnx/onnxpb onnx-ml.proto
protoc --proto_path="$root/serve/oip/inferencepb" --go_out="$work/serve/oip/inferencepb" --go_opt=paths=source_relative \
	--go-grpc_out="$work/serve/oip/inferencepb" --go-grpc_opt=paths=source_relative inference.proto

failed=0
for file in onnx/onnxpb/onnx-ml.pb.go serve/oip/inferencepb/inference.pb.go serve/oip/inferencepb/inference_grpc.pb.go; do
	if [ "${1-}" = --check ]; then
		diff -u "$root/$file" "$work/$file" || failed=1
	else
		cp "$work/$file" "$root/$file"
	fi
done
exit $failed
