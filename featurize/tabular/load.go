package tabular

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"pipe/internal/parallel"
	"pipe/internal/textfile"
)

// Load reads the CSV files of a table, converts their columns according to the
// schema and joins the files by id. An empty cell is a missing value. A row of
// the joined file without a row in the primary file is counted and dropped. A
// column that is in no group is dropped and reported, unless the schema is
// strict. A column that no file has is only reported, if another column of its
// group exists.
//
// The files are parsed on all cores; the result does not depend on their
// number. progress, which may be nil, is called with the number of rows read so
// far; calls do not overlap. Bad content gives one *DataError, for the first
// problem of the file, with file, line and column.
func Load(ctx context.Context, s *Schema, files Files, progress func(rows int)) (*Frame, LoadReport, error) {
	if err := s.Validate(); err != nil {
		return nil, LoadReport{}, fmt.Errorf("load table: %w", err)
	}
	return loadFrame(ctx, s, files, pieceBytes, textfile.NewMemoryBudget(textfile.MaxHeld), progress)
}

// pieceBytes is the approximate size of the pieces that are parsed.
const pieceBytes = 4 << 20

func loadFrame(ctx context.Context, s *Schema, files Files, bytesPerPiece int64, held *textfile.MemoryBudget, progress func(rows int)) (*Frame, LoadReport, error) {
	l := loader{schema: s, piece: bytesPerPiece, held: held, progress: progress}
	l.columns, _ = s.columns()
	err := l.open(ctx, files)
	defer l.close()
	if err == nil {
		err = l.load(ctx)
	}
	if err != nil {
		return nil, LoadReport{}, fmt.Errorf("load table: %w", err)
	}
	return l.frame, l.report, nil
}

// loader is one call of Load.
type loader struct {
	schema   *Schema
	columns  []schemaColumn
	piece    int64 // bytes of a piece
	held     *textfile.MemoryBudget
	progress func(rows int)
	primary  *csvFile
	joined   *csvFile // nil if there is none
	part     *Part    // nil: all rows of the primary file
	frame    *Frame
	report   LoadReport
}

func (l *loader) open(ctx context.Context, files Files) (err error) {
	if l.primary, err = openCSV(ctx, files.Primary); err != nil || files.Joined.IsZero() {
		return err
	}
	l.joined, err = openCSV(ctx, files.Joined)
	return err
}

func (l *loader) close() {
	for _, f := range []*csvFile{l.primary, l.joined} {
		if f != nil {
			f.close()
		}
	}
}

func (l *loader) load(ctx context.Context) error {
	if err := l.checkHeaders(); err != nil {
		return err
	}
	rows, err := l.read(ctx, l.primary, 0)
	if err != nil {
		return err
	}
	at, err := rows.byID(columnName(l.schema.ID))
	if err != nil {
		return err
	}
	l.frame = &Frame{
		File: l.primary.path.String(), IDs: rows.ids, Groups: rows.groups, Labels: rows.label, Time: rows.time, Lines: rows.lines, Absent: l.report.Absent,
	}
	l.countLabels()
	if l.joined != nil {
		join := l.join
		if l.part != nil {
			join = l.joinPart
		}
		if err := join(ctx, rows, at); err != nil {
			return err
		}
	}
	for _, c := range rows.columns {
		if c.Name != "" {
			l.frame.Columns = append(l.frame.Columns, c)
		}
	}
	l.report.Rows = l.frame.Len()
	l.report.Empty = l.frame.empty()
	return nil
}

// read parses one file; rows is the number of rows read before.
func (l *loader) read(ctx context.Context, f *csvFile, rows int) (*csvRows, error) {
	progress := l.progress
	if progress != nil {
		progress = func(n int) { l.progress(rows + n) }
	}
	all, err := readRows(ctx, f, l.schema, l.columns, l.roles(f), l.piece, l.held, progress)
	if err == nil && len(all.ids) == 0 && l.part == nil {
		err = f.wrong(0, "", "has a header but no rows")
	}
	return all, err
}

// byID maps each id to its row.
func (r *csvRows) byID(column string) (map[string]int32, error) {
	at := make(map[string]int32, len(r.ids))
	for n, id := range r.ids {
		if first, twice := at[id]; twice {
			return nil, r.file.wrong(int(r.lines[n]), column, "%q is a duplicate of line %d", id, r.lines[first])
		}
		at[id] = int32(n)
	}
	return at, nil
}

// countLabels counts the labels; without the label column all are unknown.
func (l *loader) countLabels() {
	f := l.frame
	if f.Labels == nil {
		f.Labels = slices.Repeat([]int8{-1}, f.Len())
		return
	}
	l.report.Labels = map[string]int{}
	for i, name := range l.schema.Labels {
		n := 0
		for _, label := range f.Labels {
			if int(label) == i {
				n++
			}
		}
		l.report.Labels[name] = n
	}
}

// join reads the second file and appends its columns to those of the first.
func (l *loader) join(ctx context.Context, into *csvRows, at map[string]int32) error {
	rows, err := l.read(ctx, l.joined, len(into.ids))
	if err != nil {
		return err
	}
	if _, err := rows.byID(columnName(l.schema.ID)); err != nil {
		return err
	}
	source := slices.Repeat([]int32{-1}, len(into.ids)) // row of the second file by row of the first
	for n, id := range rows.ids {
		if row, known := at[id]; known {
			source[row] = int32(n)
			l.report.Matched++
		}
	}
	l.report.Joined = len(rows.ids)
	l.report.Unmatched = l.report.Joined - l.report.Matched
	l.report.warn(Files{l.primary.path, l.joined.path})
	parallel.Do(len(rows.columns), func(i int) {
		if c := rows.columns[i]; c.Name != "" {
			c.Numbers = gather(c.Numbers, source, nan32)
			c.Codes = gather(c.Codes, source, -1)
			into.columns[i] = c
		}
	})
	return nil
}

// warn adds the likely mistakes of a join.
func (r *LoadReport) warn(files Files) {
	if !files.Joined.IsZero() && r.Matched == 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("no id of %q is in %q", files.Joined, files.Primary))
	}
}

// gather returns from[source[i]] for every i, or gap where source[i] is -1.
func gather[T any](from []T, source []int32, gap T) []T {
	if from == nil {
		return nil
	}
	out := make([]T, len(source))
	for i, n := range source {
		if n < 0 {
			out[i] = gap
		} else {
			out[i] = from[n]
		}
	}
	return out
}

// empty lists the columns without any value.
func (f *Frame) empty() (names []string) {
	for i := range f.Columns {
		c := &f.Columns[i]
		gap := true
		for n := 0; n < f.Len() && gap; n++ {
			gap = c.missing(n)
		}
		if gap {
			names = append(names, c.Name)
		}
	}
	return names
}

// some joins the first few names for an error.
func some(names []string) string {
	const most = 8
	var short []string
	for _, name := range names[:min(most, len(names))] {
		short = append(short, shortText(name, 60))
	}
	list := strings.Join(short, ", ")
	if len(names) > most {
		list += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return list
}
