package main

import (
	"context"
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
