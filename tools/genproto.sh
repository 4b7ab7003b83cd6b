#!/bin/sh
# Regenerates onnx/onnxpb/onnx-ml.pb.go with pinned tools from onnx-ml.proto, the schema of ONNX files
# (Apache-2.0), as the pinned PyPI package onnx ships it.
#
#   tools/genproto.sh          write the generated file in place
#   tools/genproto.sh --check  change nothing; print a diff and exit 1 if the file is out of date
#
# protoc comes from the PyPI package grpcio-tools in a separate virtual environment,
# protoc-gen-go from the Go module proxy; all land in third_party/genproto and are reused.
set -eu

onnx=1.23.2
grpcio=1.76.0
plugin=v1.36.12

root=$(cd "$(dirname "$0")/.." && pwd)
tools=$root/third_party/genproto
source=$root/onnx/onnxpb
stamp=$tools/$onnx-$grpcio-$plugin

if [ ! -e "$stamp" ]; then
	rm -rf "$tools"
	mkdir -p "$tools"
	python3 -m venv "$tools/venv"
	"$tools/venv/bin/pip" install --quiet --disable-pip-version-check \
		"grpcio==$grpcio" "grpcio-tools==$grpcio" "protobuf==6.33.6" "setuptools==80.9.0"
	"$tools/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --target "$tools/schema" "onnx==$onnx"
	GOBIN=$tools/bin go install "google.golang.org/protobuf/cmd/protoc-gen-go@$plugin"
	touch "$stamp"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PATH=$tools/bin:$PATH "$tools/venv/bin/python" -m grpc_tools.protoc \
	--proto_path="$tools/schema/onnx" --go_out="$work" --go_opt=paths=source_relative \
	--go_opt=Monnx-ml.proto=pipe/onnx/onnxpb onnx-ml.proto

if [ "${1-}" = --check ]; then
	diff -u "$source/onnx-ml.pb.go" "$work/onnx-ml.pb.go"
else
	cp "$work/onnx-ml.pb.go" "$source/onnx-ml.pb.go"
fi
