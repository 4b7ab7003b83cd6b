package costs

import (
	"fmt"

	"pipe/internal/dataerror"
)

// ReadIDs reads the ids of a tensor, in the order of its rows, and no other
// column. Empty and duplicate ids are a *DataError, as in Read.
func ReadIDs(path string) ([]string, error) {
	ids, err := readIDs(path)
	if err != nil {
		return nil, fmt.Errorf("read costs: %w", err)
	}
	return ids, nil
}

func readIDs(path string) ([]string, error) {
	s, err := openSource(path, ReadOptions{FeaturesOnly: true})
	if err != nil {
		return nil, err
	}
	defer s.close()
	t := &Tensor{IDs: make([]string, s.rows)}
	for _, p := range s.parts {
		err := dataerror.Guard(p.path, func() error {
			if p.cols.id == nil {
				return &DataError{Column: colID, Msg: "is missing; the file has " + columnNames(p.file.Root)}
			}
			return s.partIDs(p, t)
		})
		if err != nil {
			return nil, err
		}
	}
	return t.IDs, s.locate(t.checkIDs())
}

// partIDs reads the ids of a part into their place in t.
func (s *source) partIDs(p *part, t *Tensor) error {
	row := 0
	for g := range p.file.Groups() {
		chunk := groupRead{source: s, part: p, group: g, first: row, rows: p.file.GroupRows(g)}
		column := chunk.text(p.cols.id, 1, func(t *Tensor) []string { return t.IDs })
		if err := column.read(t.window(p.base+row, chunk.rows)); err != nil {
			return err
		}
		if err := column.cursor.finish(); err != nil {
			return err
		}
		row += chunk.rows
	}
	return nil
}
