package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// runtimeOf fetches ONNX Runtime for a platform, and returns the paths of the library and of its notices.
func (d *dist) runtimeOf(ctx context.Context, t target) (library string, notices []string, err error) {
	dir := filepath.Join(d.work, t.String())
	if err := do(ctx, ".", nil, "go", "run", "./tools/fetch", "-dir", dir, "-with", "pip", "-platform", t.os+"/"+t.arch, "runtime"); err != nil {
		return "", nil, err
	}
	at := filepath.Join(dir, "onnxruntime")
	libraries, err := filepath.Glob(filepath.Join(at, "lib", "libonnxruntime.*"))
	if err != nil || len(libraries) != 1 {
		return "", nil, fmt.Errorf("%s has %d libraries of ONNX Runtime instead of 1", at, len(libraries))
	}
	// Its licence must not have the name of ours.
	text, err := os.ReadFile(filepath.Join(at, "LICENSE"))
	if err != nil {
		return "", nil, err
	}
	license := filepath.Join(dir, "LICENSE.onnxruntime")
	return libraries[0], []string{license, filepath.Join(at, "ThirdPartyNotices.txt")}, os.WriteFile(license, text, 0o644)
}

// versionOf is the version in the name of the library: libonnxruntime.so.1.2.3 or libonnxruntime.1.2.3.dylib.
func versionOf(library string) string {
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(filepath.Base(library), "libonnxruntime."), "so."), ".dylib")
}

// debianPackages are those from which the image has its libraries, their licences and the certificates.
var debianPackages = []string{"libc6", "libstdc++6", "libgcc-s1", "gcc-12-base", "ca-certificates"}

// debianRoot downloads Debian's packages for an architecture with apt and unpacks them. It returns the folder with their files, and
// the versions of the packages. apt works in a folder of this run, so the system's packages do not matter.
func (d *dist) debianRoot(ctx context.Context, arch string) (root string, versions map[string]string, err error) {
	dir := filepath.Join(d.work, "linux-"+arch, "debian")
	root = filepath.Join(dir, "root")
	if err := os.RemoveAll(dir); err != nil {
		return "", nil, err
	}
	for _, sub := range []string{"root", "state/lists/partial", "cache/archives/partial", "debs"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return "", nil, err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "state/status"), nil, 0o644); err != nil { // nothing is installed
		return "", nil, err
	}
	apt := func(args ...string) error {
		options := []string{
			"-qq", "-o", "APT::Architecture=" + arch, "-o", "APT::Architectures::=" + arch, "-o", "Dir::State=" + dir + "/state", "-o", "Dir::Cache=" + dir + "/cache",
			"-o", "Dir::State::status=" + dir + "/state/status", "-o", "APT::Sandbox::User=root", "-o", "Acquire::Languages=none",
		}
		return do(ctx, filepath.Join(dir, "debs"), nil, "apt-get", append(options, args...)...)
	}
	if err := apt("update"); err != nil {
		return "", nil, err
	}
	if err := apt(append([]string{"download"}, debianPackages...)...); err != nil {
		return "", nil, err
	}
	versions = map[string]string{}
	debs, err := filepath.Glob(filepath.Join(dir, "debs", "*.deb"))
	if err == nil && len(debs) != len(debianPackages) {
		err = fmt.Errorf("apt downloaded %d packages instead of %d", len(debs), len(debianPackages))
	}
	if err != nil {
		return "", nil, err
	}
	for _, deb := range debs {
		about, err := output(ctx, "dpkg-deb", "--showformat=${Package} ${Version}", "--show", deb)
		if err != nil {
			return "", nil, err
		}
		name, version, _ := strings.Cut(about, " ")
		versions[name] = version
		if err := do(ctx, ".", nil, "dpkg-deb", "-x", deb, root); err != nil {
			return "", nil, err
		}
	}
	return root, versions, nil
}
