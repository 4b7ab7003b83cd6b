#!/usr/bin/env bash
# Tries the archive, the Debian package and the image of this machine as their users do: no Go, an empty home, no caches and no
# variables. Each is installed, and then imports the table of the tutorial, trains, decides and serves.
#   tools/dist/try.sh FOLDER          the folder that tools/dist wrote
#   tools/dist/try.sh FOLDER arm64    instead, the image for arm64, emulated by qemu-user-static on another machine: minutes
# The package and the image are tried as root only, in a mount namespace; what the machine lacks for that is said, and left out.
set -euo pipefail
self=$(realpath "$0")
cd "$(dirname "$self")/../.."
artifacts=$(realpath "${1:?the folder of the artifacts}")
tutorial=$PWD/docs/tutorial
arch=$(go env GOARCH 2>/dev/null || dpkg --print-architecture)
system=$(uname -s | tr '[:upper:]' '[:lower:]')
user=65532

say() { echo "try: $*" >&2; }
one() { # one PATTERN: the only artifact of that name
	local found=("$artifacts"/$1)
	[ ${#found[@]} = 1 ] && [ -e "${found[0]}" ] || { say "$artifacts has not one $1"; exit 1; }
	echo "${found[0]}"
}

# journey AT PROGRAM...: the tutorial with a program, for which the current folder is AT.
journey() {
	local at=$1 url answer server
	shift
	head -n 1001 "$tutorial/outcomes.csv" >outcomes.csv
	awk '/^```yaml$/ { inside = 1; next } /^```$/ { if (inside) exit } inside' "$tutorial.md" | sed 's/may.csv/outcomes.csv/' >outcomes.yaml
	printf 'train:\n  methods: []\n' >train.yaml
	printf 'id,length,code,setup\nshort,300,0,0\ncode,3500,1,0\nhowto,200,0,1\nboth,3000,1,1\n' >new.csv
	"$@" version >&2
	"$@" import --quiet --config "$at/outcomes.yaml" --out "$at/costs.parquet" >/dev/null
	"$@" train --quiet --in "$at/costs.parquet" --config "$at/train.yaml" --out "$at/policies" >/dev/null
	"$@" decide --quiet --policy "$at/policies/auto-lambda1.onnx" --in "$at/new.csv" | cut -d, -f1,3,4 >decided
	# What the tutorial prints.
	diff - decided <<-'END'
		id,expert,advice
		short,small,docs
		code,large,none
		howto,small,docs
		both,large,docs
	END
	"$@" serve --policy "$at/policies" --listen 127.0.0.1:0 >urls 2>served &
	server=$!
	for _ in $(seq 100); do [ -s urls ] || sleep 0.1; done
	read -r url <urls || { cat served >&2; return 1; }
	"$@" doctor --quiet --server "$url" >/dev/null
	answer=$(curl -s -H 'Content-Type: application/json' -d '{"features": [3000, 1, 1]}' "$url/v1/decide")
	kill "$server"
	wait "$server" || { say "the server ended with $?"; return 1; }
	grep -q '"pair": *"large/docs"' <<<"$answer" || { say "the server answered $answer"; return 1; }
}

# inside ROOT: runs the journey in ROOT as a user without rights; only /data and /tmp can be written.
inside() {
	local root=$1
	mkdir -p "$root/proc" "$root/data"
	mount --bind "$root" "$root"
	mount -o remount,ro,bind "$root"
	mount -t proc proc "$root/proc"
	mount -t tmpfs tmpfs "$root/tmp"
	mount --bind "$PWD" "$root/data"
	chown "$user:$user" .
	journey /data env -i HOME=/tmp PATH=/usr/bin "$(command -v chroot)" --userspec="$user:$user" "$root" /usr/bin/pipe
}

try_archive() {
	tar -xzf "$(one "pipe-[0-9]*-$system-$arch.tar.gz")"
	local program=("$PWD"/pipe-*/pipe)
	mkdir home work && cd work
	journey . env -i HOME="$PWD/../home" PATH=/nonexistent "${program[0]}"
}

# The package is installed into a copy of this system, which an overlay makes; dpkg checks its dependencies there.
try_deb() {
	local root=$PWD/root
	mkdir layers root work
	mount -t tmpfs tmpfs layers
	mkdir layers/upper layers/work
	mount -t overlay overlay -o "lowerdir=/,upperdir=$PWD/layers/upper,workdir=$PWD/layers/work" root
	mkdir -p root/data && cp "$(one "pipe-defer_*_$arch.deb")" root/data/pipe.deb
	chroot root dpkg --install /data/pipe.deb >&2
	chroot root dpkg --verify pipe-defer
	cd work
	inside "$root"
	chroot "$root" env -i /usr/bin/pipe version | grep -q /usr/lib/pipe/ || { say "the package does not find its own ONNX Runtime"; return 1; }
	mount -o remount,rw,bind "$root"
	chroot "$root" dpkg --purge pipe-defer >&2
	[ ! -e "$root/usr/lib/pipe" ] && [ ! -e "$root/usr/bin/pipe" ] || { say "the package left files behind"; return 1; }
}

# unpack ARCH: an image into the folder root, with its layers as a container's runtime does it.
unpack() {
	mkdir oci root work
	tar -xf "$(one "pipe-[0-9]*-linux-$1.oci.tar")" -C oci
	blob() { jq -r "$1" "$2" | sed 's|:|/|;s|^|oci/blobs/|'; }
	local manifest config
	manifest=$(blob .manifests[0].digest oci/index.json)
	config=$(blob .config.digest "$manifest")
	[ "$(jq -r .config.User "$config")" = "$user:$user" ]
	[ "$(jq -r '.config.Healthcheck.Test[1:4] | join(" ")' "$config")" = "/usr/bin/pipe doctor --quiet" ]
	jq -r '.layers[].digest' "$manifest" | while read -r layer; do tar -xzf "oci/blobs/${layer/://}" -C root; done
}

try_image() {
	unpack "$arch"
	cd work
	inside "$(dirname "$PWD")/root"
}

# ONNX Runtime reads what the processor is when it is loaded, and crashes if that is the emulator's host.
try_arm64() {
	unpack arm64
	mkdir root/proc home
	for n in 0 1; do
		printf 'processor: %d\nFeatures: fp asimd atomics fphp asimdhp asimddp\nCPU implementer: 0x41\nCPU architecture: 8\nCPU variant: 0x3\nCPU part: 0xd0c\nCPU revision: 1\n\n' $n
	done >root/proc/cpuinfo
	cd work
	journey . env -i HOME="$PWD/../home" PATH=/nonexistent QEMU_CPU=neoverse-n1 "$(command -v qemu-aarch64-static)" -L ../root ../root/usr/bin/pipe
}

if [ "${2:-}" = one ]; then
	cd "$4"
	"try_$3"
	exit
fi

(cd "$artifacts" && sha256sum --quiet --check SHA256SUMS)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
if [ "${2:-}" = arm64 ]; then
	mkdir "$work/arm64"
	"$self" "$artifacts" one arm64 "$work/arm64"
	say "arm64 ok in $SECONDS s"
	exit
fi
lacks() { # lacks PROGRAM...: names the first that is not here, or the rights of root
	local p
	[ "$(id -u)" = 0 ] || { echo "root's rights"; return; }
	for p; do command -v "$p" >/dev/null || { echo "$p"; return; }; done
	unshare --mount true 2>/dev/null || { echo "the right to mount"; return; }
	return 1
}
for kind in archive deb image; do
	start=$SECONDS
	mkdir "$work/$kind"
	case $kind in
	archive) "$self" "$artifacts" one archive "$work/archive" ;;
	deb) ! missing=$(lacks unshare dpkg) || { say "$kind left out: this machine lacks $missing"; continue; } ;;&
	image) ! missing=$(lacks unshare jq apt-get) || { say "$kind left out: this machine lacks $missing"; continue; } ;;&
	deb | image) unshare --mount --propagation private "$self" "$artifacts" one "$kind" "$work/$kind" ;;
	esac
	say "$kind ok in $((SECONDS - start)) s"
done
