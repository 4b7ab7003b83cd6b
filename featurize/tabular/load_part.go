package tabular

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"slices"

	"pipe/internal/storage"
	"pipe/internal/textfile"
)

// Part is a range of the rows of the primary file, one of several that make up the whole: a shard of the table.
type Part struct {
	From, To      textfile.Place
	Number, Count int // the number of the part, from 0, and how many there are
}

// FindRows finds the first of every `every` rows of the primary file, and the end of its rows. It reads the file once. If there are
// no rows, the error is a *DataError.
func FindRows(ctx context.Context, path storage.Location, every int64, watch func(io.Reader) io.Reader) (*textfile.Places, error) {
	f, err := openCSV(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("load table: %w", err)
	}
	defer f.close()
	places, err := textfile.FindPlaces(watch(io.NewSectionReader(f.file, 0, f.size)), every, true, true)
	if err != nil {
		return nil, fmt.Errorf("load table: read %q: %w", path, err)
	}
	if places.End.Row == 0 {
		return nil, fmt.Errorf("load table: %w", f.wrong(0, "", "has a header but no rows"))
	}
	return places, nil
}

// LoadPart is Load of a part of the rows. Of the second file, which is read to its end, only the rows that belong to
// those are kept, so memory is that of the part. Ids are unique in the part; whether they are in the whole file is what
// IDs are for. The report is about the part, except for Joined; MergeReports makes one of all.
//
// Every row of the second file is checked by one of the parts: which one follows from its id.
func LoadPart(ctx context.Context, s *Schema, files Files, p Part, progress func(rows int)) (*Frame, LoadReport, error) {
	if err := s.Validate(); err != nil {
		return nil, LoadReport{}, fmt.Errorf("load table: %w", err)
	}
	l := loader{schema: s, piece: pieceBytes, held: textfile.NewMemoryBudget(textfile.MaxHeld), progress: progress, part: &p}
	l.columns, _ = s.columns()
	err := l.open(ctx, files)
	defer l.close()
	if err == nil {
		l.primary.body, l.primary.size, l.primary.lines = p.From.Offset, p.To.Offset, int(p.From.Line)
		err = l.load(ctx)
	}
	if err != nil {
		return nil, LoadReport{}, fmt.Errorf("load table: %w", err)
	}
	if n := int64(l.frame.Len()); n != p.To.Row-p.From.Row {
		err := l.primary.wrong(int(p.From.Line), "", "has %d rows from here on where %d are expected: the file has changed", n, p.To.Row-p.From.Row)
		return nil, LoadReport{}, fmt.Errorf("load table: %w", err)
	}
	return l.frame, l.report, nil
}

// MergeReports is the report about all parts of a table, in their order.
func MergeReports(files Files, parts []LoadReport) LoadReport {
	all := parts[0]
	all.Warnings, all.Labels = nil, nil
	for i, p := range parts {
		if i > 0 {
			all.Rows += p.Rows
			all.Matched += p.Matched
			all.Empty = slices.DeleteFunc(slices.Clone(all.Empty), func(name string) bool { return !slices.Contains(p.Empty, name) })
		}
		for label, n := range p.Labels {
			if all.Labels == nil {
				all.Labels = map[string]int{}
			}
			all.Labels[label] += n
		}
	}
	if len(all.Empty) == 0 {
		all.Empty = nil
	}
	all.Unmatched = all.Joined - all.Matched
	all.warn(files)
	return all
}

// joinPart streams the second file and keeps the rows that belong to the part.
func (l *loader) joinPart(ctx context.Context, into *csvRows, at map[string]int32) error {
	j := partJoin{loader: l, into: into, at: at, owned: map[string]int32{}}
	j.row.csvRows = &csvRows{file: l.joined, roles: l.roles(l.joined)}
	j.row.allocate(1, l.columns)
	j.row.startLevels()
	j.id = slices.IndexFunc(j.row.roles, func(r role) bool { return r.kind == roleID })
	for _, r := range j.row.roles {
		if r.kind == roleTime || r.kind == roleNumber || r.kind == roleLevel {
			j.columns = append(j.columns, r.column)
			into.columns[r.column] = emptyColumn(&j.row.columns[r.column], len(into.ids))
		}
	}
	if err := j.run(ctx); err != nil {
		return err
	}
	for i, r := range j.row.roles {
		if r.kind == roleLevel {
			into.columns[r.column].Levels = j.row.names[i]
		}
	}
	return nil
}

// emptyColumn is a column like another one, without a value in n rows.
func emptyColumn(like *FrameColumn, n int) FrameColumn {
	c := FrameColumn{Name: like.Name, Group: like.Group, Categorical: like.Categorical}
	if c.Categorical {
		c.Codes = slices.Repeat([]int32{-1}, n)
	} else {
		c.Numbers = slices.Repeat([]float32{float32(math.NaN())}, n)
	}
	return c
}

// partJoin is one call of joinPart.
type partJoin struct {
	*loader
	into    *csvRows
	at      map[string]int32 // row of the part by id
	owned   map[string]int32 // line by id, of the rows that this part checks
	row     pieceRows        // one row of the second file
	id      int              // its column of ids
	columns []int            // of the schema
}

func (j *partJoin) run(ctx context.Context) error {
	f := j.joined
	r := csv.NewReader(textfile.Bounded(f.path.String(), f.lines, io.NewSectionReader(f.file, f.body, f.size-f.body), ','))
	r.ReuseRecord, r.FieldsPerRecord = true, len(f.header)
	tick := ticker(ctx, nil)
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			if j.report.Joined == 0 {
				return f.wrong(0, "", "has a header but no rows")
			}
			return nil
		}
		if err != nil {
			return f.misread(err, record, f.lines)
		}
		line, _ := r.FieldPos(0)
		if err := j.take(record, f.lines+line); err != nil {
			return err
		}
		if j.report.Joined++; j.report.Joined%(1<<10) == 0 {
			if err := tick(1 << 10); err != nil {
				return err
			}
		}
	}
}

// take reads a row of the second file if it belongs to the part, or if it is this part that checks it.
func (j *partJoin) take(record []string, line int) error {
	to, matched := j.at[record[j.id]]
	mine := ownerOf(record[j.id], j.part.Count) == j.part.Number
	if !matched && !mine {
		return nil
	}
	if err := j.row.row(record, line); err != nil {
		return err
	}
	if mine {
		id := j.row.ids[0]
		if first, twice := j.owned[id]; twice {
			return j.joined.wrong(line, columnName(j.schema.ID), "%q is a duplicate of line %d", id, first)
		}
		j.owned[id] = int32(line)
	}
	if !matched {
		return nil
	}
	j.report.Matched++
	for _, c := range j.columns {
		if from, dst := &j.row.columns[c], &j.into.columns[c]; dst.Categorical {
			dst.Codes[to] = from.Codes[0]
		} else {
			dst.Numbers[to] = from.Numbers[0]
		}
	}
	return nil
}

// ownerOf is the part that checks the row of an id.
func ownerOf(id string, parts int) int {
	h := fnv.New64a()
	_, _ = io.WriteString(h, id) // writing to a hash never fails
	return int(h.Sum64() % uint64(parts))
}
