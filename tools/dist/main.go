// Command dist writes what is released: archives, Debian packages and container images of the program with ONNX Runtime, wheels for
// Python, a package for npm, for each an SBOM, and the checksums of all. The same commit gives the same bytes, as long as Debian's libraries stay the same.
//
//	go run ./tools/dist [-out dist] [-platforms linux/amd64,...] [-kinds archive,deb,image,wheel,npm] [-binary bin/pipe]
//
// Without -binary the programs are compiled here for every platform, with Zig as the C compiler.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
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

// allKinds are the kinds of artifacts. Those with cloud- have the program with object stores.
var allKinds = []string{"archive", "deb", "image", "wheel", "cloud-archive", "cloud-image", "npm"}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("dist", flag.ExitOnError)
	out := flags.String("out", "dist", "folder of the artifacts")
	platforms := flags.String("platforms", "linux/amd64,linux/arm64,darwin/arm64", "platforms")
	kinds := flags.String("kinds", strings.Join(allKinds, ","), "kinds of artifacts; those with cloud- have the program with object stores")
	binary := flags.String("binary", "", "program to pack, which was compiled before for the only platform")
	if err := flags.Parse(args); err != nil {
		return err
	}
	list := strings.Split(*platforms, ",")
	if *binary != "" && (len(list) != 1 || strings.Contains(*kinds, "cloud")) {
		return fmt.Errorf("-binary is for one platform, and not for the kinds cloud-...: %s, %s", *platforms, *kinds)
	}
	each := strings.Split(*kinds, ",")
	for _, kind := range each {
		if !slices.Contains(allKinds, kind) {
			return fmt.Errorf("the kind %q is unknown; known are %s", kind, strings.Join(allKinds, ", "))
		}
	}
	d, err := newDist(ctx, *out)
	if err != nil {
		return err
	}
	if at := slices.Index(each, "npm"); at >= 0 {
		if err := d.npm(); err != nil {
			return fmt.Errorf("npm: %w", err)
		}
		each = slices.Delete(each, at, at+1)
	}
	if len(each) == 0 {
		return d.sums()
	}
	for _, p := range list {
		goos, arch, ok := strings.Cut(p, "/")
		if !ok {
			return fmt.Errorf("platform %q is not like linux/amd64", p)
		}
		if err := d.platform(ctx, target{goos, arch}, each, *binary); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	return d.sums()
}
