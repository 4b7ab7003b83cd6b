#!/bin/sh
# Runs every step on the synthetic benchmark: report, training from a Parquet file, evaluation, decisions, explanation; then
# goes from raw CSV files of a planted world to a report on disclosure, and decisions on raw rows.
# All output is in demo/; run by "make demo" after the build.
set -eu
cd "$(dirname "$0")/.."
pipe=bin/pipe
out=demo
rm -rf "$out"
mkdir -p "$out"

say() { printf '\n== %s\n' "$*"; }

say "$pipe doctor"
"$pipe" doctor

say "$pipe bench synthetic --out $out/synthetic"
"$pipe" bench synthetic --out "$out/synthetic"

say "$pipe inspect $out/synthetic/costs.parquet"
"$pipe" inspect "$out/synthetic/costs.parquet"

say "$pipe train --in $out/synthetic/costs.parquet --out $out/policies"
"$pipe" train --in "$out/synthetic/costs.parquet" --out "$out/policies"

say "$pipe eval --in $out/synthetic/costs.parquet --policy $out/policies --out $out/eval"
"$pipe" eval --in "$out/synthetic/costs.parquet" --policy "$out/policies" --out "$out/eval"

say "$pipe decide --policy $out/policies/auto-lambda1.onnx --in $out/synthetic/costs.parquet --out $out/decisions.csv"
"$pipe" decide --policy "$out/policies/auto-lambda1.onnx" --in "$out/synthetic/costs.parquet" --out "$out/decisions.csv"
head -n 4 "$out/decisions.csv"

say "$pipe inspect $out/policies/auto-lambda1.onnx"
"$pipe" inspect "$out/policies/auto-lambda1.onnx"

say "$pipe bench fraud --config configs/fraud-demo.yaml --out $out/fraud"
"$pipe" bench fraud --config configs/fraud-demo.yaml --out "$out/fraud" >"$out/fraud.txt"
sed -n '/^True loss by lambda/,/^$/p; /^Disclosure/,/^$/p; /^note:/,$p' "$out/fraud.txt"

say "$pipe decide --policy $out/fraud/split0/policies-paper/ours-lambda0.2-seed0.onnx --encoder $out/fraud/split0/encoder.json --in $out/fraud/data/train_transaction.csv --out $out/fraud.csv"
"$pipe" decide --policy "$out/fraud/split0/policies-paper/ours-lambda0.2-seed0.onnx" --encoder "$out/fraud/split0/encoder.json" \
	--in "$out/fraud/data/train_transaction.csv" --out "$out/fraud.csv"
head -n 4 "$out/fraud.csv"

say "$pipe serve --policy $out/policies --listen 127.0.0.1:0 --log $out/log"
"$pipe" serve --policy "$out/policies" --listen 127.0.0.1:0 --log "$out/log" >"$out/address" 2>"$out/serve.log" &
server=$!
trap 'kill "$server" 2>/dev/null || true' EXIT
for _ in $(seq 100); do
	[ -s "$out/address" ] && break
	kill -0 "$server" || { cat "$out/serve.log"; exit 1; }
	sleep 0.1
done
address=$(head -n 1 "$out/address")
ask="curl -s --fail-with-body -H 'Content-Type: application/json' -d '{\"policy\": \"auto-lambda1\", \"features\": [[0.5, -0.5]]}' $address/v1/decide"
say "$ask"
if command -v curl >/dev/null; then
	for _ in 1 2 3; do eval "$ask" >"$out/decision.json" || exit 1; done
	head -c 600 "$out/decision.json"
	curl -s --fail "$address/" >"$out/page.html"
fi
kill -TERM "$server"
wait "$server"
trap - EXIT
say "its page was at $address/ ; to go on: $pipe serve --policy $out/policies, then open http://127.0.0.1:8080/ or
   curl -s -H 'Content-Type: application/json' -d '{\"policy\": \"auto-lambda1\", \"features\": [[0.5, -0.5]]}' http://127.0.0.1:8080/v1/decide"
say "$pipe inspect $out/log"
"$pipe" inspect "$out/log"

cp "$out/synthetic/report.html" "$out/report.html"
say "open $out/report.html (the benchmark), $out/eval/report.html (the policy trained from the file) and $out/fraud/report.html (raw files)"
