// Command dist writes what is released: archives, Debian packages and container images of the program with ONNX Runtime, for each
// an SBOM, and the checksums of all. The same commit gives the same bytes, as long as Debian's libraries stay the same.
//
//	go run ./tools/dist [-out dist] [-platforms linux/amd64,...] [-kinds archive,deb,image] [-binary bin/pipe]
//
// Without -binary the programs are compiled here for every platform, with Zig as the C compiler.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "dist: error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("dist", flag.ExitOnError)
	out := flags.String("out", "dist", "folder of the artifacts")
	platforms := flags.String("platforms", "linux/amd64,linux/arm64,darwin/arm64", "platforms")
	kinds := flags.String("kinds", "archive,deb,image,cloud-archive,cloud-image", "kinds of artifacts; those with cloud- have the program with object stores")
	binary := flags.String("binary", "", "program to pack, which was compiled before for the only platform")
	if err := flags.Parse(args); err != nil {
		return err
	}
	list := strings.Split(*platforms, ",")
	if *binary != "" && (len(list) != 1 || strings.Contains(*kinds, "cloud")) {
		return fmt.Errorf("-binary is for one platform, and not for the kinds cloud-...: %s, %s", *platforms, *kinds)
	}
	d, err := newDist(ctx, *out)
	if err != nil {
		return err
	}
	for _, p := range list {
		goos, arch, ok := strings.Cut(p, "/")
		if !ok {
			return fmt.Errorf("platform %q is not like linux/amd64", p)
		}
		if err := d.platform(ctx, target{goos, arch}, strings.Split(*kinds, ","), *binary); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	return d.sums()
}

// target is a platform.
type target struct{ os, arch string }

func (t target) String() string { return t.os + "-" + t.arch }

// dist is a run.
type dist struct {
	out, work string // folders of the artifacts, and of what they are made of
	release
}

func newDist(ctx context.Context, out string) (*dist, error) {
	r, err := thisRelease(ctx)
	if err != nil {
		return nil, err
	}
	out, err = filepath.Abs(out)
	if err != nil {
		return nil, err
	}
	d := &dist{out: out, work: filepath.Join(out, "work"), release: r}
	old, err := filepath.Glob(filepath.Join(out, "pipe*")) // of another version; SHA256SUMS is of one
	if err != nil {
		return nil, err
	}
	for _, path := range old {
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	return d, os.MkdirAll(d.work, 0o755)
}
