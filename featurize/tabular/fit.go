package tabular

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"pipe/internal/parallel"
)

// Fit fits an encoder to the training rows of a frame that was loaded with the
// same schema. train has row numbers of the frame. An unknown label in these
// rows is an error, and so is a single label for all of them.
func Fit(f *Frame, s *Schema, train []int) (*Encoder, error) {
	if err := checkClasses(f, s, train); err != nil {
		return nil, fmt.Errorf("fit encoder: %w", err)
	}
	e := encoderFile{
		Format: encoderFormat, ID: columnName(s.ID), Label: columnName(s.Label), Rows: len(train),
		MaxLevels: s.MaxLevels, MinCount: s.MinCount,
	}
	for _, l := range s.Labels {
		e.Labels = append(e.Labels, plainLevel(l))
	}
	for _, g := range s.Groups {
		e.Groups = append(e.Groups, encoderGroup{Name: g.Name, About: g.About})
	}
	declared := map[string]schemaColumn{}
	columns, _ := s.columns()
	for _, c := range columns {
		declared[c.name] = c
	}
	e.Columns = make([]fittedColumn, len(f.Columns))
	gaps := make([]string, len(f.Columns))
	parallel.Do(len(f.Columns), func(i int) {
		c := &f.Columns[i]
		e.Columns[i] = fitColumn(c, declared[c.Name], s, train)
		gaps[i] = c.gaps(train)
	})
	e.Missing = markers(e.Columns, gaps)
	if err := e.check(); err != nil {
		return nil, fmt.Errorf("fit encoder: %w", err)
	}
	return newEncoder(e)
}

func checkClasses(f *Frame, s *Schema, train []int) error {
	if len(train) == 0 {
		return &DataError{File: f.File, Msg: "there are no training rows"}
	}
	counts := make([]int, len(s.Labels))
	for _, row := range train {
		if f.Labels[row] < 0 {
			return &DataError{File: f.File, Column: columnName(s.Label), Msg: "is missing; an encoder is fitted on labelled rows"}
		}
		counts[f.Labels[row]]++
	}
	for i, n := range counts {
		if n == len(train) {
			return &DataError{
				File: f.File, Column: columnName(s.Label),
				Msg: fmt.Sprintf("all %d training rows have label %q; nothing can be learned from one class", n, s.Labels[i]),
			}
		}
	}
	return nil
}

func fitColumn(c *FrameColumn, declared schemaColumn, s *Schema, train []int) fittedColumn {
	out := fittedColumn{Name: c.Name, Group: c.Group, Kind: kindNumber, Log: declared.log}
	switch {
	case c.Categorical:
		out.Kind = kindCategory
		out.fitLevels(c, s, train)
	case declared.time:
		out.Kind = kindTime
		out.Empty = !slices.ContainsFunc(train, func(row int) bool { return !math.IsNaN(float64(c.Numbers[row])) })
	default:
		out.fitNumbers(c.Numbers, train)
	}
	return out
}

// fitLevels counts the levels of the training rows and assigns the codes.
func (c *fittedColumn) fitLevels(from *FrameColumn, s *Schema, train []int) {
	counts := make([]int, len(from.Levels))
	for _, row := range train {
		if code := from.Codes[row]; code >= 0 {
			counts[code]++
		}
	}
	var seen []int
	for code, n := range counts {
		if n > 0 {
			seen = append(seen, code)
		}
	}
	slices.SortFunc(seen, func(a, b int) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(from.Levels[a], from.Levels[b]))
	})
	for i, code := range seen {
		if i < s.MaxLevels && counts[code] >= s.MinCount {
			c.Levels = append(c.Levels, from.Levels[code])
		} else {
			c.Rare = append(c.Rare, from.Levels[code])
		}
	}
	slices.Sort(c.Rare)
	c.Empty = len(seen) == 0
}

// fitNumbers finds median, mean and standard deviation.
func (c *fittedColumn) fitNumbers(numbers []float32, train []int) {
	present := make([]float32, 0, len(train))
	for _, row := range train {
		if v := numbers[row]; v == v {
			present = append(present, v)
		}
	}
	if len(present) == 0 {
		c.Empty = true
		return
	}
	c.Median = lowerMedian(present)
	n, gaps := float64(len(train)), float64(len(train)-len(present))
	fill := c.scaled(c.Median)
	// The values are centred on the fill, so that a column far from zero loses
	// no precision.
	var sum, squares float64
	for _, v := range present {
		sum += c.scaled(v) - fill
	}
	shift := sum / n
	for _, v := range present {
		d := c.scaled(v) - fill - shift
		squares += d * d
	}
	squares += gaps * shift * shift
	c.Mean = fill + shift
	if std := math.Sqrt(squares / n); std > 1e-12*math.Abs(c.Mean) {
		c.Std = std
	}
}

// lowerMedian returns element (n-1)/2 of the sorted values; none may be NaN. It
// does not sort, but counts the upper and then the lower halves of keys with
// the same order as the numbers.
func lowerMedian(values []float32) float32 {
	rank := (len(values) - 1) / 2
	counts := make([]int32, 1<<16)
	for _, v := range values {
		counts[orderedKey(v)>>16]++
	}
	high, rank := nthBucket(counts, rank)
	clear(counts)
	for _, v := range values {
		if k := orderedKey(v); k>>16 == high {
			counts[k&0xffff]++
		}
	}
	low, _ := nthBucket(counts, rank)
	key := high<<16 | low
	if key>>31 == 1 {
		return math.Float32frombits(key &^ (1 << 31))
	}
	return math.Float32frombits(^key)
}

// orderedKey maps numbers to integers in the same order.
func orderedKey(v float32) uint32 {
	if v == 0 {
		v = 0 // -0 and 0 are equal
	}
	bits := math.Float32bits(v)
	if bits>>31 == 1 {
		return ^bits
	}
	return bits | 1<<31
}

// nthBucket returns the bucket of the element with the given rank, and its rank
// within the bucket.
func nthBucket(counts []int32, rank int) (bucket uint32, within int) {
	for b, n := range counts {
		if rank < int(n) {
			return uint32(b), rank
		}
		rank -= int(n)
	}
	panic(errors.New("featurize: rank beyond the number of values"))
}

// gaps returns the training rows without a value as a bit set. It is "" if no
// row lacks a value, or all do.
func (c *FrameColumn) gaps(train []int) string {
	bits := make([]byte, (len(train)+7)/8)
	missing := 0
	for i, row := range train {
		if c.missing(row) {
			bits[i/8] |= 1 << (i % 8)
			missing++
		}
	}
	if missing == 0 || missing == len(train) {
		return ""
	}
	return string(bits)
}

func (c *FrameColumn) missing(row int) bool {
	if c.Categorical {
		return c.Codes[row] < 0
	}
	return c.Numbers[row] != c.Numbers[row]
}

// markers makes one indicator for all columns of a group that are missing in
// the same rows.
func markers(columns []fittedColumn, gaps []string) []missingMarker {
	var out []missingMarker
	at := map[string]int{}
	for i, c := range columns {
		if i > 0 && columns[i-1].Group != c.Group {
			clear(at)
		}
		if gaps[i] == "" {
			continue
		}
		m, known := at[gaps[i]]
		if !known {
			m = len(out)
			at[gaps[i]] = m
			out = append(out, missingMarker{Group: c.Group})
		}
		out[m].Columns = append(out[m].Columns, i)
	}
	return out
}
