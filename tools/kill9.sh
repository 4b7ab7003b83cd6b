#!/bin/sh
# Kills `pipe costs` with SIGKILL at random moments, runs the same command
# again, and compares the result with an uninterrupted run byte by byte.
#
#   tools/kill9.sh CONFIG [KILLS [PIPE [FLAG...]]]
#
# KILLS (default 20) builds are killed; PIPE is the program (default bin/pipe),
# and FLAGs are passed to it, such as --skip-bad. A build that ends before its kill
# is compared too, and a new one is started from scratch.
set -eu
config=$1
kills=${2:-20}
pipe=${3:-bin/pipe}
shift "$(($# < 3 ? $# : 3))"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

now() { date +%s%N; }

begin=$(now)
"$pipe" costs --quiet --config "$config" --out "$folder/whole/costs.parquet" "$@" >/dev/null
whole=$((($(now) - begin) / 1000000))
echo "undisturbed: $whole ms"

killed=0
finished=0
out=$folder/killed/costs.parquet
while [ "$killed" -lt "$kills" ] || [ "$finished" -eq 0 ]; do
	"$pipe" costs --quiet --config "$config" --out "$out" "$@" >/dev/null 2>"$folder/stderr" &
	process=$!
	if [ "$killed" -lt "$kills" ]; then
		random=$(od -An -N4 -tu4 /dev/urandom)
		sleep "$(awk -v r="$random" -v ms="$whole" 'BEGIN { printf "%.3f", r / 4294967296 * ms / 1000 }')"
		kill -9 "$process" 2>/dev/null || true
	fi
	status=0
	wait "$process" 2>/dev/null || status=$?
	if [ "$status" -eq 137 ]; then
		killed=$((killed + 1))
		if [ -e "$out" ] && ! cmp -s "$out" "$folder/whole/costs.parquet"; then
			echo "kill $killed left an incomplete output" >&2
			exit 1
		fi
		continue
	fi
	if [ "$status" -ne 0 ]; then
		cat "$folder/stderr" >&2
		exit 1
	fi
	cmp "$out" "$folder/whole/costs.parquet"
	finished=$((finished + 1))
	out=$folder/killed-$finished/costs.parquet
done
echo "$killed kills, $finished builds finished, all equal to the undisturbed one"
