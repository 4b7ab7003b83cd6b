package source

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"pipe/costs"
	"pipe/experts/builder/part"
)

// Where labels of images come from.
const (
	labelsFolder = "folder" // the last folder of the path
	labelsName   = "name"   // the file's name up to its first underscore
	labelsTable  = "table"
)

// foundImages are the images of a source before any file is read.
type foundImages struct {
	entries []part.Entry
	bad     []part.BadImage
}

// findImages lists images and gives each its label.
func findImages(ctx context.Context, s *part.Setup, cfg *imagesSettings) (*foundImages, error) {
	folder := s.Path(cfg.Folder)
	if cfg.List != "" {
		return imagesOfList(ctx, s, cfg)
	}
	ids, bad, err := listImages(ctx, folder)
	if err != nil {
		return nil, err
	}
	found := &foundImages{bad: bad}
	if cfg.Labels != "" {
		return found, found.labelByTable(ctx, s, cfg, ids)
	}
	for _, id := range ids {
		found.add(part.Entry{ID: id}, cfg.LabelsFrom)
	}
	return found, nil
}

// add adds an image. Unless the label comes from a table, it is in the path: from says where.
func (f *foundImages) add(e part.Entry, from string) {
	reason := ""
	switch {
	case !utf8.ValidString(e.ID):
		reason = "its name is not UTF-8 text"
	case from == labelsFolder:
		e.Label = path.Base(path.Dir(e.ID))
		if e.Label == "." {
			reason = "is not in a class folder (use labels, labels_from or list for flat folders)"
		}
	case from == labelsName:
		label, _, found := strings.Cut(path.Base(e.ID), "_")
		if e.Label = label; !found || label == "" {
			reason = "its name does not start with a label and an underscore"
		}
	}
	if reason != "" {
		f.refuse(e.ID, "%s", reason)
		return
	}
	f.entries = append(f.entries, e)
}

func (f *foundImages) refuse(id, format string, args ...any) {
	f.bad = append(f.bad, part.BadImage{ID: id, Reason: fmt.Sprintf(format, args...)})
}

// imagesOfList reads the table whose rows are the instances. It does not check
// that the files exist.
func imagesOfList(ctx context.Context, s *part.Setup, cfg *imagesSettings) (*foundImages, error) {
	file := s.Path(cfg.List)
	if err := s.File(ctx, "list", file); err != nil {
		return nil, err
	}
	label := cfg.Label
	if cfg.LabelsFrom != labelsTable {
		label = ""
	}
	t, err := readListing(ctx, file, entryColumns{id: cfg.ID, label: label, split: cfg.Split, group: cfg.Group}, s.Held)
	if err != nil {
		return nil, err
	}
	found, first := &foundImages{}, make(map[string]int, len(t.entries))
	for i, e := range t.entries {
		id := path.Clean(filepath.ToSlash(e.ID))
		bad := &costs.DataError{File: file.String(), Row: t.lines[i], Column: cfg.ID}
		if !filepath.IsLocal(filepath.FromSlash(id)) || id == "." {
			bad.Msg = fmt.Sprintf("%q is not a path below the folder of images", e.ID)
			return nil, bad
		}
		if row, ok := first[id]; ok {
			bad.Msg = fmt.Sprintf("%q is a duplicate of row %d", id, row)
			return nil, bad
		}
		first[id], e.ID = t.lines[i], id
		found.add(e, cfg.LabelsFrom)
	}
	return found, nil
}

// labelByTable takes label, split and group of every image from a table. Images
// without a row, and rows without an image, are bad.
func (f *foundImages) labelByTable(ctx context.Context, s *part.Setup, cfg *imagesSettings, ids []string) error {
	file := s.Path(cfg.Labels)
	if err := s.File(ctx, "labels", file); err != nil {
		return err
	}
	t, err := readListing(ctx, file, entryColumns{id: cfg.ID, label: cfg.Label, split: cfg.Split, group: cfg.Group}, s.Held)
	if err != nil {
		return err
	}
	byID := make(map[string]part.Entry, len(t.entries))
	for _, e := range t.entries {
		byID[e.ID] = e
	}
	for _, id := range ids {
		e, ok := byID[id]
		if !ok {
			f.refuse(id, "has no row in %s", file.Base())
			continue
		}
		f.add(e, labelsTable)
		delete(byID, id)
	}
	for _, bad := range f.bad { // already reported
		delete(byID, bad.ID)
	}
	for i, e := range t.entries {
		if _, left := byID[e.ID]; left {
			f.refuse(e.ID, "does not exist, but is in row %d of %s", t.lines[i], file.Base())
		}
	}
	return nil
}

// keepLabels rejects images of other classes.
func (f *foundImages) keepLabels(classes []string) {
	known := make(map[string]bool, len(classes))
	for _, c := range classes {
		known[c] = true
	}
	f.entries = slices.DeleteFunc(f.entries, func(e part.Entry) bool {
		if known[e.Label] {
			return false
		}
		f.refuse(e.ID, "its label %q is not one of the %d classes", e.Label, len(classes))
		return true
	})
}

// firstPerLabel keeps the first images of every label.
func (f *foundImages) firstPerLabel(most int) {
	if most == 0 {
		return
	}
	seen := make(map[string]int)
	f.entries = slices.DeleteFunc(f.entries, func(e part.Entry) bool {
		seen[e.Label]++
		return seen[e.Label] > most
	})
}
