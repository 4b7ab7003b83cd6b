package tablefile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"pipe/internal/dataerror"
	"pipe/internal/parquetfile"
	"pipe/internal/storage"
	"pipe/internal/textfile"
)

// maxFiles is the most files of a folder.
const maxFiles = 1 << 20

// Pieces returns into how many pieces the table can be cut: the row groups of a Parquet file, the files of a folder. Other
// files are one piece.
func (l Layout) Pieces(ctx context.Context) (int, error) {
	info, err := l.Path.Stat(ctx)
	switch {
	case err != nil:
		return 0, err
	case info.IsDir():
		files, err := l.Files(ctx)
		return len(files), err
	case extension(l.Path.Base()) == ".parquet":
		return rowGroups(ctx, l.Path)
	}
	return 1, nil
}

// Files returns the files of the table: Path itself, or those of the folder that belong to it, sorted by name. Names
// that start with a dot or an underscore are skipped, except partitions such as _day=1. Without Paths, a folder with
// .parquet files is a table of those alone; else its files, and those of the folders in it, must be of one kind. A
// parquetfile.Managed folder is an error.
func (l Layout) Files(ctx context.Context) ([]storage.Location, error) {
	info, err := l.Path.Stat(ctx)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []storage.Location{l.Path}, nil
	}
	if l.Paths == "" {
		files, _, err := parquetfile.Parts(ctx, l.Path)
		var managed *parquetfile.Managed
		if err == nil || errors.As(err, &managed) {
			return files, err
		}
	}
	fits := func(path string) bool { return extension(path) != "" }
	if l.Paths != "" {
		p, err := ParsePaths(l.Paths)
		if err != nil {
			return nil, &dataerror.Error{File: l.Path.String(), Err: err}
		}
		match := p.files()
		fits = match.MatchString
	}
	files, err := l.find(ctx, fits)
	if err == nil {
		files, err = once(l.Path, files)
	}
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		if first, ext := extension(files[0].Base()), extension(file.Base()); first != ext {
			return nil, &dataerror.Error{File: l.Path.String(), Msg: fmt.Sprintf("the folder has files of two kinds, such as %s and %s; choose some with paths",
				textfile.Quoted(l.inside(files[0])), textfile.Quoted(l.inside(file)))}
		}
	}
	switch {
	case len(files) == 0 && l.Paths != "":
		return nil, &dataerror.Error{File: l.Path.String(), Msg: fmt.Sprintf("the folder has no file that fits %q", l.Paths)}
	case len(files) == 0:
		return nil, &dataerror.Error{File: l.Path.String(), Msg: "the folder has no table: no .parquet, .csv, .tsv, .jsonl, .ndjson or .json file"}
	}
	return files, nil
}

// find returns the files of the folder whose paths in it fit.
func (l Layout) find(ctx context.Context, fits func(string) bool) (files []storage.Location, err error) {
	err = l.Path.WalkDir(ctx, func(path storage.Location, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == l.Path:
			return nil
		case d.IsDir() && hidden(d.Name()) && !parquetfile.IsLog(d.Name()):
			return filepath.SkipDir
		case d.IsDir():
			return nil
		}
		name := l.inside(path)
		if by := parquetfile.InLog(name); by != nil {
			return &dataerror.Error{File: path.Dir().Dir().String(), Err: by}
		}
		if slices.ContainsFunc(strings.Split(name, "/"), hidden) || !fits(name) {
			return nil
		}
		if files = append(files, path); len(files) > maxFiles {
			return &dataerror.Error{File: l.Path.String(), Msg: fmt.Sprintf("the folder has more than %d files, the most that are read", maxFiles)}
		}
		return nil
	})
	return files, err
}

// hidden reports whether a name is skipped. A partition is not, whatever the name of its column.
func hidden(name string) bool {
	return name[0] == '.' || name[0] == '_' && !strings.Contains(name, "=")
}

// inside is the path of a file in the folder, with slashes.
func (l Layout) inside(file storage.Location) string {
	if name, ok := l.Path.Rel(file); ok {
		return name
	}
	return file.String()
}

// folderTable is a table in several files of a folder, with what the names of its pattern stand for as columns.
type folderTable struct {
	layout Layout
	files  []storage.Location
	ctx    context.Context // of Open, for the files that are opened later
	paths  *Pattern
	match  *regexp.Regexp // of paths
	parted []bool         // which names of paths are partitions
	opened int            // files opened so far
	file   source         // nil between two
	names  []string
	wanted []string // columns that were chosen
	chosen []string // of these, columns of the files
	times  []string // columns that may be times
	batch  Batch
	found  []Cell // what the names of paths stand for
}

func newFolderTable(ctx context.Context, l Layout, files []storage.Location) (*folderTable, error) {
	t := &folderTable{layout: l, files: files, ctx: ctx}
	var err error
	if t.paths, err = ParsePaths(l.Paths); err != nil {
		return nil, &dataerror.Error{File: l.Path.String(), Err: err}
	}
	t.match, t.parted = t.paths.files(), t.paths.partitions()
	if err := t.learn(); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// learn opens the first file, or with All each of them, for the names of the columns.
func (t *folderTable) learn() error {
	seen := make(map[string]bool)
	for t.opened == 0 || t.layout.All && t.opened < len(t.files) {
		if err := t.openNext(); err != nil {
			return err
		}
		for _, name := range t.file.columns() {
			if !seen[name] {
				seen[name] = true
				t.names = append(t.names, name)
			}
		}
	}
	for _, name := range t.paths.Names() {
		if seen[name] {
			return &dataerror.Error{File: t.path(), Column: name, Msg: "is a column of the file and a name in the pattern of paths"}
		}
		t.names = append(t.names, name)
	}
	if l := t.layout.Part; l != nil && *l != [2]int{0, len(t.files)} {
		t.files, t.opened = t.files[l[0]:l[1]], 0
		return t.openNext()
	}
	if t.opened > 1 {
		t.opened = 0
		return t.openNext()
	}
	return nil
}

// partition is the value of a partition as other programs write it in the name of a folder.
func partition(text string) Cell {
	if text == "__HIVE_DEFAULT_PARTITION__" {
		return Cell{}
	}
	if plain, err := url.PathUnescape(text); err == nil && utf8.ValidString(plain) {
		text = plain
	}
	return Cell{kind: textCell, text: text}
}

func (t *folderTable) openNext() (err error) {
	t.close()
	path := t.files[t.opened]
	t.opened++
	t.found = t.found[:0]
	if match := t.match.FindStringSubmatch(t.layout.inside(path)); match != nil {
		for i, text := range match[1:] {
			if t.parted[i] {
				t.found = append(t.found, partition(text))
			} else {
				t.found = append(t.found, Cell{kind: textCell, text: text})
			}
		}
	}
	layout := t.layout
	layout.quick = t.opened > 1 && !layout.All // the names are known from the first file
	file, err := layout.openFile(t.ctx, path)
	if err == nil {
		t.file = file
	}
	return err
}

func (t *folderTable) columns() []string { return t.names }
func (t *folderTable) path() string      { return t.files[max(t.opened, 1)-1].String() }

func (t *folderTable) close() {
	if t.file != nil {
		t.file.close()
		t.file = nil
	}
}

func (t *folderTable) choose(columns, times []string) error {
	t.wanted, t.chosen, t.times = columns, nil, times
	for _, name := range columns {
		if !slices.Contains(t.paths.Names(), name) {
			t.chosen = append(t.chosen, name)
		}
	}
	return t.file.choose(t.chosen, t.times)
}

func (t *folderTable) read() (*Batch, error) {
	b, err := t.file.read()
	for errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && t.opened < len(t.files) {
		if err = t.openNext(); err == nil {
			if err = t.file.choose(t.chosen, t.times); err == nil {
				b, err = t.file.read()
			}
		}
	}
	if err != nil {
		return nil, err
	}
	own := b.Columns
	t.batch = *b
	t.batch.Columns = nil
	for _, name := range t.wanted {
		if at := slices.Index(t.paths.Names(), name); at >= 0 {
			t.batch.Columns = append(t.batch.Columns, Column{cells: t.found[at : at+1]}) // step 0: the same in every row
			continue
		}
		t.batch.Columns, own = append(t.batch.Columns, own[0]), own[1:]
	}
	return &t.batch, nil
}
