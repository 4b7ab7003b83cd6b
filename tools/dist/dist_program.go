package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// What Zig calls a platform. Linux is that of the oldest systems on which ONNX Runtime runs, macOS too.
var zigTargets = map[target]string{
	{"linux", "amd64"}:  "x86_64-linux-gnu.2.28",
	{"linux", "arm64"}:  "aarch64-linux-gnu.2.28",
	{"darwin", "arm64"}: "aarch64-macos.14.0",
}

// program compiles the program for a platform and returns its path. tags are build tags.
func (d *dist) program(ctx context.Context, t target, tags string) (string, error) {
	triple, known := zigTargets[t]
	if !known {
		return "", fmt.Errorf("no target of Zig is known for it")
	}
	zig, err := d.zig(ctx)
	if err != nil {
		return "", err
	}
	path := filepath.Join(d.work, t.String(), "pipe")
	if tags != "" {
		path += "-" + tags
	}
	inspect := d.module + "/pipeline/inspect"
	link := fmt.Sprintf("-s -w -buildid= -X %s.release=%s -X %s.revision=%s", inspect, d.version, inspect, d.commit)
	forCompiler, forLinker := "", "-Wl,--strip-all" // Zig ignores -s
	if t.os == "darwin" {
		if forCompiler, forLinker, err = d.macStubs(ctx); err != nil {
			return "", err
		}
	}
	link += fmt.Sprintf(" -linkmode=external '-extldflags=%s'", forLinker)
	env := []string{
		"GOOS=" + t.os, "GOARCH=" + t.arch, "CGO_ENABLED=1", "CC=" + zig + " cc -target " + triple + forCompiler,
		"ZIG_GLOBAL_CACHE_DIR=" + filepath.Join(d.work, "zig-cache"), "ZIG_LOCAL_CACHE_DIR=" + filepath.Join(d.work, "zig-cache"),
	}
	return path, do(ctx, ".", env, "go", "build", "-trimpath", "-buildvcs=false", "-tags", tags, "-ldflags", link, "-o", path, "./cmd/pipe")
}

// zig installs the pinned compiler with pip and returns its path. Where that is does not matter to what is compiled, because of
// -trimpath.
func (d *dist) zig(ctx context.Context) (string, error) {
	path, err := filepath.Abs(filepath.Join("third_party", "zig", "ziglang", "zig"))
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	return path, do(ctx, ".", nil, "python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--require-hashes",
		"--only-binary", ":all:", "--target", filepath.Join("third_party", "zig"), "-r", "tools/dist/zig.txt")
}
