package tabular

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Summary is what an encoder is fitted to, of one part of a table: counts, exact sums, and how often each number occurs.
// An encoder that is fitted to the summaries of all parts is the one that is fitted to the whole table, bit for bit.
type Summary struct {
	rows    *trainingRows
	numbers []keyCounter // parallel to its columns; nil: a column without numbers
}

// Summarise summarises the training rows of a part. train has row numbers of the frame.
func Summarise(f *Frame, s *Schema, train []int) (*Summary, error) {
	rows, err := summarise(f, s, train)
	if err != nil {
		return nil, fmt.Errorf("fit encoder: %w", err)
	}
	sum := &Summary{rows: rows, numbers: make([]keyCounter, len(rows.Columns))}
	for i, c := range rows.Columns {
		if len(c.counts) > 0 {
			sum.numbers[i] = c.counts[0]
		}
	}
	return sum, nil
}

// FitSummaries fits an encoder to the summaries of all parts of a table, in their order. primary is the file with the
// rows, for errors. Besides what is in the encoder, it keeps the counts of one column per core in memory.
func FitSummaries(primary string, s *Schema, parts []*Summary) (*Encoder, error) {
	all := &trainingRows{Labels: make([]int64, len(s.Labels)), Columns: make([]trainingColumn, len(parts[0].rows.Columns))}
	for n, p := range parts {
		if err := all.merge(p, n == 0); err != nil {
			return nil, fmt.Errorf("fit encoder: part %d: %w", n, err)
		}
	}
	return all.fit(s, primary)
}

// merge adds a part.
func (t *trainingRows) merge(p *Summary, first bool) error {
	if len(p.rows.Labels) != len(t.Labels) || len(p.rows.Columns) != len(t.Columns) {
		return errors.New("it has other labels or columns")
	}
	t.Rows += p.rows.Rows
	for i, n := range p.rows.Labels {
		t.Labels[i] += n
	}
	for i := range t.Columns {
		to, from := &t.Columns[i], &p.rows.Columns[i]
		if first {
			*to = trainingColumn{Name: from.Name, Group: from.Group, Categorical: from.Categorical, Time: from.Time, Log: from.Log}
		}
		if to.Name != from.Name || to.Categorical != from.Categorical || to.Time != from.Time || to.Log != from.Log {
			return fmt.Errorf("it has another column %s", from.Name)
		}
		to.merge(from, p.numbers[i])
	}
	return nil
}

func (t *trainingColumn) merge(from *trainingColumn, numbers keyCounter) {
	t.Missing += from.Missing
	t.Gaps += from.Gaps
	if t.Categorical && t.Levels == nil {
		t.Levels = map[string]int64{}
	}
	for level, n := range from.Levels {
		t.Levels[level] += n
	}
	if from.Sums == nil {
		return
	}
	if t.Sums == nil {
		t.Sums = &exactMoments{}
	}
	t.Sums.merge(from.Sums)
	t.counts = append(t.counts, numbers)
}

// summaryFile is the JSON form of a summary.
type summaryFile struct {
	Format  int           `json:"format"`
	Rows    *trainingRows `json:"training"`
	Numbers []numberPlace `json:"numbers"` // in the second file, parallel to the columns
}

const summaryFormat = 1

// numberPlace is where the counts of a column's numbers are: a table of the upper halves of their keys, and behind it the
// counts of the lower halves. Both are sorted and hold differences.
type numberPlace struct {
	At    int64 `json:"at,omitempty"`
	Table int64 `json:"table,omitempty"` // bytes
	Size  int64 `json:"size,omitempty"`  // bytes, with the table; 0: no numbers
}

// Write writes a summary of Summarise as two files: a description as JSON, and the counts of all numbers, of which a
// reader needs small parts.
func (s *Summary) Write(description, counts io.Writer) error {
	out, at := bufio.NewWriterSize(counts, 1<<18), int64(0)
	file := summaryFile{Format: summaryFormat, Rows: s.rows, Numbers: make([]numberPlace, len(s.numbers))}
	for i, n := range s.numbers {
		list, ok := n.(numbers)
		if !ok || len(list) == 0 {
			continue
		}
		table, rest := encodeCounts(list)
		file.Numbers[i] = numberPlace{At: at, Table: int64(len(table)), Size: int64(len(table) + len(rest))}
		at += file.Numbers[i].Size
		out.Write(table) // the writer keeps its first error
		out.Write(rest)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return json.NewEncoder(description).Encode(file)
}

// encodeCounts counts numbers by their keys.
func encodeCounts(list numbers) (table, rest []byte) {
	keys := make([]uint32, len(list))
	for i, v := range list {
		keys[i] = orderedKey(v)
	}
	slices.Sort(keys)
	before := uint32(0)
	for len(keys) > 0 {
		upper := keys[0] >> 16
		end, start := len(keys), len(rest)
		if upper < keyHalves-1 {
			end, _ = slices.BinarySearch(keys, (upper+1)<<16)
		}
		rest = encodeLower(rest, keys[:end])
		for _, v := range []uint64{uint64(upper - before), uint64(end), uint64(len(rest) - start)} {
			table = binary.AppendUvarint(table, v)
		}
		keys, before = keys[end:], upper
	}
	return table, rest
}

// encodeLower appends the counts of the lower halves of sorted keys.
func encodeLower(dst []byte, keys []uint32) []byte {
	before := uint32(0)
	for len(keys) > 0 {
		n := 1
		for n < len(keys) && keys[n] == keys[0] {
			n++
		}
		low := keys[0] & 0xffff
		dst = binary.AppendUvarint(dst, uint64(low-before))
		dst = binary.AppendUvarint(dst, uint64(n))
		keys, before = keys[n:], low
	}
	return dst
}

// ReadSummary reads what Write wrote. The counts are read when an encoder is fitted.
func ReadSummary(description io.Reader, counts io.ReaderAt) (*Summary, error) {
	var f summaryFile
	if err := json.NewDecoder(description).Decode(&f); err != nil {
		return nil, fmt.Errorf("read summary: %w", err)
	}
	if f.Format != summaryFormat || f.Rows == nil || len(f.Numbers) != len(f.Rows.Columns) {
		return nil, errors.New("read summary: it has another format")
	}
	s := &Summary{rows: f.Rows, numbers: make([]keyCounter, len(f.Numbers))}
	for i, at := range f.Numbers {
		s.numbers[i] = storedNumbers{counts, at}
	}
	return s, nil
}

// storedNumbers are the counts of a column in a file.
type storedNumbers struct {
	file io.ReaderAt
	at   numberPlace
}

var errCounts = errors.New("the counts of numbers are damaged")

func (s storedNumbers) upper(counts []int64) error {
	return s.table(func(upper uint32, n, _, _ int64) { counts[upper] += n })
}

func (s storedNumbers) lower(counts []int64, upper uint32) error {
	at, size := int64(0), int64(0)
	err := s.table(func(u uint32, _, from, length int64) {
		if u == upper {
			at, size = from, length
		}
	})
	if err != nil || size == 0 {
		return err
	}
	b := make([]byte, size)
	if err := s.read(b, s.at.Table+at); err != nil {
		return err
	}
	return eachCount(b, 2, func(low uint32, v []uint64) { counts[low] += int64(v[1]) })
}

// table calls use for every upper half of a key, with the number of values, and where the counts of their lower halves
// are behind the table.
func (s storedNumbers) table(use func(upper uint32, n, at, size int64)) error {
	if s.at.Size == 0 {
		return nil
	}
	b, at := make([]byte, s.at.Table), int64(0)
	if err := s.read(b, 0); err != nil {
		return err
	}
	return eachCount(b, 3, func(upper uint32, v []uint64) {
		use(upper, int64(v[1]), at, int64(v[2]))
		at += int64(v[2])
	})
}

func (s storedNumbers) read(b []byte, at int64) error {
	if at+int64(len(b)) > s.at.Size {
		return errCounts
	}
	_, err := s.file.ReadAt(b, s.at.At+at)
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// eachCount decodes records of fields numbers, the first of which is the difference to that of the record before.
func eachCount(b []byte, fields int, use func(half uint32, v []uint64)) error {
	half, v := uint64(0), make([]uint64, fields)
	for len(b) > 0 {
		for i := range v {
			n := 0
			if v[i], n = binary.Uvarint(b); n <= 0 {
				return errCounts
			}
			b = b[n:]
		}
		if half += v[0]; half >= keyHalves {
			return errCounts
		}
		use(uint32(half), v)
	}
	return nil
}
