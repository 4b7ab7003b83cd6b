package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/featurize"
)

// images is a folder of pictures: CLASS/name.jpg, where the folder is the
// label, or flat with a file of labels. The id is the path below the folder
// with forward slashes; the order is that of the ids.
type images struct {
	folder  string
	entries []Entry
}

type imagesSettings struct {
	Folder   Path   `json:"folder"`
	Labels   Path   `json:"labels"`    // table with id and label (and split); "" means that folders are labels
	ID       string `json:"id"`        // columns of that table
	Label    string `json:"label"`     //
	Split    string `json:"split"`     // "": none
	PerLabel int    `json:"per_label"` // at most so many instances per label, the first by id; 0: all
}

func newImages(ctx context.Context, s *Setup, settings map[string]any) (Source, error) {
	cfg := imagesSettings{ID: "id", Label: "label"}
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	if cfg.Folder == "" || cfg.PerLabel < 0 {
		return nil, fmt.Errorf("folder is %q and per_label is %d", string(cfg.Folder), cfg.PerLabel)
	}
	src := &images{folder: s.Path(cfg.Folder)}
	ids, err := listImages(src.folder)
	if err != nil {
		return nil, err
	}
	if cfg.Labels == "" {
		src.entries, err = labelByFolder(src.folder, ids)
	} else {
		src.entries, err = labelByTable(ctx, s, &cfg, ids)
	}
	if err != nil {
		return nil, err
	}
	src.entries = firstPerLabel(src.entries, cfg.PerLabel)
	return src, src.digest(ctx, s.inputs, s.progress)
}

// listImages returns the images below a folder, sorted. Hidden files and files
// with another extension are passed over.
func listImages(folder string) ([]string, error) {
	var ids []string
	err := filepath.WalkDir(folder, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if strings.HasPrefix(name, ".") && p != folder {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if !d.IsDir() && slices.Contains(featurize.Extensions, strings.ToLower(filepath.Ext(name))) {
			rel, err := filepath.Rel(folder, p)
			if err != nil {
				return err
			}
			ids = append(ids, filepath.ToSlash(rel))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list images: %w", err)
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("list images: %q holds none (%s)", folder, strings.Join(featurize.Extensions, " "))
	}
	slices.Sort(ids)
	return ids, nil
}

func labelByFolder(folder string, ids []string) ([]Entry, error) {
	entries := make([]Entry, len(ids))
	for i, id := range ids {
		label := path.Base(path.Dir(id))
		if label == "." {
			return nil, fmt.Errorf("image %q lies in no class folder of %q; name a table of labels for flat folders", id, folder)
		}
		entries[i] = Entry{ID: id, Label: label}
	}
	return entries, nil
}

// labelByTable takes label and split of every image from a table; images that
// it does not list, and rows without an image, are errors.
func labelByTable(ctx context.Context, s *Setup, cfg *imagesSettings, ids []string) ([]Entry, error) {
	file := s.Path(cfg.Labels)
	if err := s.File(ctx, "labels", file); err != nil {
		return nil, err
	}
	t, err := readTable(ctx, file)
	if err != nil {
		return nil, err
	}
	listed, err := t.entries(cfg.ID, cfg.Label, cfg.Split)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]Entry, len(listed))
	for _, e := range listed {
		byID[e.ID] = e
	}
	entries := make([]Entry, 0, len(ids))
	for _, id := range ids {
		e, ok := byID[id]
		if !ok {
			return nil, &costs.DataError{File: file, Column: cfg.ID, Msg: fmt.Sprintf("no row for image %q", id)}
		}
		entries = append(entries, e)
		delete(byID, id)
	}
	for i, e := range listed {
		if _, left := byID[e.ID]; left {
			return nil, &costs.DataError{File: file, Row: t.lines[i], Column: cfg.ID, Msg: fmt.Sprintf("there is no image %q", e.ID)}
		}
	}
	return entries, nil
}

func firstPerLabel(entries []Entry, most int) []Entry {
	if most == 0 {
		return entries
	}
	seen := make(map[string]int)
	return slices.DeleteFunc(entries, func(e Entry) bool {
		seen[e.Label]++
		return seen[e.Label] > most
	})
}

// digest hashes every image, several at a time.
func (s *images) digest(ctx context.Context, in inputs, progress Progress) error {
	progress.Start(int64(len(s.entries)), "checking images")
	defer progress.Done()
	sums := make([]string, len(s.entries))
	err := parallel(ctx, runtime.GOMAXPROCS(0), len(s.entries), func(ctx context.Context, i int) (err error) {
		sums[i], err = costs.FileDigest(ctx, s.file(i))
		progress.Add(1)
		return err
	})
	if err != nil {
		return fmt.Errorf("read images: %w", err)
	}
	all := sha256.New()
	for i, e := range s.entries {
		in[imagePrefix+e.ID] = sums[i]
		fmt.Fprintf(all, "%s  %s\n", sums[i], e.ID)
	}
	in["images"] = "sha256:" + hex.EncodeToString(all.Sum(nil))
	return nil
}

// imagePrefix starts the names of the inputs that are single images.
const imagePrefix = "image "

func (s *images) file(i int) string {
	return filepath.Join(s.folder, filepath.FromSlash(s.entries[i].ID))
}

// Entries returns the images, sorted by id.
func (s *images) Entries() []Entry { return s.entries }

// Columns returns nil.
func (s *images) Columns() *Columns { return nil }

// Load decodes images.
func (s *images) Load(ctx context.Context, rows []int) ([]Instance, error) {
	out := make([]Instance, len(rows))
	for n, i := range rows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		b, err := os.ReadFile(s.file(i))
		if err != nil {
			return nil, fmt.Errorf("read image: %w", err)
		}
		img, err := featurize.DecodeImage(b)
		if err != nil {
			return nil, &costs.DataError{File: s.file(i), Err: err}
		}
		out[n] = Instance{Entry: s.entries[i], Image: img, Row: i}
	}
	return out, nil
}

var errNoInstances = errors.New("there are no instances")
