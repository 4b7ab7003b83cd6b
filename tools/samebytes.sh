#!/usr/bin/env bash
# Runs two builds of the program over the demo and every file of configs/, and compares their output.
#
#   tools/samebytes.sh OLD NEW [STEP...]
#   tools/samebytes.sh list
#
# OLD and NEW are programs. STEP limits the run to some steps (default: all).
#
# What must be equal: tensors, tables, policies, encoders, experts, indexes, decisions and stage records by their bytes;
# JSON reports by every name and figure in them, in order. The wording of a report may differ (titles, notes, captions,
# pages, pictures): such files are counted and named, and do not fail. The exit code is 1 if a file differs or is missing.
#
# Environment:
#   PIPE_DATA   the folder of real data (default ../shared/data)
#   FULL=1      the configurations unchanged, which takes hours. Without it some have fewer rows and draws (see shrink).
#   KEEP=DIR    keep the outputs of both programs there
#
# Models and data that are not in PIPE_DATA are replaced by small ones, the same for both programs. On one machine with
# one runtime, the same program gives the same bytes: OLD and NEW may be the same file, to test this script.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
steps="synthetic fraud-demo fraud-small fraud-generated fraud table fever-small fever cifar10-small imagenet-small imagenet tables import text"

if [ "${1:-}" = list ]; then
	tr ' ' '\n' <<<"$steps"
	exit
fi
if [ $# -lt 2 ] || [ ! -x "$1" ] || [ ! -x "$2" ]; then
	echo "usage: $0 OLD NEW [STEP...]" >&2
	exit 2
fi
old=$(realpath "$1")
new=$(realpath "$2")
shift 2
chosen=${*:-$steps}
for step in $chosen; do
	[[ " $steps " == *" $step "* ]] || { echo "samebytes: unknown step $step: known are $steps" >&2; exit 2; }
done
PIPE_DATA=$(realpath "${PIPE_DATA:-../shared/data}")
export PIPE_DATA
export ONNXRUNTIME_LIB=${ONNXRUNTIME_LIB:-$root/third_party/onnxruntime/lib}
export LIGHTGBM_LIB=${LIGHTGBM_LIB:-$root/third_party/lightgbm/lib}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
kept=${KEEP:-$work/kept}
mkdir -p "$kept"

# stand_ins makes replacements for missing data and models: the shared task's claims, models of billions of parameters, CLIP's weights.
stand_ins() {
	local tiny=$PIPE_DATA/models/tiny-random image
	mkdir -p "$work/fever/wiki-pages" "$work/imagenet"
	ln -s "$PIPE_DATA/fever/paper_dev.jsonl" "$work/fever/shared_task_dev.jsonl"
	ln -s "$PIPE_DATA/fever/wiki-pages-001.jsonl" "$work/fever/wiki-pages/wiki-001.jsonl"
	[ ! -e "$PIPE_DATA/fever/train_sr_10000.csv" ] || head -n 1001 "$PIPE_DATA/fever/train_sr_10000.csv" >"$work/fever/train.csv"
	while read -r image; do
		ln -s "$image" "$work/imagenet/"
	done < <(find "$PIPE_DATA/imagenet/images" -name '*.JPEG' | sort | awk 'NR % 10 == 1')
	export PIPE_FEVER=$work/fever PIPE_FEVER_CLAIMS=60 PIPE_MINILM=$PIPE_DATA/models/all-MiniLM-L6-v2
	export PIPE_QWEN3_4B=$tiny/qwen3-tiny-random PIPE_QWEN3_8B=$tiny/qwen3-tiny-random PIPE_QWEN25_1B=$tiny/qwen3-tiny-random
	export PIPE_DEBERTA=$tiny/deberta-v3-tiny-random
	export PIPE_IMAGENET=$work/imagenet PIPE_IMAGENET_LABELS=name PIPE_IMAGENET_LISTS=$PIPE_DATA/imagenet PIPE_IMAGENET_EPOCHS=5
	export PIPE_CLIP_TOKENIZER=$PIPE_DATA/tokenizers/clip-vit-large-patch14
	export PIPE_CLIP_B32=$tiny/clip-tiny-random PIPE_CLIP_B16=$tiny/clip-tiny-random PIPE_CLIP_L14=$tiny/clip-tiny-random
}

# edit FILE PATTERN REPLACEMENT changes every line of a copied configuration that matches. A pattern that matches nothing is
# an error: the configuration has changed and this script has to follow.
edit() {
	grep -Eq "$2" "$work/configs/$1" || { echo "samebytes: configs/$1 has no line with $2" >&2; exit 1; }
	sed -Ei "s|$2|$3|" "$work/configs/$1"
}

# shrink reduces rows, draws and training steps, so that every step takes a minute or two.
shrink() {
	edit fraud-small.yaml 'draws: 10' 'draws: 1'
	edit fraud-small.yaml 'steps: 600' 'steps: 300'
	edit fraud-generated.yaml 'rows: 128000' 'rows: 12000'
	edit fraud-generated.yaml 'train_rows: 120000, validation_rows: 8000' 'train_rows: 9000, validation_rows: 3000'
	edit fraud.yaml 'train_rows: 120000, validation_rows: 8000' 'train_rows: 9000, validation_rows: 3000'
	edit fever-small.yaml 'draws: 3' 'draws: 1'
	edit fever-small.yaml 'steps: 600' 'steps: 300'
	edit fever-small.yaml '(paper_dev.jsonl")\}' '\1, rows: 1500, seed: 0}'
	edit fever-small.yaml 'train: "[^"]*"' "train: \"$work/fever/train.csv\""
	edit cifar10-small.yaml 'draws: 5' 'draws: 1'
	edit imagenet-small.yaml 'draws: 10' 'draws: 1'
}

synthetic() {
	local format
	"$1" bench synthetic --out out >out.txt
	"$1" train --in out/costs.parquet --lambda 0,1 --out policies
	"$1" train --in out/costs.parquet --recipe paper --methods l2d,separated_softmax --seeds 2 --out paper
	"$1" eval --in out/costs.parquet --policy policies --policy paper --out report
	for format in csv jsonl parquet; do
		"$1" decide --policy policies/auto-lambda1.onnx --in out/costs.parquet --scores --out "decisions.$format"
	done
	"$1" inspect out/costs.parquet policies/auto-lambda1.onnx --json >inspect.json
}
fraud-demo() {
	"$1" bench fraud --config "$work/configs/fraud-demo.yaml" --out out
	"$1" decide --policy out/split0/policies-paper/ours-lambda0.2-seed0.onnx --encoder out/split0/encoder.json \
		--in out/data/train_transaction.csv --out decisions.csv
}
fraud-small() { "$1" bench fraud --config "$work/configs/fraud-small.yaml" --out out; }
fraud-generated() { "$1" bench fraud --config "$work/configs/fraud-generated.yaml" --out out; }
# The competition's files are not available: a planted world in their format replaces them.
fraud() {
	local rows=12000
	[ -z "${FULL:-}" ] || rows=128000
	"$1" generate fraud --rows "$rows" --columns 394 --seed 2 --out data/ieee-cis
	PIPE_DATA=$PWD/data "$1" bench fraud --config "$work/configs/fraud.yaml" --out out
}
table() {
	"$1" generate fraud --rows 12000 --seed 3 --out raw
	"$1" featurize --columns "$work/configs/fraud-columns.yaml" --in raw/train_transaction.csv --join raw/train_identity.csv --out fraud
	FRAUD_TABLE=$PWD/fraud/table.parquet "$1" costs --config "$work/configs/fraud-costs.yaml" --out costs
	"$1" train --in costs/costs.parquet --recipe paper --seeds 1 --out policies
	"$1" eval --in costs/costs.parquet --policy policies --out report
	"$1" inspect fraud/table.parquet fraud/encoder.json --json >inspect.json
}
fever-small() { "$1" bench fever --config "$work/configs/fever-small.yaml" --out out; }
fever() { "$1" bench fever --config "$work/configs/fever.yaml" --out out; }
cifar10-small() { "$1" bench imagenet --config "$work/configs/cifar10-small.yaml" --out out; }
imagenet-small() { "$1" bench imagenet --config "$work/configs/imagenet-small.yaml" --out out; }
imagenet() { "$1" bench imagenet --config "$work/configs/imagenet.yaml" --out out; }
tables() { # without the tables of times
	"$1" bench tables --config "$work/configs/tables.yaml" --out out --tables cifar10,digit --methods ours,l2d,knn_100,mean_of_four
	find out -name '*.seconds.json' -delete
	rm out/report.csv
}
import() {
	local t
	for t in cifar10 frugalml-ferplus frugalml-yelp frugalml-waimai frugalml-digit frugalml-fluent frugalml-command mmlu-pro mmlu-pro-text gsm8k mba-retrieval mtrag; do
		"$1" import --config "$work/configs/import-$t.yaml" --out "$t.parquet"
	done
	"$1" train --in cifar10.parquet --recipe paper --seeds 1 --out paper
	"$1" eval --in cifar10.parquet --policy paper --out report
}
text() {
	"$1" generate pages --pages 3000 --seed 1 --out pages
	"$1" index --pages pages --out pages.bm25
	"$1" index --pages pages --stop-words=false --stem=false --k1 1.5 --out plain.bm25
	"$1" convert "$PIPE_MINILM" --out text.onnx
	"$1" convert "$PIPE_CLIP_B32" --out image.onnx
	"$1" convert "$PIPE_DATA/models/imagenet/mobilenet_v1_100_224_embedding.onnx" --size 224 --mean 0.5 --std 0.5 --out mobilenet.onnx
	head -n 200 "$PIPE_DATA/fever/paper_dev.jsonl" >claims.jsonl
	CLAIMS=$PWD/claims.jsonl "$1" costs --config "$root/tools/verify/claims.yaml" --out claims
	"$1" train --in claims/costs.parquet --recipe paper --lambda 0 --seeds 1 --methods "" --out policies
	"$1" convert "$PIPE_MINILM" --merge policies/ours-lambda0-seed0.onnx --out merged.onnx
	"$1" decide --policy merged.onnx --in claims.jsonl --text claim --scores --out decisions.csv
}

# figures prints a JSON report without its wording and times.
figures() {
	python3 - "$1" <<'PY'
import json, sys

words = {"title", "notes", "note", "about", "caption", "seconds"}

def bare(v):
    if isinstance(v, dict):
        return {k: bare(x) for k, x in v.items() if k not in words}
    return [bare(x) for x in v] if isinstance(v, list) else v

print(json.dumps(bare(json.load(open(sys.argv[1])))))
PY
}

# compare prints how one file of both folders compares: same, words or differs.
compare() {
	if [ ! -e "$2/$1" ] || [ ! -e "$3/$1" ]; then
		echo differs # one program left no such file
	elif cmp -s "$2/$1" "$3/$1"; then
		echo same
	else
		case $1 in
		*.html | *.md | *.txt | *.svg | *.png) echo words ;; # the same report for readers
		*/report.json | */inspect.json | */train.json)
			if [ "$(figures "$2/$1")" = "$(figures "$3/$1")" ]; then echo words; else echo differs; fi
			;;
		*) echo differs ;;
		esac
	fi
}

# play STEP PROGRAM TO runs a step, always in a folder of the same name, and moves the outcome. It is a background process
# because the shell ignores set -e in whatever stands before && or ||.
play() {
	local run=$work/run
	mkdir "$run"
	(
		set -e
		cd "$run"
		"$1" "$2" >stdout.txt 2>stderr.txt
	) &
	wait $! || {
		echo "samebytes: $1 failed with $2:" >&2
		tail -n 5 "$run/stderr.txt" >&2
		exit 1
	}
	rm -rf "$3"
	mkdir -p "$(dirname "$3")"
	mv "$run" "$3"
}

cp -r configs "$work/configs"
[ -n "${FULL:-}" ] || shrink
stand_ins
total=0 failed=0
for step in $chosen; do
	a=$kept/$step/old b=$kept/$step/new
	begin=$(date +%s%N)
	play "$step" "$old" "$a"
	middle=$(date +%s%N)
	play "$step" "$new" "$b"
	end=$(date +%s%N)
	files=0 different=0 worded=0
	while read -r file; do
		files=$((files + 1))
		result=$(compare "$file" "$a" "$b")
		[ "$result" = same ] || echo "  $step: $file: $result"
		[ "$result" != words ] || worded=$((worded + 1))
		[ "$result" != differs ] || different=$((different + 1))
	done < <(for folder in "$a" "$b"; do (cd "$folder" && find . -type f ! -name stderr.txt); done | sort -u)
	printf '%-16s %4d files compared, %d differ, %d in words only; %d.%03d s and %d.%03d s\n' "$step" "$files" "$different" "$worded" \
		$(((middle - begin) / 1000000000)) $(((middle - begin) / 1000000 % 1000)) $(((end - middle) / 1000000000)) $(((end - middle) / 1000000 % 1000))
	total=$((total + files)) failed=$((failed + different))
	[ -n "${KEEP:-}" ] || rm -rf "${kept:?}/$step"
done
echo "steps: $chosen"
if [ "$failed" -gt 0 ]; then
	echo "$failed of $total files differ"
	exit 1
fi
echo "$total files compared: no figure and no byte differs"
