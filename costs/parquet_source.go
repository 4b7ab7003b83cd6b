package costs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"

	"pipe/internal/column"
	"pipe/internal/dataerror"
	"pipe/internal/parquetfile"
	"pipe/internal/storage"
	"pipe/internal/textfile"
)

// ReadOptions says how a cost tensor is read.
type ReadOptions struct {
	// Actions is a file with the JSON form of the actions. It overrides those
	// in the tensor's metadata. If it is empty and the metadata have none,
	// actions.json next to the tensor is read.
	Actions storage.Location
	// FeaturesOnly reads id (if there is one) and features and nothing else:
	// what a policy needs to decide. No actions are needed then; those found are
	// still parsed.
	FeaturesOnly bool
	// Times reads time, too, if there is one, where FeaturesOnly is set.
	Times bool
	// Unknown permits unknown outcomes, which become NaN: a null or a NaN as the
	// loss of an available pair. Without it they are a *DataError. The measured
	// fee of such a pair may be unknown too.
	Unknown bool
	// BatchRows is the number of rows that Reader.Next returns at most; 0 leaves
	// the choice to the reader. Read ignores it.
	BatchRows int
}

// part is an open Parquet file.
type part struct {
	path string
	file *parquetfile.File
	cols leaves
	rows int
	base int // rows of the parts before this one
}

// source is a tensor on disk: the parts, opened and checked against each other.
type source struct {
	parts   []*part
	actions *Actions // nil only in a features-only source without actions
	meta    map[string]string
	dim     int
	rows    int
	unknown bool // outcomes may be unknown
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

func openSource(ctx context.Context, path storage.Location, o ReadOptions) (s *source, err error) {
	files, folder, err := parquetfile.Parts(ctx, path)
	if err != nil {
		return nil, err
	}
	s = &source{unknown: o.Unknown}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	for _, file := range files {
		p, err := openPart(ctx, file, o)
		if err != nil {
			return s, err
		}
		if p.rows == 0 { // other programs write such parts
			p.file.Close()
			continue
		}
		p.base = s.rows
		s.rows += p.rows
		s.parts = append(s.parts, p)
	}
	if s.rows == 0 {
		return s, &DataError{File: path.String(), Msg: "has no rows"}
	}
	if err := s.findActions(ctx, o, folder); err != nil {
		return s, err
	}
	return s, s.findDim()
}

// openPart opens one file and finds its columns. Errors about its content are
// *DataError.
func openPart(ctx context.Context, path storage.Location, o ReadOptions) (*part, error) {
	p := &part{path: path.String()}
	err := dataerror.Guard(path.String(), func() (err error) {
		if p.file, err = parquetfile.Open(ctx, path); err != nil {
			return parquetfile.InColumn("", err)
		}
		if p.cols, err = findLeaves(p.file.Root, o); err != nil {
			return err
		}
		for g := range column.Groups(p.file) {
			p.rows += g.Rows
		}
		return nil
	})
	if err != nil && p.file != nil {
		p.file.Close()
	}
	return p, err
}

// findActions takes the actions from the option, else from the metadata of the
// parts, which must agree, else from actions.json in the folder.
func (s *source) findActions(ctx context.Context, o ReadOptions, folder storage.Location) error {
	var written *Actions
	for i, p := range s.parts {
		text, ok := p.file.Lookup(ActionsKey)
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
	s.meta = fileMeta(s.parts[0].file)
	s.actions = written
	file := o.Actions
	if file.IsZero() && written == nil {
		file = folder.Join(actionsFile)
	}
	if file.IsZero() {
		return nil
	}
	b, err := textfile.ReadFileAt(ctx, file, textfile.MaxConfig)
	switch {
	case err == nil:
	case o.Actions.IsZero() && errors.Is(err, fs.ErrNotExist):
		if o.FeaturesOnly {
			return nil
		}
		return &DataError{File: s.parts[0].path, Msg: fmt.Sprintf("the metadata have no %q and there is no %s", ActionsKey, file)}
	default:
		return dataerror.FromText(err)
	}
	if s.actions, err = ParseActions(b); err != nil {
		return &DataError{File: file.String(), Err: err}
	}
	return nil
}

// fileMeta returns the key-value metadata without the keys that this package
// and Arrow use internally.
func fileMeta(file *parquetfile.File) map[string]string {
	meta := make(map[string]string)
	for _, kv := range file.Meta {
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
	} else if err := dataerror.Guard(first.path, func() (err error) {
		s.dim, err = firstLength(first)
		return err
	}); err != nil {
		return err
	}
	for _, p := range s.parts {
		width := s.dim
		if s.actions != nil {
			width += s.actions.Len() * (1 + len(p.cols.facts))
		}
		if err := p.file.CheckValues(p.rows, width); err != nil {
			return &DataError{File: p.path, Err: err}
		}
	}
	return nil
}

// firstLength returns the number of features in the first row of a part.
func firstLength(p *part) (int, error) {
	for g := range column.Groups(p.file) {
		if g.Rows == 0 {
			continue
		}
		length := 0
		for run, err := range g.Cursor(p.cols.features).Runs() {
			switch {
			case err != nil:
				return 0, err
			case run.Row > 0:
				return length, nil
			case run.State > column.Null:
				return 0, &DataError{Row: 1, Column: colFeatures, Msg: "list is null or empty"}
			}
			length += run.Len
		}
		if length > 0 {
			return length, nil
		}
		return 0, &DataError{Column: colFeatures, Msg: "the file is damaged"}
	}
	return 0, &DataError{Msg: "has no rows"}
}
