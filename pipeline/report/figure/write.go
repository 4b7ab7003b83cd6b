package figure

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"pipe/internal/atomicfile"
	"pipe/internal/storage"
)

// Write writes the figures into a folder, each as NAME.svg. When all are there, it removes figures of earlier runs: files that one of
// own matches, that have no figure now, and that begin as figures do. It touches no other file.
func Write(ctx context.Context, folder storage.Location, own []string, figures []Figure) error {
	for _, f := range figures {
		if err := atomicfile.WriteAt(ctx, folder.Join(f.file()), f.write); err != nil {
			return err
		}
	}
	there, err := folder.ReadDir(ctx)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range there {
		matched := slices.ContainsFunc(own, func(pattern string) bool { ok, _ := path.Match(pattern, e.Name()); return ok })
		if !matched || !e.Type().IsRegular() || slices.ContainsFunc(figures, func(f Figure) bool { return f.file() == e.Name() }) {
			continue
		}
		if err := removeFigure(ctx, folder.Join(e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func (f *Figure) file() string { return f.Name + ".svg" }

func (f *Figure) write(w io.Writer) error { _, err := w.Write(f.SVG()); return err }

// removeFigure removes a file if it begins as the figures that Write writes.
func removeFigure(ctx context.Context, at storage.Location) error {
	file, err := at.Open(ctx)
	if err != nil {
		return err
	}
	head, err := io.ReadAll(io.LimitReader(file, 400))
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	if first, _, _ := strings.Cut(string(head), "<title>"); !strings.HasPrefix(first, "<svg ") || !strings.HasSuffix(first, opening) {
		return nil
	}
	if err := at.Remove(ctx); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
