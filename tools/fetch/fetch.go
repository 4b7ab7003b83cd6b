package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// fetcher installs sets of libraries below dir.
type fetcher struct {
	dir      string
	client   string // the only package client to use; empty: any
	platform string // as in linux/amd64
	log      io.Writer
	download func(ctx context.Context, p pin, into string) (archive string, err error) // nil: by package client
	roads    []road                                                                    // nil: those of the table
}

// workPrefix begins the names of the folders of unfinished fetches.
const workPrefix = ".fetch-"

// fetch installs the complete set in its folder, or leaves the folder unchanged.
func (f *fetcher) fetch(ctx context.Context, name string) error {
	s, ok := sets[name]
	if !ok {
		return fmt.Errorf("set %q is unknown: %s", name, strings.Join(setNames(), ", "))
	}
	roads, err := f.choose(s)
	if err != nil {
		return err
	}
	target := filepath.Join(f.dir, s.folder)
	if f.inPlace(name, target, roads) {
		return nil
	}
	unlock, err := f.prepare(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if f.inPlace(name, target, roads) { // another process has installed it in the meantime
		return nil
	}
	fmt.Fprintf(f.log, "%s: fetching %s\n", name, s.what)
	var errs []error
	for _, r := range roads {
		err := f.build(ctx, r, target)
		if err == nil {
			fmt.Fprintf(f.log, "%s: %s is in %s\n", name, r, target)
			return nil
		}
		if errors.Is(err, errChecksum) || ctx.Err() != nil {
			return err
		}
		errs = append(errs, err)
	}
	return fmt.Errorf("%s: no package client could download it:\n%w", name, errors.Join(errs...))
}

func (f *fetcher) inPlace(name, target string, roads []road) bool {
	used, ok := complete(target, roads)
	if ok {
		fmt.Fprintf(f.log, "%s: %s is in place in %s\n", name, used, target)
	}
	return ok
}

// prepare creates the folder, locks it, and removes what killed fetches left in it. The lock guarantees that no other
// process is working there.
func (f *fetcher) prepare(ctx context.Context) (unlock func() error, err error) {
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		return nil, err
	}
	if unlock, err = lockFolder(ctx, f.dir); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(f.dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), workPrefix) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(f.dir, e.Name())))
		}
	}
	if err != nil {
		return nil, errors.Join(err, unlock())
	}
	return unlock, nil
}

// choose returns the roads of this platform that the client allows.
func (f *fetcher) choose(s set) ([]road, error) {
	roads := f.roads
	if roads == nil {
		roads = s.roads[f.platform]
	}
	if len(roads) == 0 {
		return nil, fmt.Errorf("nothing is pinned for %s, only for %s", f.platform, slices.Sorted(maps.Keys(s.roads)))
	}
	if f.client == "" {
		return roads, nil
	}
	kept := slices.DeleteFunc(slices.Clone(roads), func(r road) bool { return r[0].client != f.client })
	if len(kept) == 0 {
		return nil, fmt.Errorf("%q has no such set for %s", f.client, f.platform)
	}
	return kept, nil
}

// build downloads and unpacks beside target and moves the result into place.
func (f *fetcher) build(ctx context.Context, r road, target string) error {
	work, err := os.MkdirTemp(f.dir, workPrefix+"*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	fresh := filepath.Join(work, "set")
	if err := os.MkdirAll(filepath.Join(fresh, "lib"), 0o755); err != nil {
		return err
	}
	st := stamp{Source: r.String(), Pins: r.sums(), Files: map[string]file{}}
	for _, p := range r {
		if err := f.add(ctx, p, work, fresh, st.Files); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	if err := st.write(fresh); err != nil {
		return err
	}
	return replace(fresh, target, filepath.Join(work, "old"))
}

// add downloads one archive, checks it and unpacks the files that are needed.
func (f *fetcher) add(ctx context.Context, p pin, work, fresh string, files map[string]file) error {
	into, err := os.MkdirTemp(work, "archive-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(into) // do not keep archives of gigabytes until the end
	download := f.download
	if download == nil {
		download = byClient
	}
	archive, err := download(ctx, p, into)
	if err != nil {
		return err
	}
	if err := checkSum(archive, p.sha256); err != nil {
		return err
	}
	return unpack(archive, p.files, fresh, files)
}

// replace moves fresh to target, and keeps the old folder until that has succeeded.
func replace(fresh, target, old string) error {
	err := os.Rename(target, old)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Rename(fresh, target)
}
