#!/usr/bin/env bash
# Fuzzes every target of the module, one after the other, and prints a table.
#
#   tools/fuzz.sh [TIME [PATTERN]]
#
# TIME is how long each target runs (default 10m), as go test takes it; PATTERN is a regular expression that a target,
# written PACKAGE.NAME, must match (default: all). FUZZ_WORKERS is how many workers a target has (default 1).
# The output of each target is written to out/fuzz. go test writes failing inputs to testdata/fuzz of the package.
# The exit code is 1 if a target failed.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-10m}
pattern=${2:-.}
logs=out/fuzz
mkdir -p "$logs"

# targets prints PACKAGE NAME for every fuzz target.
targets() {
	go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./... ./cloud/... ./cmd/pipe/... ./cmd/pipe-beam/... ./serve/... ./bench/... | while read -r package; do
		go test -list '^Fuzz' "$package" | sed -n "s|^Fuzz|$package Fuzz|p"
	done
}

list=$(targets)
failed=0
# An input that reaches new code is minimised for at most a second. By default go test takes a minute for each, and
# looks stalled meanwhile.
printf '%-50s %8s %14s %8s  %s\n' target seconds executions "new" result
while read -r package name; do
	[[ "$package.$name" =~ $pattern ]] || continue
	log=$logs/$(basename "$package").$name.log
	start=$SECONDS
	result=ok
	go test -run '^$' -fuzz "^$name\$" -fuzztime "$time" -fuzzminimizetime 1s -parallel "${FUZZ_WORKERS:-1}" "$package" >"$log" 2>&1 </dev/null || {
		# A machine with too much to do may stop a worker late: go test then calls the end of the time a failure.
		if grep -q '^    context deadline exceeded$' "$log" && ! grep -q 'Failing input written' "$log"; then
			result="ok, stopped late"
		else
			result="FAILED, see $log"
			failed=1
		fi
	}
	last=$(grep 'execs:' "$log" | tail -1 || true)
	printf '%-50s %8d %14s %8s  %s\n' "$package.$name" $((SECONDS - start)) \
		"$(sed -n 's/.*execs: \([0-9]*\).*/\1/p' <<<"$last")" \
		"$(sed -n 's/.*new interesting: \([0-9]*\).*/\1/p' <<<"$last")" "$result"
done <<<"$list"
exit $failed
