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
	"time"
)

// This file does for locations what package os does for paths.

// Opened is an open file or object.
type Opened interface {
	io.ReadSeekCloser
	io.ReaderAt
	Stat() (fs.FileInfo, error)
}

// Open opens a file or an object for reading. The reads of an object end with ctx. A remote folder cannot be opened.
func (l Location) Open(ctx context.Context) (Opened, error) {
	if l.IsRemote() {
		o, err := l.Object(ctx)
		if err != nil {
			return nil, err
		}
		return o, nil
	}
	f, err := os.Open(l.name)
	if err != nil {
		return nil, err
	}
	return f, nil
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

// SameFile is os.SameFile, also for what Location.Stat returned.
func SameFile(a, b fs.FileInfo) bool {
	x, first := a.(remoteInfo)
	y, second := b.(remoteInfo)
	if first || second {
		return first && second && x.at == y.at
	}
	return os.SameFile(a, b)
}

// Stat describes a file, a folder or an object, links followed. A remote folder exists if there is an object in it.
func (l Location) Stat(ctx context.Context) (fs.FileInfo, error) {
	if !l.IsRemote() {
		return os.Stat(l.name)
	}
	whole := remoteInfo{name: l.Base(), at: l.String(), folder: true}
	if l.name == "" {
		if _, err := l.Folder(ctx); err != nil {
			return nil, err
		}
		return whole, nil
	}
	folder, name, err := l.openParent(ctx)
	if err != nil {
		return nil, err
	}
	info, err := folder.Stat(ctx, name)
	if err == nil {
		return remoteInfo{name: name, at: l.String(), size: info.Size, modified: info.Modified}, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, failed := range folder.List(ctx, name+"/") {
		if failed != nil {
			return nil, failed
		}
		return whole, nil
	}
	return nil, err
}

// ReadDir lists a folder, sorted by name. A remote folder without objects does not exist.
func (l Location) ReadDir(ctx context.Context) ([]fs.DirEntry, error) {
	if !l.IsRemote() {
		return os.ReadDir(l.name)
	}
	var out []fs.DirEntry
	last := ""
	err := l.objects(ctx, func(info Info) error {
		name, below, nested := strings.Cut(info.Name, "/")
		if name == last || name == "" || nested && below == "" {
			return nil
		}
		last = name
		out = append(out, remoteInfo{name: name, at: l.Join(name).String(), size: info.Size, folder: nested, modified: info.Modified})
		return nil
	})
	if err == nil && len(out) == 0 {
		return nil, &Error{Op: "list", URL: l.String(), Err: &Fault{Msg: "there is no such folder", Kind: fs.ErrNotExist}}
	}
	return out, err
}

// objects calls visit for every object below a remote folder, in the order of names.
func (l Location) objects(ctx context.Context, visit func(Info) error) error {
	folder, err := l.Folder(ctx)
	if err != nil {
		return err
	}
	for info, err := range folder.List(ctx, "") {
		if err != nil {
			return err
		}
		if err := visit(info); err != nil {
			return err
		}
	}
	return nil
}

// WalkDir is filepath.WalkDir, but follows symbolic links to folders, the root too. A link to a folder that it is in itself
// is left out: all in there has a path without it. Entries behind links have fs.ModeSymlink in their type. Of a remote
// folder it visits the folder and all objects below it, but not the folders between; SkipDir leaves out one object.
func (l Location) WalkDir(ctx context.Context, visit func(Location, fs.DirEntry, error) error) error {
	if !l.IsRemote() {
		return walkLocal(l.name, func(path string, e fs.DirEntry, err error) error { return visit(File(path), e, err) })
	}
	info, err := l.Stat(ctx)
	if err != nil {
		return visit(l, nil, err)
	}
	if err := visit(l, info.(remoteInfo), nil); err != nil || !info.IsDir() {
		return unlessSkipped(err)
	}
	err = l.objects(ctx, func(o Info) error {
		at := l.Join(o.Name)
		err := visit(at, remoteInfo{name: path.Base(o.Name), at: at.String(), size: o.Size, modified: o.Modified}, nil)
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

// Remove removes a file: what is not there is an fs.ErrNotExist.
func (l Location) Remove(ctx context.Context) error {
	if !l.IsRemote() {
		return os.Remove(l.name)
	}
	folder, name, err := l.openParent(ctx)
	if err != nil {
		return err
	}
	if _, err := folder.Stat(ctx, name); err != nil {
		return err
	}
	return folder.Delete(ctx, name)
}

// Put makes the bytes of a file of this machine, or the files of a folder, the objects of a remote location.
func (l Location) Put(ctx context.Context, local string) error {
	info, err := os.Stat(local)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		folder, name, err := l.openParent(ctx)
		if err != nil {
			return err
		}
		return folder.Upload(ctx, name, local)
	}
	folder, err := l.Folder(ctx)
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
		return folder.Upload(ctx, filepath.ToSlash(below), file)
	})
}
