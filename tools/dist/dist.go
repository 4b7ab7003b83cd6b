package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

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
	if err := removeArtifacts(out); err != nil {
		return nil, err
	}
	return d, os.MkdirAll(d.work, 0o755)
}

// removeArtifacts removes those of an earlier run, since SHA256SUMS is of one version, and nothing else.
func removeArtifacts(folder string) error {
	for _, kind := range []string{".tar.gz", ".deb", ".oci.tar", ".whl", ".tgz"} {
		old, err := filepath.Glob(filepath.Join(folder, "pipe*"+kind))
		if err != nil {
			return err
		}
		for _, path := range old {
			if err := os.Remove(path); err != nil {
				return err
			}
			if err := os.Remove(path + ".cdx.json"); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}
