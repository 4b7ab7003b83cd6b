package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"pipe/experts/builder/part"
	"pipe/featurize/pixel"
	"pipe/internal/storage"
)

// imageWalk collects the images below a folder. Symbolic links are followed,
// except links back into the folder, whose images are found by their own paths.
type imageWalk struct {
	root string            // free of links
	seen map[string]string // path of a folder, free of links -> id under which it was found
	ids  []string
	bad  []part.BadImage
}

// listImages returns the images below a folder, sorted, and the paths that
// cannot be read. Hidden files and files with another extension are skipped.
func listImages(ctx context.Context, folder storage.Location) (ids []string, bad []part.BadImage, err error) {
	if folder.IsRemote() {
		ids, err = listObjects(ctx, folder)
		return ids, nil, err
	}
	root, err := filepath.EvalSymlinks(folder.Path())
	if err != nil {
		return nil, nil, fmt.Errorf("list images: %w", err)
	}
	if root, err = filepath.Abs(root); err != nil {
		return nil, nil, fmt.Errorf("list images: %w", err)
	}
	if _, err := os.ReadDir(root); err != nil {
		return nil, nil, fmt.Errorf("list images: %w", err)
	}
	w := &imageWalk{root: root, seen: make(map[string]string)}
	if err := w.visit(ctx, "", root); err != nil {
		return nil, nil, err
	}
	if len(w.ids)+len(w.bad) == 0 {
		return nil, nil, fmt.Errorf("list images: %q has none (%s)", folder, strings.Join(pixel.Extensions, " "))
	}
	slices.Sort(w.ids)
	return w.ids, w.bad, nil
}

func (w *imageWalk) refuse(id, reason string) {
	w.bad = append(w.bad, part.BadImage{ID: id, Reason: reason})
}

// visit lists the folder at a path that is free of links; its id is "" for the
// folder of all images.
func (w *imageWalk) visit(ctx context.Context, id, folder string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if first, ok := w.seen[folder]; ok {
		w.refuse(id+"/", fmt.Sprintf("is a duplicate of the folder %q", first+"/"))
		return nil
	}
	w.seen[folder] = id
	if !utf8.ValidString(id) {
		w.refuse(id+"/", "its name is not UTF-8 text")
		return nil
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		w.refuse(id+"/", "the folder cannot be read: "+cause(err))
	}
	for _, f := range files { // the entries that could be read
		if err := w.entry(ctx, path.Join(id, f.Name()), filepath.Join(folder, f.Name()), f); err != nil {
			return err
		}
	}
	return nil
}

func (w *imageWalk) entry(ctx context.Context, id, file string, f fs.DirEntry) error {
	switch {
	case strings.HasPrefix(f.Name(), "."):
		return nil
	case f.IsDir():
		return w.visit(ctx, id, file)
	case f.Type()&fs.ModeSymlink != 0:
		return w.follow(ctx, id, file)
	case isImageName(id):
		w.ids = append(w.ids, id)
	}
	return nil
}

// follow resolves a link. A broken link is bad if its target may have been an
// image or a folder.
func (w *imageWalk) follow(ctx context.Context, id, link string) error {
	info, err := os.Stat(link)
	switch {
	case err != nil && (isImageName(id) || path.Ext(id) == ""):
		w.refuse(id, "the link leads nowhere: "+cause(err))
		return nil
	case err == nil && info.IsDir():
		folder, err := filepath.EvalSymlinks(link)
		if err != nil {
			w.refuse(id+"/", "the link leads nowhere: "+cause(err))
			return nil
		}
		if within(w.root, folder) {
			return nil
		}
		return w.visit(ctx, id, folder)
	case err == nil && isImageName(id):
		w.ids = append(w.ids, id)
	}
	return nil
}

// within reports whether a path is the folder or below it.
func within(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

func isImageName(id string) bool {
	return slices.Contains(pixel.Extensions, strings.ToLower(path.Ext(id)))
}

// cause is the message of a system error without the path.
func cause(err error) string {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err.Error()
	}
	return err.Error()
}
