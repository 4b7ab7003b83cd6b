#!/bin/sh
# The same policy file, the same actions, in four runtimes:
#   run.sh                         builds a cost tensor, trains with both recipes, verifies every policy
#   run.sh POLICY.onnx TENSOR.parquet
#   run.sh install                only fetches the runtimes
#   run.sh examples               only what the programs of examples/ decide, see examples.py
# The tensor is that of the four CIFAR-10 networks if the data folder ($PIPE_DATA, else
# ../shared/data) has them, else a synthetic one. If it has FEVER and all-MiniLM-L6-v2, a policy for claims
# is trained, merged with the encoder, and verified from token ids to actions. If it has ImageNet, policies on the
# vectors of a MobileNet and of a small CLIP are verified from pixels to actions. Runtimes go to third_party/verify;
# $PIPE_VERIFY_PYTHON names a Python that already has the packages of requirements.txt.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
kept=$root/third_party/verify
pipe=${PIPE_BIN:-$root/bin/pipe}
export PYTHONDONTWRITEBYTECODE=1

say() { echo "verify: $*" >&2; }

# A stamp contains the pins it was made from, so that new pins are installed again.
fresh() { [ -f "$1" ] && cmp -s "$1" "$2"; }

install_python() {
	python=${PIPE_VERIFY_PYTHON:-}
	[ -z "$python" ] || return 0
	python=$kept/venv/bin/python
	fresh "$kept/venv.stamp" "$here/requirements.txt" && return 0
	say "installing onnxruntime for Python into third_party/verify"
	python3 -m venv "$kept/venv"
	"$python" -m pip install --quiet --requirement "$here/requirements.txt"
	cp "$here/requirements.txt" "$kept/venv.stamp"
}

install_node() {
	fresh "$kept/node.stamp" "$here/package-lock.json" && return 0
	say "installing onnxruntime-node and onnxruntime-web into third_party/verify"
	cp "$here/package.json" "$here/package-lock.json" "$here/.npmrc" "$kept/"
	(cd "$kept" && npm ci --ignore-scripts --silent)
	cp "$here/package-lock.json" "$kept/node.stamp"
}

# Sets $tensor and trains both recipes into $work: "paper" gives policies that use the
# features; "auto" may fall back to one pair, which must run everywhere too. "any" has an
# any-price policy, "usage" one that also knows what calls use, of the tensor usage.parquet.
make_policies() {
	work=$1
	data=${PIPE_DATA:-$root/../shared/data}
	if [ -d "$data/cifar10/images" ] && [ -d "$data/models/cifar10" ]; then
		data=$(cd "$data" && pwd)
		say "cost tensor of the four CIFAR-10 networks"
		PIPE_DATA=$data "$pipe" costs --config "$root/configs/cifar10-small.yaml" --out "$work" >&2
		tensor=$work/costs.parquet
	elif [ "${CI:-}" = true ]; then
		say "error: no CIFAR-10 data in $data"
		exit 1
	else
		say "no CIFAR-10 data in $data: a synthetic tensor instead"
		tensor=$work/synthetic.parquet
		"$python" "$here/sample.py" "$tensor"
	fi
	for recipe in paper auto; do
		"$pipe" train --in "$tensor" --recipe "$recipe" --seeds 1 --methods l2d,separated_softmax --out "$work/$recipe" >&2
	done
	"$pipe" train --in "$tensor" --any-price --methods "" --out "$work/any" >&2
	"$python" "$here/sample.py" --usage "$work/usage.parquet"
	"$pipe" train --in "$work/usage.parquet" --any-price --methods "" --out "$work/usage" >&2
}

# Checks whether the data folder has claims and an encoder.
has_claims() {
	data=${PIPE_DATA:-$root/../shared/data}
	[ -f "$data/fever/paper_dev.jsonl" ] && [ -d "$data/models/all-MiniLM-L6-v2" ] && return 0
	say "no claims or no encoder in $data: no merged file is verified"
	[ "${CI:-}" != true ] || exit 1
	return 1
}

# Sets $claims, $encoder, $reader and $merged: the policy that chooses which of two published systems verifies a
# claim, and the output of pipe convert for encoder and policy.
make_merged() {
	work=$1
	data=$(cd "$data" && pwd)
	encoder=$data/models/all-MiniLM-L6-v2
	claims=$work/claims.jsonl
	reader=$work/reader/ours-lambda0-seed0.onnx
	merged=$work/merged.onnx
	say "costs of 200 claims, and encoder and policy as one file"
	head -n 200 "$data/fever/paper_dev.jsonl" >"$claims"
	CLAIMS=$claims PIPE_DATA=$data "$pipe" costs --config "$here/claims.yaml" --out "$work/claims.parquet" >&2
	"$pipe" train --in "$work/claims.parquet" --recipe paper --lambda 0 --seeds 1 --methods "" --out "$work/reader" >&2
	"$pipe" convert "$encoder" --merge "$reader" --out "$merged" >&2
}

# Checks whether the data folder has images and encoders for them.
has_images() {
	data=${PIPE_DATA:-$root/../shared/data}
	[ -d "$data/imagenet/images" ] && [ -d "$data/models/imagenet" ] && [ -d "$data/models/tiny-random/clip-tiny-random" ] && return 0
	say "no images or no encoders of them in $data: no merged file is verified from pixels"
	[ "${CI:-}" != true ] || exit 1
	return 1
}

# Sets $encoder, $reader and $merged as make_merged does, for a policy that chooses which of two networks classifies an
# image, by the vector of an encoder: make_seeing FOLDER MODEL [FLAG...] says how pipe convert makes it.
make_seeing() {
	work=$1
	model=$2
	shift 2
	encoder=$work/encoder.onnx
	reader=$work/reader/ours-lambda0-seed0.onnx
	merged=$work/merged.onnx
	mkdir "$work"
	say "costs of 250 images, seen through $(basename "$model"), and encoder and policy as one file"
	"$pipe" convert "$model" "$@" --out "$encoder" >&2
	ENCODER=$encoder PIPE_DATA=$data "$pipe" costs --config "$here/images.yaml" --out "$work/images.parquet" >&2
	"$pipe" train --in "$work/images.parquet" --recipe paper --lambda 0 --seeds 1 --methods "" --out "$work/reader" >&2
	"$pipe" convert "$encoder" --merge "$reader" --out "$merged" >&2
}

# The image encoder from the weights of a CLIP, without its exports.
clip_weights() {
	mkdir "$1"
	cp "$data/models/tiny-random/clip-tiny-random/config.json" "$data/models/tiny-random/clip-tiny-random/model.safetensors" "$1"
}

judge() {
	echo "$1"
	"$python" "$here/verify.py" "$@" --pipe "$pipe" --modules "$kept/node_modules"
}

# The programs of examples/ in the languages whose tools are there.
judge_examples() {
	echo "examples"
	mkdir "$folder/examples"
	"$python" "$here/examples.py" "$folder/examples" --pipe "$pipe" --kept "$kept" --data "${PIPE_DATA:-$root/../shared/data}"
}

case $#:${1:-} in
0: | 1:install | 1:examples | 2:*) ;;
*) echo "usage: $0 [install | examples | POLICY.onnx TENSOR.parquet]" >&2 && exit 2 ;;
esac
mkdir -p "$kept"
if [ "${1:-}" = install ]; then
	install_node
	exit
fi
[ -x "$pipe" ] || (cd "$root" && go build -o "$pipe" ./cmd/pipe)
install_python
install_node
if [ $# -eq 2 ]; then
	judge "$1" "$2"
	exit
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
if [ $# -eq 1 ]; then
	judge_examples
	exit
fi
make_policies "$folder"
status=0
for policy in "$folder"/paper/*.onnx "$folder"/auto/auto*.onnx "$folder"/any/*.onnx; do
	judge "$policy" "$tensor" || status=1
done
judge "$folder/usage/auto-any-price.onnx" "$folder/usage.parquet" || status=1
if has_claims; then
	make_merged "$folder"
	judge "$merged" "$claims" --parts "$reader" "$encoder" || status=1
fi
if has_images; then
	data=$(cd "$data" && pwd)
	"$python" "$here/pictures.py" "$data/imagenet/golden_clip_preprocess" "$folder/pictures"
	pictures=$folder/pictures/pictures.jsonl
	make_seeing "$folder/mobilenet" "$data/models/imagenet/mobilenet_v1_100_224_embedding.onnx" --size 224 --mean 0.5 --std 0.5
	judge "$merged" "$pictures" --parts "$reader" "$encoder" || status=1
	clip_weights "$folder/clip-tiny-random"
	make_seeing "$folder/clip" "$folder/clip-tiny-random"
	judge "$merged" "$pictures" --parts "$reader" "$encoder" || status=1
fi
judge_examples || status=1
exit $status
