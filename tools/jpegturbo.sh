#!/bin/sh
# Downloads Debian's or Ubuntu's libturbojpeg into third_party/libjpeg-turbo with
# apt, without root. apt checks the package's signature and checksum.
set -eu
cd "$(dirname "$0")/.."
target=third_party/libjpeg-turbo

# SHA256SUMS was written after the download: a library that was truncated or
# changed since is downloaded again.
if [ -d "$target" ] && (cd "$target" && sha256sum --check --status SHA256SUMS) 2>/dev/null; then
	echo "jpegturbo: in place in $target" >&2
	exit 0
fi
for tool in apt-get dpkg-deb; do
	command -v $tool >/dev/null || {
		echo "jpegturbo: no $tool here; install libjpeg-turbo: brew install jpeg-turbo, dnf install turbojpeg" >&2
		exit 1
	}
done
mkdir -p third_party
work=$(mktemp -d "$PWD/third_party/.jpegturbo-XXXXXX")
trap 'rm -rf "$work"' EXIT INT TERM
cd "$work"

# download gets the package with the apt configuration of the machine, or with
# separate package lists if those of the machine are missing.
download() {
	for package in libturbojpeg0 libturbojpeg; do
		apt-get -qq "$@" download $package >log 2>&1 && return 0
	done
	return 1
}
own="-o Dir::State::lists=$work/lists -o Dir::Cache=$work/cache"
mkdir -p lists/partial cache/archives/partial
# shellcheck disable=SC2086 # options are words
download || { apt-get -qq $own update >log 2>&1 && download $own; } || {
	echo "jpegturbo: apt could not download it: $(tail -1 log)" >&2
	exit 1
}
dpkg-deb -x ./*.deb root
mkdir -p set/lib
cp -P root/usr/lib/*/libturbojpeg.so.0* set/lib/
cp root/usr/share/doc/libturbojpeg*/copyright set/LICENSE
(cd set && sha256sum lib/libturbojpeg.so.0 >SHA256SUMS)
cd - >/dev/null
rm -rf "$target"
mv "$work/set" "$target"
echo "jpegturbo: $(cd "$work" && ls ./*.deb) is in $target" >&2
