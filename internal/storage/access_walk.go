package storage

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// maxLinks bounds the links to folders that a walk follows: folders full of links to each other have more paths than any
// walk ends.
const maxLinks = 1 << 16

// linkWalk visits a local folder and all below it, also what symbolic links lead to.
type linkWalk struct {
	visit fs.WalkDirFunc
	open  []fs.FileInfo // the folders that the walk is in
	links int           // to folders, followed so far
}

// linked is a folder that a link leads to.
type linked struct{ fs.DirEntry }

func (linked) Type() fs.FileMode { return fs.ModeDir | fs.ModeSymlink }

// walkLocal is WalkDir for a local path.
func walkLocal(root string, visit fs.WalkDirFunc) error {
	info, err := os.Stat(root)
	if err != nil {
		return unlessSkipped(visit(root, nil, err))
	}
	w := &linkWalk{visit: visit}
	return unlessSkipped(w.folder(root, fs.FileInfoToDirEntry(info)))
}

// folder visits a folder, or a file, and what is in it.
func (w *linkWalk) folder(path string, e fs.DirEntry) error {
	err := w.visit(path, e, nil)
	if err == nil && e.IsDir() {
		err = w.inside(path, e)
	}
	if e.IsDir() && errors.Is(err, fs.SkipDir) {
		return nil
	}
	return err
}

// inside visits what is in a folder. fs.SkipDir leaves out the rest of it.
func (w *linkWalk) inside(path string, e fs.DirEntry) error {
	entries, err := os.ReadDir(path)
	info, gone := os.Stat(path)
	if err = errors.Join(err, gone); err != nil { // the visitor decides
		return w.visit(path, e, err)
	}
	w.open = append(w.open, info)
	defer func() { w.open = w.open[:len(w.open)-1] }()
	for _, inner := range entries {
		if err := w.entry(filepath.Join(path, inner.Name()), inner); err != nil {
			return err
		}
	}
	return nil
}

func (w *linkWalk) entry(path string, e fs.DirEntry) error {
	if e.Type()&fs.ModeSymlink == 0 {
		return w.folder(path, e)
	}
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() { // a link to a file, or to nothing
		return w.visit(path, e, nil)
	}
	if slices.ContainsFunc(w.open, func(above fs.FileInfo) bool { return os.SameFile(above, info) }) {
		return nil
	}
	if w.links++; w.links > maxLinks {
		return fmt.Errorf("follow %q: there are more than %d links to folders, the most that are followed; name a folder with fewer", path, maxLinks)
	}
	return w.folder(path, linked{fs.FileInfoToDirEntry(info)})
}
