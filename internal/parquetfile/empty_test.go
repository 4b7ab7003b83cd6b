package parquetfile

import (
	"errors"
	"io"
	"slices"
	"testing"

	"pipe/internal/storage"
)

// texts reads a column of strings.
func texts(f *File, name string) (all []string, err error) {
	for g := range f.Groups() {
		pages, err := f.Pages(g, f.Root.Child(name))
		for err == nil {
			var p *Page
			if p, err = pages.Next(); err == nil {
				for i := range p.Count() {
					all = append(all, p.Text(i))
				}
			}
		}
		if !errors.Is(err, io.EOF) {
			return nil, err
		}
	}
	return all, nil
}

// The files are from pyarrow 26. no-rows.parquet is an empty table, which has one row group of 0 rows whose data begins
// at byte 0. empty-group.parquet has such a row group between two others.
func TestEmptyRowGroup(t *testing.T) {
	for path, want := range map[string][]string{"testdata/no-rows.parquet": nil, "testdata/empty-group.parquet": {"a", "b", "a", "b"}} {
		f, err := Open(t.Context(), storage.File(path))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for _, leaf := range f.leaves {
			if _, err := f.Pages(0, leaf); err != nil {
				t.Errorf("%s: %s: %v", path, leaf.Name, err)
			}
		}
		if got, err := texts(f, "id"); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; expected %q", path, got, err, want)
		}
	}
}

// Values without rows, and rows whose data begins at byte 0, are still damage.
func TestEmptyRowGroupIsChecked(t *testing.T) {
	for name, spoil := range map[string]func(f *File){
		"values without rows": func(f *File) { f.groups[1].chunks[0].values = 2 },
		"rows without values": func(f *File) { f.groups[0].chunks[0].values = 0 },
		"rows at byte 0":      func(f *File) { f.groups[0].chunks[0].data = 0 },
	} {
		f, err := Open(t.Context(), storage.File("testdata/empty-group.parquet"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		spoil(f)
		var data *Error
		if got, err := texts(f, "id"); !errors.As(err, &data) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
