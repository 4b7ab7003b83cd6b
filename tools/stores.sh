#!/bin/sh
# Runs the test that every object store has to pass against services with the interfaces of Google's and Azure's stores, on the loopback
# device of a network namespace of its own: fake-gcs-server (a Go module) and Azurite (from npm). They are installed into
# third_party/stores.
set -eu
cd "$(dirname "$0")/.."
google=v1.56.0
azure=3.37.0
kept=$PWD/third_party/stores

if [ "${1:-}" = inside ]; then
	ip link set lo up
	"$kept/bin/fake-gcs-server" -backend memory -scheme http -host 127.0.0.1 -port 10001 -public-host 127.0.0.1:10001 -log-level error &
	"$kept/node_modules/.bin/azurite-blob" --silent --disableTelemetry --inMemoryPersistence --blobPort 10002 &
	export PIPE_TEST_GOOGLE=127.0.0.1:10001 PIPE_TEST_AZURE=127.0.0.1:10002
	for port in 10001 10002; do
		tries=0
		until curl -s -o /dev/null "http://127.0.0.1:$port/"; do
			tries=$((tries + 1))
			[ $tries -lt 100 ] || { echo "stores: nothing answers at port $port" >&2; exit 1; }
			sleep 0.2
		done
	done
	for test in TestGoogle TestGoogleBusy TestAzure TestAzureBusy TestAzureDenied; do
		"$kept/cloud.test" -test.v -test.timeout 5m -test.run "^$test\$"
	done
	exit
fi

mkdir -p "$kept"
if [ "$(cat "$kept/google.stamp" 2>/dev/null)" != $google ]; then
	GOBIN="$kept/bin" GOWORK=off go install "github.com/fsouza/fake-gcs-server@$google"
	echo $google >"$kept/google.stamp"
fi
if [ "$(cat "$kept/azure.stamp" 2>/dev/null)" != $azure ]; then
	npm install --prefix "$kept" --ignore-scripts --no-fund --no-audit --silent "azurite@$azure"
	echo $azure >"$kept/azure.stamp"
fi
go test -c -o "$kept/cloud.test" ./cloud
exec unshare -rn -pf --mount-proc --kill-child "$0" inside
