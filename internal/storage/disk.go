package storage

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"
)

// This file does for paths of both kinds what package os does for local ones. Its functions take no context, as those
// of os take none: the requests end with the context that Bind was given.

var bound atomic.Pointer[context.Context]

// Bind makes requests for paths end with ctx. A program calls it once, with the context that a signal ends.
func Bind(ctx context.Context) { bound.Store(&ctx) }

// Bound is the context of Bind.
func Bound() context.Context {
	if ctx := bound.Load(); ctx != nil {
		return *ctx
	}
	return context.Background()
}

// File is an open file, local or remote.
type File interface {
	io.ReadSeekCloser
	io.ReaderAt
	Stat() (fs.FileInfo, error)
}

// Open is os.Open. A remote folder cannot be opened.
func Open(path string) (File, error) {
	if local, ok := LocalPath(path); ok {
		f, err := os.Open(local)
		if err != nil {
			return nil, err
		}
		return f, nil
	}
	o, err := OpenObject(Bound(), path)
	if err != nil {
		return nil, err
	}
	return o, nil
}

// Stat describes the open object.
func (o *Object) Stat() (fs.FileInfo, error) {
	return remoteInfo{name: o.info.Name, at: o.Name(), size: o.info.Size, modified: o.info.Modified}, nil
}

// remoteInfo describes an object, or a folder: a prefix of names.
type remoteInfo struct {
	name, at string
	size     int64
	folder   bool
	modified time.Time
}

func (i remoteInfo) Name() string               { return i.name }
func (i remoteInfo) Size() int64                { return i.size }
func (i remoteInfo) ModTime() time.Time         { return i.modified }
func (i remoteInfo) IsDir() bool                { return i.folder }
func (i remoteInfo) Sys() any                   { return nil }
func (i remoteInfo) Type() fs.FileMode          { return i.Mode().Type() }
func (i remoteInfo) Info() (fs.FileInfo, error) { return i, nil }
func (i remoteInfo) Mode() fs.FileMode {
	if i.folder {
		return fs.ModeDir | 0o755
	}
	return 0o644
}

// SameFile is os.SameFile.
func SameFile(a, b fs.FileInfo) bool {
	x, first := a.(remoteInfo)
	y, second := b.(remoteInfo)
	if first || second {
		return first && second && x.at == y.at
	}
	return os.SameFile(a, b)
}

// Stat is os.Stat. A remote folder is there if there is an object in it.
func Stat(path string) (fs.FileInfo, error) {
	local, ok := LocalPath(path)
	if ok {
		return os.Stat(local)
	}
	if parse(path).name == "" {
		if _, err := OpenFolder(Bound(), path); err != nil {
			return nil, err
		}
		return remoteInfo{name: Base(path), at: Shown(path), folder: true}, nil
	}
	folder, name, err := openObject(Bound(), path)
	if err != nil {
		return nil, err
	}
	info, err := folder.Stat(Bound(), name)
	if err == nil {
		return remoteInfo{name: name, at: Shown(path), size: info.Size, modified: info.Modified}, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, failed := range folder.List(Bound(), name+"/") {
		if failed != nil {
			return nil, failed
		}
		return remoteInfo{name: name, at: Shown(path), folder: true}, nil
	}
	return nil, err
}

// ReadDir is os.ReadDir. A remote folder without objects does not exist.
func ReadDir(path string) ([]fs.DirEntry, error) {
	if local, ok := LocalPath(path); ok {
		return os.ReadDir(local)
	}
	var out []fs.DirEntry
	last := ""
	err := walk(path, func(info Info) error {
		name, below, nested := strings.Cut(info.Name, "/")
		if name == last || name == "" || nested && below == "" {
			return nil
		}
		last = name
		out = append(out, remoteInfo{name: name, at: Shown(Join(path, name)), size: info.Size, folder: nested, modified: info.Modified})
		return nil
	})
	if err == nil && len(out) == 0 {
		return nil, &Error{Op: "list", URL: Shown(path), Err: &Fault{Msg: "there is no such folder", Kind: fs.ErrNotExist}}
	}
	return out, err
}

// walk calls visit for every object below a remote folder, in the order of names.
func walk(path string, visit func(Info) error) error {
	folder, err := OpenFolder(Bound(), path)
	if err != nil {
		return err
	}
	for info, err := range folder.List(Bound(), "") {
		if err != nil {
			return err
		}
		if err := visit(info); err != nil {
			return err
		}
	}
	return nil
}

// WalkDir is filepath.WalkDir, but follows symbolic links to folders, root too. A link to a folder that it is in itself is left
// out: all in there has a path without it. Entries behind links have fs.ModeSymlink in their type. Of a remote folder it visits the folder and all objects below it, but not the folders
// between; SkipDir leaves out one object.
func WalkDir(root string, visit fs.WalkDirFunc) error {
	if local, ok := LocalPath(root); ok {
		return walkLocal(local, visit)
	}
	info, err := Stat(root)
	if err != nil {
		return visit(root, nil, err)
	}
	if err := visit(root, info.(remoteInfo), nil); err != nil || !info.IsDir() {
		return unlessSkipped(err)
	}
	err = walk(root, func(o Info) error {
		err := visit(Join(root, o.Name), remoteInfo{name: path.Base(o.Name), at: Shown(Join(root, o.Name)), size: o.Size, modified: o.Modified}, nil)
		if errors.Is(err, fs.SkipDir) {
			return nil
		}
		return err
	})
	return unlessSkipped(err)
}

func unlessSkipped(err error) error {
	if errors.Is(err, fs.SkipAll) || errors.Is(err, fs.SkipDir) {
		return nil
	}
	return err
}

// Remove is os.Remove of a file: what is not there is an fs.ErrNotExist.
func Remove(path string) error {
	if local, ok := LocalPath(path); ok {
		return os.Remove(local)
	}
	folder, name, err := openObject(Bound(), path)
	if err != nil {
		return err
	}
	if _, err := folder.Stat(Bound(), name); err != nil {
		return err
	}
	return folder.Delete(Bound(), name)
}

// Put makes the bytes of a local file, or the files of a local folder, the objects of a remote path.
func Put(path, local string) error {
	info, err := os.Stat(local)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		folder, name, err := openObject(Bound(), path)
		if err != nil {
			return err
		}
		return folder.Upload(Bound(), name, local)
	}
	folder, err := OpenFolder(Bound(), path)
	if err != nil {
		return err
	}
	return filepath.WalkDir(local, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		below, err := filepath.Rel(local, file)
		if err != nil {
			return err
		}
		return folder.Upload(Bound(), filepath.ToSlash(below), file)
	})
}
