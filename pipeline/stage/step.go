package stage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"pipe/costs"
	"pipe/internal/atomicfile"
	"pipe/internal/digest"
	"pipe/internal/storage"
	"pipe/internal/textfile"
)

// Step is a step of a stage that writes files and is skipped if they are complete. Its record, NAME.stage.json in the
// folder, holds digests of everything that the files depend on and of the files themselves: a step with the same inputs
// and untouched files is not repeated.
type Step struct {
	Folder storage.Location
	Name   string
	Inputs map[string]string // what the files depend on: digests, or short strings themselves
}

// stepRecord is the content of a record.
type stepRecord struct {
	Format int               `json:"format"`
	Inputs map[string]string `json:"inputs"`
	Files  map[string]string `json:"files"` // digest by path below the folder
}

const stepFormat = 1

func (s Step) record() storage.Location { return s.Folder.Join(s.Name + ".stage.json") }

// Run does the work unless it is already done. work returns the files that it wrote, relative to the folder. The record
// is written last, so an interrupted step is repeated.
func (s Step) Run(ctx context.Context, work func() (files []string, err error)) error {
	if done, err := s.done(ctx); done || err != nil {
		return err
	}
	if err := s.record().Remove(ctx); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	files, err := work()
	if err != nil {
		return err
	}
	r := stepRecord{Format: stepFormat, Inputs: s.Inputs, Files: map[string]string{}}
	for _, f := range files {
		if r.Files[f], err = costs.FileDigest(ctx, s.Folder.Join(f)); err != nil {
			return err
		}
	}
	return atomicfile.WriteAt(ctx, s.record(), func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(r)
	})
}

// done reports whether the record exists, has the same inputs, and matches the files. A record that cannot be read, or
// that names a file outside the folder, counts as none.
func (s Step) done(ctx context.Context) (bool, error) {
	var r stepRecord
	text, err := textfile.ReadFileAt(ctx, s.record(), textfile.MaxConfig)
	if err != nil || json.Unmarshal(text, &r) != nil || r.Format != stepFormat || !maps.Equal(r.Inputs, s.Inputs) {
		return false, nil
	}
	for _, f := range slices.Sorted(maps.Keys(r.Files)) {
		if !filepath.IsLocal(f) {
			return false, nil
		}
		sum, err := costs.FileDigest(ctx, s.Folder.Join(f))
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if err != nil || sum != r.Files[f] {
			return false, nil
		}
	}
	return len(r.Files) > 0, nil
}

// Files returns the files of a finished step, relative to the folder, sorted.
func (s Step) Files(ctx context.Context) ([]string, error) {
	var r stepRecord
	text, err := textfile.ReadFileAt(ctx, s.record(), textfile.MaxConfig)
	if err != nil {
		return nil, fmt.Errorf("read record of %s: %w", s.Name, err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("read record %q: %w", s.record(), err)
	}
	return slices.Sorted(maps.Keys(r.Files)), nil
}

// Digest is the digest of a value's JSON form.
func Digest(v any) string { return digest.Of([]byte(JSON(v))) }

// Indented writes a value as one indented JSON object, as the reports of stages are written.
func Indented(v any) func(w io.Writer) error {
	return func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		return e.Encode(v)
	}
}

// JSON is the JSON form of settings, in one line. It panics if there is none: settings are numbers, strings, lists and
// structures of them.
func JSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
