package tabular

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"pipe/internal/parallel"
	"pipe/internal/textfile"
)

// role is the use of one column of a file.
type role struct {
	kind   roleKind
	column int  // index into the schema's columns, except for id and label
	group  bool // the column of groups; it may have another role as well
}

type roleKind uint8

const (
	roleIgnored roleKind = iota
	roleID
	roleLabel
	roleTime
	roleNumber
	roleLevel
)

// csvRows are the rows of one file. Columns has one element per column of the
// schema; columns that the file lacks are empty.
type csvRows struct {
	file    *csvFile
	roles   []role
	labels  []string // allowed labels, in normal form
	ids     []string
	lines   []int32
	groups  []string  // nil without the column
	label   []int8    // nil without the column
	time    []float64 // nil without the column
	columns []FrameColumn
}

// pieceRows parses one piece of a file into the rows of that file.
type pieceRows struct {
	*csvRows
	piece
	base  int                  // first row of the piece in the file
	n     int                  // rows parsed
	dicts []map[string]int32   // by position of the column in the file: code by text
	names map[int][]string     // by position of the column in the file: levels of the piece in order of first occurrence
	tick  func(rows int) error // called regularly with the number of rows since the last call
}

// readRows parses the body of a file.
func readRows(ctx context.Context, f *csvFile, s *Schema, schema []schemaColumn, roles []role, bytesPerPiece int64, held *textfile.MemoryBudget, progress func(rows int)) (*csvRows, error) {
	cuts, err := f.cut(bytesPerPiece)
	if err != nil {
		return nil, err
	}
	rows := &csvRows{file: f, roles: roles}
	for _, l := range s.Labels {
		rows.labels = append(rows.labels, plainLevel(l))
	}
	pieces := make([]*pieceRows, len(cuts))
	capacity := 0
	tick := ticker(ctx, progress)
	for i, c := range cuts {
		pieces[i] = &pieceRows{csvRows: rows, piece: c, base: capacity, tick: tick}
		capacity += c.rows
	}
	if err := held.Add(rows.bytes(capacity, schema)); err != nil {
		return nil, &DataError{File: f.path.String(), Msg: fmt.Sprintf("has %d rows", capacity), Err: err}
	}
	rows.allocate(capacity, schema)
	parse := func(_ context.Context, i int) error { return pieces[i].parse() }
	if err := parallel.Each(context.Background(), runtime.GOMAXPROCS(0), len(pieces), parse); err != nil {
		return nil, err
	}
	rows.mergeLevels(pieces)
	rows.compact(pieces)
	return rows, nil
}

// ticker returns a function that reports progress and returns an error once the
// context is done. It may be called from any goroutine.
func ticker(ctx context.Context, progress func(rows int)) func(rows int) error {
	var lock sync.Mutex
	total := 0
	return func(rows int) error {
		lock.Lock()
		defer lock.Unlock()
		total += rows
		if progress != nil {
			progress(total)
		}
		return ctx.Err()
	}
}

// bytes is the memory of n rows: the columns of allocate, a string for each id and its entry in byID.
func (r *csvRows) bytes(n int, schema []schemaColumn) int64 {
	const id, line = 16 + 16 + 40, 4
	row := id + line
	for _, x := range r.roles {
		if x.group {
			row += 16
		}
		switch x.kind {
		case roleLabel:
			row++
		case roleTime, roleNumber, roleLevel:
			if row += 4; schema[x.column].time {
				row += 8
			}
		}
	}
	return int64(n) * int64(row)
}

func (r *csvRows) allocate(n int, schema []schemaColumn) {
	r.ids, r.lines = make([]string, n), make([]int32, n)
	r.columns = make([]FrameColumn, len(schema))
	for _, x := range r.roles {
		if x.group {
			r.groups = make([]string, n)
		}
		switch x.kind {
		case roleLabel:
			r.label = make([]int8, n)
		case roleTime, roleNumber, roleLevel:
			c := schema[x.column]
			r.columns[x.column] = FrameColumn{Name: c.name, Group: c.group, Categorical: c.categorical}
			if c.categorical {
				r.columns[x.column].Codes = make([]int32, n)
			} else {
				r.columns[x.column].Numbers = make([]float32, n)
			}
			if c.time {
				r.time = make([]float64, n)
			}
		}
	}
}

// startLevels starts with no levels.
func (p *pieceRows) startLevels() {
	p.dicts = make([]map[string]int32, len(p.roles))
	p.names = make(map[int][]string)
	for i, x := range p.roles {
		if x.kind == roleLevel {
			p.dicts[i] = make(map[string]int32)
		}
	}
}

// parse reads the rows of the piece.
func (p *pieceRows) parse() error {
	p.startLevels()
	section := io.NewSectionReader(p.file.file, p.from, p.to-p.from)
	r := csv.NewReader(textfile.Bounded(p.file.path.String(), p.before, section, ','))
	r.ReuseRecord, r.FieldsPerRecord = true, len(p.file.header)
	const between = 1 << 10
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return p.tick(p.n % between)
		}
		if err != nil {
			return p.file.misread(err, record, p.before)
		}
		line, _ := r.FieldPos(0)
		if err := p.row(record, p.before+line); err != nil {
			return err
		}
		if p.n++; p.n%between == 0 {
			if err := p.tick(between); err != nil {
				return err
			}
		}
	}
}

// row adds one record.
func (p *pieceRows) row(record []string, line int) error {
	n := p.base + p.n
	p.lines[n] = int32(line)
	for i, x := range p.roles {
		var err error
		switch text := record[i]; x.kind {
		case roleNumber:
			err = setNumber(&p.columns[x.column].Numbers[n], text)
		case roleLevel:
			p.columns[x.column].Codes[n], err = p.code(i, text)
		case roleID:
			p.ids[n], err = newID(text)
		case roleLabel:
			p.label[n], err = p.labelOf(text)
		case roleTime:
			err = p.setTime(n, x.column, text)
		}
		if err == nil && x.group {
			p.groups[n], err = newGroup(record[i])
		}
		if err != nil {
			return p.file.wrong(line, p.file.header[i], "%s", badCell(record[i], err))
		}
	}
	return nil
}

func setNumber(dst *float32, text string) (err error) {
	if text == "" {
		*dst = nan32
		return nil
	}
	*dst, err = textfile.ParseFloat32(text)
	return err
}

func (p *pieceRows) setTime(n, column int, text string) error {
	if text == "" {
		p.time[n], p.columns[column].Numbers[n] = math.NaN(), nan32
		return nil
	}
	seconds, err := textfile.ParseNumber(text)
	p.time[n], p.columns[column].Numbers[n] = seconds, hourOfWeek(seconds)
	return err
}

var (
	errEmptyID    = errors.New("is not an id")
	errEmptyGroup = errors.New("is not a group; give a row without one a unique group, such as its id")
	errNotUTF8    = errors.New("is not UTF-8")
)

// newID copies an id, since the strings of a record share the memory of the
// whole line.
func newID(text string) (string, error) {
	switch {
	case text == "":
		return "", errEmptyID
	case !utf8.ValidString(text):
		return "", errNotUTF8
	}
	return strings.Clone(text), nil
}

// newGroup copies a group, in the normal form of a category.
func newGroup(text string) (string, error) {
	group, err := newID(text)
	if errors.Is(err, errEmptyID) {
		return "", errEmptyGroup
	}
	return plainLevel(group), err
}

func (p *pieceRows) labelOf(text string) (int8, error) {
	i := slices.Index(p.labels, text)
	if i < 0 {
		i = slices.Index(p.labels, plainLevel(text))
	}
	if i < 0 {
		return 0, errors.New("is not a label; known are " + strings.Join(p.labels, ", "))
	}
	return int8(i), nil
}

// code returns the piece's code of a level; the column is given by its position
// in the file.
func (p *pieceRows) code(column int, text string) (int32, error) {
	if text == "" {
		return -1, nil
	}
	dict := p.dicts[column]
	code, known := dict[text]
	if known {
		return code, nil
	}
	if !utf8.ValidString(text) {
		return 0, errNotUTF8
	}
	text = strings.Clone(text)
	level := plainLevel(text)
	code, known = dict[level]
	if !known {
		code = int32(len(p.names[column]))
		p.names[column] = append(p.names[column], level)
		dict[level] = code
	}
	dict[text] = code
	return code, nil
}

// mergeLevels merges the levels of all pieces into one numbering, in order of
// first occurrence in the file, as if it were a single piece.
func (r *csvRows) mergeLevels(pieces []*pieceRows) {
	parallel.Do(len(r.roles), func(i int) {
		if r.roles[i].kind != roleLevel {
			return
		}
		c := &r.columns[r.roles[i].column]
		codes := make(map[string]int32)
		for _, p := range pieces {
			names := p.names[i]
			to := make([]int32, len(names))
			for k, level := range names {
				code, known := codes[level]
				if !known {
					code = int32(len(c.Levels))
					codes[level] = code
					c.Levels = append(c.Levels, level)
				}
				to[k] = code
			}
			for k, code := range c.Codes[p.base : p.base+p.n] {
				if code >= 0 {
					c.Codes[p.base+k] = to[code]
				}
			}
		}
	})
}

// compact removes the unused rows of pieces with fewer rows than lines.
func (r *csvRows) compact(pieces []*pieceRows) {
	r.ids, r.lines = closeGaps(r.ids, pieces), closeGaps(r.lines, pieces)
	r.groups = closeGaps(r.groups, pieces)
	r.label, r.time = closeGaps(r.label, pieces), closeGaps(r.time, pieces)
	parallel.Do(len(r.columns), func(i int) {
		r.columns[i].Numbers = closeGaps(r.columns[i].Numbers, pieces)
		r.columns[i].Codes = closeGaps(r.columns[i].Codes, pieces)
	})
}

func closeGaps[T any](s []T, pieces []*pieceRows) []T {
	if s == nil {
		return nil
	}
	n := 0
	for _, p := range pieces {
		if n != p.base {
			copy(s[n:], s[p.base:p.base+p.n])
		}
		n += p.n
	}
	return s[:n:n]
}
