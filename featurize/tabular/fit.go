package tabular

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"pipe/internal/digest"
	"pipe/internal/parallel"
)

// Fit fits an encoder to the training rows of a frame that was loaded with the
// same schema. train has row numbers of the frame. An unknown label in these
// rows is an error, and so is a single label for all of them.
func Fit(f *Frame, s *Schema, train []int) (*Encoder, error) {
	t, err := summarise(f, s, train)
	if err != nil {
		return nil, fmt.Errorf("fit encoder: %w", err)
	}
	return t.fit(s, f.File)
}

// trainingRows are what an encoder is fitted to. Those of several parts of a
// table can be merged: nothing in them depends on the order of the rows.
type trainingRows struct {
	Rows    int
	Labels  []int64 // rows by label
	Columns []trainingColumn
}

// trainingColumn is a column of the training rows.
type trainingColumn struct {
	Name        string
	Group       int
	Categorical bool
	Time        bool
	Log         bool
	Missing     int64            // rows without a value
	Gaps        string           // which ones: equal for two columns if they are the same rows
	Levels      map[string]int64 `json:",omitempty"` // of a category: rows by level
	Sums        *exactMoments    `json:",omitempty"` // of numbers, after the logarithm if Log is set

	counts []keyCounter // of numbers: how often each occurs
}

// summarise collects what an encoder is fitted to.
func summarise(f *Frame, s *Schema, train []int) (*trainingRows, error) {
	t := &trainingRows{Rows: len(train), Labels: make([]int64, len(s.Labels)), Columns: make([]trainingColumn, len(f.Columns))}
	for _, row := range train {
		if f.Labels[row] < 0 {
			return nil, &DataError{File: f.File, Column: columnName(s.Label), Msg: "is missing; an encoder is fitted on labelled rows"}
		}
		t.Labels[f.Labels[row]]++
	}
	declared := map[string]schemaColumn{}
	columns, _ := s.columns()
	for _, c := range columns {
		declared[c.name] = c
	}
	parallel.Do(len(f.Columns), func(i int) {
		c := &f.Columns[i]
		d := declared[c.Name]
		t.Columns[i] = trainingColumn{Name: c.Name, Group: c.Group, Categorical: c.Categorical, Time: d.time, Log: d.log}
		t.Columns[i].summarise(c, train)
	})
	return t, nil
}

func (t *trainingColumn) summarise(c *FrameColumn, train []int) {
	t.Gaps, t.Missing = c.gaps(train)
	switch {
	case c.Categorical:
		t.Levels = c.levelCounts(train)
	case !t.Time:
		present := c.present(train)
		t.Sums = &exactMoments{}
		for _, v := range present {
			t.Sums.add(t.scaled(v))
		}
		t.counts = []keyCounter{numbers(present)}
	}
}

// scaled is a number as its mean is computed of.
func (t *trainingColumn) scaled(v float32) float64 {
	c := fittedColumn{Log: t.Log}
	return c.scaled(v)
}

// fit fits an encoder. file is the primary file, for errors.
func (t *trainingRows) fit(s *Schema, file string) (*Encoder, error) {
	if err := t.checkClasses(s, file); err != nil {
		return nil, fmt.Errorf("fit encoder: %w", err)
	}
	e := encoderFile{
		Format: encoderFormat, ID: columnName(s.ID), Label: columnName(s.Label), Rows: t.Rows,
		MaxLevels: s.MaxLevels, MinCount: s.MinCount,
	}
	for _, l := range s.Labels {
		e.Labels = append(e.Labels, plainLevel(l))
	}
	for _, g := range s.Groups {
		e.Groups = append(e.Groups, encoderGroup{Name: g.Name, About: g.About})
	}
	e.Columns = make([]fittedColumn, len(t.Columns))
	gaps, errs := make([]string, len(t.Columns)), make([]error, len(t.Columns))
	parallel.Do(len(t.Columns), func(i int) {
		c := &t.Columns[i]
		e.Columns[i], errs[i] = c.fit(s, t.Rows)
		if c.Missing > 0 && c.Missing < int64(t.Rows) {
			gaps[i] = c.Gaps
		}
	})
	e.Missing = markers(e.Columns, gaps)
	if err := errors.Join(append(errs, e.check())...); err != nil {
		return nil, fmt.Errorf("fit encoder: %w", err)
	}
	return newEncoder(e)
}

func (t *trainingRows) checkClasses(s *Schema, file string) error {
	if t.Rows == 0 {
		return &DataError{File: file, Msg: "there are no training rows"}
	}
	for i, n := range t.Labels {
		if n == int64(t.Rows) {
			return &DataError{
				File: file, Column: columnName(s.Label),
				Msg: fmt.Sprintf("all %d training rows have label %q; nothing can be learned from one class", n, s.Labels[i]),
			}
		}
	}
	return nil
}

func (t *trainingColumn) fit(s *Schema, rows int) (fittedColumn, error) {
	out := fittedColumn{Name: t.Name, Group: t.Group, Kind: kindNumber, Log: t.Log, Empty: t.Missing == int64(rows)}
	var err error
	switch {
	case t.Categorical:
		out.Kind = kindCategory
		out.fitLevels(t.Levels, s)
	case t.Time:
		out.Kind = kindTime
	case !out.Empty:
		err = out.fitNumbers(t)
	}
	return out, err
}

// fitLevels assigns the codes to the levels of the training rows.
func (c *fittedColumn) fitLevels(counts map[string]int64, s *Schema) {
	seen := slices.Collect(maps.Keys(counts))
	slices.SortFunc(seen, func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	for i, level := range seen {
		if i < s.MaxLevels && counts[level] >= int64(s.MinCount) {
			c.Levels = append(c.Levels, level)
		} else {
			c.Rare = append(c.Rare, level)
		}
	}
	slices.Sort(c.Rare)
}

// fitNumbers finds median, mean and standard deviation.
func (c *fittedColumn) fitNumbers(t *trainingColumn) (err error) {
	if c.Median, err = medianOf(t.counts, t.Sums.Count); err != nil {
		return err
	}
	mean, std := t.Sums.meanAndDeviation(c.scaled(c.Median), t.Missing)
	if c.Mean = mean; std > 1e-12*math.Abs(mean) {
		c.Std = std
	}
	return nil
}

// levelCounts are the training rows by level.
func (c *FrameColumn) levelCounts(train []int) map[string]int64 {
	counts := make([]int64, len(c.Levels))
	for _, row := range train {
		if code := c.Codes[row]; code >= 0 {
			counts[code]++
		}
	}
	levels := map[string]int64{}
	for code, n := range counts {
		if n > 0 {
			levels[c.Levels[code]] = n
		}
	}
	return levels
}

// present are the numbers of the training rows that have one.
func (c *FrameColumn) present(train []int) []float32 {
	present := make([]float32, 0, len(train))
	for _, row := range train {
		if v := c.Numbers[row]; v == v {
			present = append(present, v)
		}
	}
	return present
}

// gaps identifies the training rows without a value, and counts them.
func (c *FrameColumn) gaps(train []int) (which string, missing int64) {
	bits := make([]byte, (len(train)+7)/8)
	for i, row := range train {
		if c.missing(row) {
			bits[i/8] |= 1 << (i % 8)
			missing++
		}
	}
	return digest.Of(bits), missing
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
