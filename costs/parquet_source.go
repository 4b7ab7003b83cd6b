package costs

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
)

// ReadOptions says how a cost tensor is read.
type ReadOptions struct {
	// Actions is a file with the JSON form of the actions. It takes the place
	// of those in the tensor's metadata. If it is empty and the metadata have
	// none, actions.json beside the tensor is read.
	Actions string
	// FeaturesOnly reads id (if there is one) and features and nothing else:
	// what a policy needs to decide. No actions are needed then; those found are
	// still parsed.
	FeaturesOnly bool
	// BatchRows is the number of rows that Reader.Next returns at most; 0 leaves
	// the choice to the reader. Read ignores it.
	BatchRows int
}

// part is one open Parquet file.
type part struct {
	path string
	file *os.File
	pf   *parquet.File
	cols leaves
	rows int
	base int // rows of the parts before this one
}

// source is a tensor on disk: the parts, opened and checked against each other.
type source struct {
	parts   []*part
	actions *Actions // nil only in a features-only source without any
	meta    map[string]string
	dim     int
	rows    int
}

func (s *source) close() {
	for _, p := range s.parts {
		p.file.Close()
	}
}

// at returns where row n of the tensor is.
func (s *source) at(n int) (file string, row int) {
	for _, p := range s.parts {
		if n < p.base+p.rows {
			return p.path, n - p.base + 1
		}
	}
	return "", n + 1
}

func openSource(path string, o ReadOptions) (s *source, err error) {
	files, folder, err := partFiles(path)
	if err != nil {
		return nil, err
	}
	s = &source{}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	for _, file := range files {
		p, err := openPart(file, o.FeaturesOnly)
		if err != nil {
			return s, err
		}
		p.base = s.rows
		s.rows += p.rows
		s.parts = append(s.parts, p)
	}
	if err := s.findActions(o, folder); err != nil {
		return s, err
	}
	return s, s.findDim()
}

// partFiles lists the files of a tensor, sorted by name, and the folder that
// they are in. Names that start with a dot or an underscore are not parts.
func partFiles(path string) (files []string, folder string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, "", err
	}
	if !info.IsDir() {
		return []string{path}, filepath.Dir(path), nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, "", err
	}
	for _, e := range entries {
		name := e.Name()
		if strings.HasSuffix(name, ".parquet") && name[0] != '.' && name[0] != '_' && !e.IsDir() {
			files = append(files, filepath.Join(path, name))
		}
	}
	if len(files) == 0 {
		return nil, "", &DataError{File: path, Msg: "the folder has no .parquet file"}
	}
	return files, path, nil
}

// openPart opens one file and finds its columns. Errors about its content are
// *DataError.
func openPart(path string, featuresOnly bool) (p *part, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() {
		if r := recover(); r != nil {
			err = damagedFile(path, r)
		}
		if err != nil {
			file.Close()
		}
	}()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() == 0 {
		return nil, &DataError{File: path, Msg: "is empty"}
	}
	if err := checkFooter(file, info.Size()); err != nil {
		return nil, inFile(path, err)
	}
	pf, err := parquet.OpenFile(file, info.Size(),
		parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true), parquet.ReadBufferSize(1<<18))
	if err != nil {
		return nil, &DataError{File: path, Msg: "is no Parquet file, or a truncated one", Err: err}
	}
	p = &part{path: path, file: file, pf: pf}
	if p.cols, err = findLeaves(pf.Root(), featuresOnly); err != nil {
		return nil, inFile(path, err)
	}
	return p, p.countRows(info.Size())
}

// countRows adds up the row groups, none of which may claim more than a file
// of that size can hold: memory is set aside by these numbers.
func (p *part) countRows(size int64) error {
	for _, g := range p.pf.RowGroups() {
		rows := g.NumRows()
		if rows < 0 || rows > 1<<40 {
			return damagedFile(p.path, fmt.Errorf("a row group of %d rows", rows))
		}
		p.rows += int(rows)
	}
	switch {
	case p.rows == 0:
		return &DataError{File: p.path, Msg: "has no rows"}
	case int64(p.rows) > 1<<20+64*size:
		return damagedFile(p.path, fmt.Errorf("%d rows in %d bytes", p.rows, size))
	}
	return nil
}

// damagedFile reports a file that could be opened and then made no sense; why
// may be a recovered panic.
func damagedFile(path string, why any) error {
	return &DataError{File: path, Msg: fmt.Sprintf("cannot be read, the file is damaged: %v", why)}
}

// inFile puts the name of the file into a *DataError.
func inFile(path string, err error) error {
	var data *DataError
	if errors.As(err, &data) && data.File == "" {
		named := *data
		named.File = path
		return &named
	}
	return err
}

// findActions takes the actions from the option, else from the metadata of the
// parts, which must agree, else from actions.json in the folder.
func (s *source) findActions(o ReadOptions, folder string) error {
	var written *Actions
	for i, p := range s.parts {
		text, ok := p.pf.Lookup(ActionsKey)
		if !ok {
			continue
		}
		a, err := ParseActions([]byte(text))
		if err != nil {
			return &DataError{File: p.path, Column: ActionsKey, Err: err}
		}
		if i > 0 && (written == nil || string(written.JSON()) != string(a.JSON())) {
			return &DataError{File: p.path, Column: ActionsKey, Msg: "differs from that of " + filepath.Base(s.parts[0].path)}
		}
		written = a
	}
	s.meta = fileMeta(s.parts[0].pf)
	s.actions = written
	file := o.Actions
	if file == "" && written == nil {
		file = filepath.Join(folder, ActionsFile)
	}
	if file == "" {
		return nil
	}
	b, err := os.ReadFile(file)
	switch {
	case err == nil:
	case o.Actions == "" && errors.Is(err, fs.ErrNotExist):
		if o.FeaturesOnly {
			return nil
		}
		return &DataError{File: s.parts[0].path, Msg: fmt.Sprintf("metadata have no %q and there is no %s", ActionsKey, file)}
	default:
		return err
	}
	if s.actions, err = ParseActions(b); err != nil {
		return &DataError{File: file, Err: err}
	}
	return nil
}

// fileMeta returns the key-value metadata without what we or Arrow put there
// for ourselves.
func fileMeta(pf *parquet.File) map[string]string {
	meta := make(map[string]string)
	for _, kv := range pf.Metadata().KeyValueMetadata {
		meta[kv.Key] = kv.Value
	}
	maps.DeleteFunc(meta, func(key, _ string) bool {
		return slices.Contains([]string{ActionsKey, "ARROW:schema", "pandas"}, key)
	})
	if len(meta) == 0 {
		return nil
	}
	return meta
}

// findDim takes the dimension of the features from the actions, else from the
// first row, and checks that what the parts claim fits their size.
func (s *source) findDim() error {
	first := s.parts[0]
	if s.actions != nil && s.actions.Features.Dim > 0 {
		s.dim = s.actions.Features.Dim
	} else if err := guarded(first.path, func() (err error) {
		s.dim, err = firstLength(first)
		return err
	}); err != nil {
		return err
	}
	for _, p := range s.parts {
		info, err := p.file.Stat()
		if err != nil {
			return err
		}
		width := int64(s.dim)
		if s.actions != nil {
			width += int64(s.actions.Len())
		}
		if bytes := 4 * width; bytes > 1<<40 || int64(p.rows)*bytes > 1<<28+1024*info.Size() {
			return damagedFile(p.path, fmt.Errorf("%d rows of %d values in %d bytes", p.rows, width, info.Size()))
		}
	}
	return nil
}

// firstLength returns the number of features in the first row of a part.
func firstLength(p *part) (int, error) {
	for _, g := range p.pf.RowGroups() {
		if g.NumRows() == 0 {
			continue
		}
		pages := g.ColumnChunks()[p.cols.features.index].Pages()
		defer pages.Close()
		length := 0
		for {
			page, err := pages.ReadPage()
			if err != nil {
				break // the end, or a damage that reading the column reports
			}
			rep, def := page.RepetitionLevels(), page.DefinitionLevels()
			for i := range rep {
				if length > 0 && rep[i] == 0 {
					parquet.Release(page)
					return length, nil
				}
				if len(def) > i && def[i] < p.cols.features.listDef {
					parquet.Release(page)
					return 0, &DataError{Row: 1, Column: colFeatures, Msg: "list is null or empty"}
				}
				length++
			}
			parquet.Release(page)
		}
		if length > 0 {
			return length, nil
		}
		return 0, &DataError{Column: colFeatures, Msg: "cannot be read, the file is damaged"}
	}
	return 0, &DataError{Msg: "has no rows"}
}

// guarded runs f on the content of a file. A panic of the Parquet library, as
// happens on damaged files, becomes an error about that file.
func guarded(path string, f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = damagedFile(path, r)
		}
	}()
	return inFile(path, f())
}
