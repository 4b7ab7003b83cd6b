package stage

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"

	"pipe/internal/storage"
)

// Files are the files of one run of a stage. Every stage that writes files declares them and calls Check first.
type Files struct {
	Reads  []Input
	Writes []Output
}

// Input is a file that a run reads, or a folder of them.
type Input struct {
	Path storage.Location
	Info os.FileInfo            // of an input without a path, such as standard input; nil: that of Path
	Part func(name string) bool // which files in a folder and its subfolders are read, by base name; nil: all
	Grow bool                   // a file that is added to the folder would be read too, if Part accepts it
	Big  bool                   // a folder that may be too large to list: outputs are looked up in it by name
}

// Output is a file that a run may write, or the files in a folder whose names match patterns.
type Output struct {
	Path     storage.Location
	Patterns []string
	Info     os.FileInfo // of an open file, such as standard output; nil: that of Path
}

// Check returns an *OptionError if an output would replace a file that the run reads. Files are compared by identity,
// not by name: a link, another spelling or another letter case does not hide one.
func (f Files) Check(ctx context.Context) error {
	for _, in := range f.Reads {
		for _, out := range f.Writes {
			if in.takes(ctx, out) {
				return &OptionError{fmt.Errorf("the output %q would be one of the files of %q, which this run reads: choose another --out", out.Path, in.Path)}
			}
		}
	}
	there := f.there(ctx)
	if len(there) == 0 {
		return nil
	}
	for _, in := range f.Reads {
		for path, info := range in.among(ctx, there) {
			for _, out := range there {
				if storage.SameFile(info, out.Info) {
					return &OptionError{fmt.Errorf("the output %q would replace %q, which this run reads: choose another --out", out.Path, path)}
				}
			}
		}
	}
	return nil
}

// takes reports whether a new output would lie in an input folder and be read by the next run.
func (r *Input) takes(ctx context.Context, out Output) bool {
	if !r.Grow || out.Info != nil || out.Patterns != nil || !r.Part(out.Path.Base()) {
		return false
	}
	if _, err := out.Path.Stat(ctx); err == nil {
		return false // an existing file is compared with the files in the folder
	}
	folder, err := r.Path.Stat(ctx)
	if err != nil || !folder.IsDir() {
		return false
	}
	parent, err := out.Path.Dir().Stat(ctx)
	return err == nil && storage.SameFile(folder, parent)
}

// there are the existing regular files at the places of outputs.
func (f Files) there(ctx context.Context) (found []Output) {
	add := func(path storage.Location) {
		if info, err := path.Stat(ctx); err == nil && info.Mode().IsRegular() {
			found = append(found, Output{Path: path, Info: info})
		}
	}
	for _, w := range f.Writes {
		switch {
		case w.Info != nil:
			found = append(found, w)
		case w.Patterns == nil:
			add(w.Path)
		default:
			entries, _ := w.Path.ReadDir(ctx) // a folder that does not exist has no files
			for _, e := range entries {
				if matches(e.Name(), w.Patterns) {
					add(w.Path.Join(e.Name()))
				}
			}
		}
	}
	return found
}

func matches(name string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, _ := filepath.Match(p, name)
		return ok
	})
}

// among are the file, or the files of the folder that could be one of the outputs. A missing file is not an input: the
// stage reports it.
func (r *Input) among(ctx context.Context, outputs []Output) iter.Seq2[string, os.FileInfo] {
	return func(yield func(string, os.FileInfo) bool) {
		info := r.Info
		if info == nil {
			var err error
			if info, err = r.Path.Stat(ctx); err != nil {
				return
			}
		}
		switch {
		case !info.IsDir():
			yield(r.Path.String(), info)
		case r.Big:
			r.inside(ctx, info, outputs, yield)
		default:
			r.listed(ctx, yield)
		}
	}
}

// listed yields all files of the folder.
func (r *Input) listed(ctx context.Context, yield func(string, os.FileInfo) bool) {
	root, err := realPath(r.Path)
	if err != nil {
		return
	}
	_ = root.WalkDir(ctx, func(path storage.Location, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || r.Part != nil && !r.Part(e.Name()) {
			return nil // a folder that cannot be listed is not read either
		}
		if info, err := path.Stat(ctx); err == nil && !info.IsDir() && !yield(path.String(), info) {
			return filepath.SkipAll
		}
		return nil
	})
}

// inside yields the outputs that lie in the folder.
func (r *Input) inside(ctx context.Context, folder os.FileInfo, outputs []Output, yield func(string, os.FileInfo) bool) {
	for _, out := range outputs {
		path, err := realPath(out.Path)
		if err == nil {
			path, err = path.Abs()
		}
		if err != nil || r.Part != nil && !r.Part(path.Base()) {
			continue
		}
		for dir := path.Dir(); ; dir = dir.Dir() {
			if info, err := dir.Stat(ctx); err == nil && storage.SameFile(info, folder) && !yield(path.String(), out.Info) {
				return
			}
			if dir == dir.Dir() {
				break
			}
		}
	}
}

// realPath resolves links.
func realPath(path storage.Location) (storage.Location, error) {
	if path.IsRemote() {
		return path, nil
	}
	real, err := filepath.EvalSymlinks(path.Path())
	return storage.File(real), err
}
