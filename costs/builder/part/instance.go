package part

import (
	"context"
	"fmt"
	"math"
	"strings"

	"pipe/costs"
	"pipe/featurize/pixel"
	"pipe/featurize/tabular"
	"pipe/internal/textfile"
)

// Entry is what is known of an instance without loading it.
type Entry struct {
	ID    string // unique
	Label string // "" if the source has no labels
	Split string // train, val or test; "" if the source does not say
	Group string // what it belongs to with others: a user, a session, a page; "" in all entries if the source has no groups
}

// Source lists the instances of a build and loads them. It is safe for
// concurrent use once it is made.
type Source interface {
	// Entries returns all instances in the order of the output. The caller
	// does not change the slice.
	Entries() []Entry
	// Load returns the instances of the given rows, in that order. Errors name
	// the file.
	Load(ctx context.Context, rows []int) ([]Instance, error)
	// Columns returns the columns of a table, nil for other sources.
	Columns() *Columns
}

// ClassLister is a Source that knows all labels there are, whether or not an
// instance has them.
type ClassLister interface {
	Source
	Classes() []string             // nil: it does not know; the caller does not change the slice
	LabelNames() map[string]string // what people call them, by label
}

// BatchLimiter is a Source whose instances may be too large for a whole batch of them.
type BatchLimiter interface {
	Source
	// Fit returns how many of the rows, of which there is one at least, may be
	// loaded together: from the first on, and at least that one. It depends on
	// the instances alone.
	Fit(rows []int) int
}

// TwinFinder is a Source that can tell which instances are the same to whoever
// learns from them.
type TwinFinder interface {
	Source
	// Twins returns one number per instance, equal for instances with equal
	// content.
	Twins(ctx context.Context) ([]int, error)
}

// SkipLister is a Source that leaves out what cannot be used.
type SkipLister interface {
	Source
	Skipped() []BadImage // by id
}

// EncodedSource is a Source whose instances carry the values that a fitted encoder
// describes. Setup offers it to the other parts.
type EncodedSource interface {
	Source
	Encoder() *tabular.Encoder
}

// Instance is one loaded example. What it holds is shared and read only.
type Instance struct {
	Entry
	Image  *pixel.Image // nil unless the source has images
	Values []float32    // one per raw column of an encoded table (NaN: missing), nil unless it is one
	Text   string       // "" unless the source has texts
	Gold   []string     // ids of the pages that are known to settle the text, as the corpus spells them; nil where the source does not tell
	Line   int          // line or row of the file, for errors
	Row    int          // index in the source's Entries

	Sizes *Sizes // of the image, shared by all who look at the instance; nil: nobody shares
}

// NeedText is the error of an instance without a text, which a language model
// cannot do anything with.
func (in *Instance) NeedText() error {
	if in.Text == "" {
		return &costs.DataError{Msg: fmt.Sprintf("instance %q has no text", in.ID)}
	}
	return nil
}

// NeedImage is the error of an instance without an image.
func (in *Instance) NeedImage() error {
	if in.Image == nil {
		return &costs.DataError{Msg: fmt.Sprintf("instance %q has no image", in.ID)}
	}
	return nil
}

// Columns names the cells of the instances of one table. A column is read once a
// part of the configuration has asked for it by Find.
type Columns struct {
	File  string
	Names []string
	Use   func(columns []int) error             // is called with what Find was asked for; nil: nothing has to be noted
	Cell  func(in *Instance, column int) string // the text of a cell; "" is a missing value
	index map[string]int
}

// NewColumns returns the columns of a file, whose names are unique.
func NewColumns(file string, names []string) *Columns {
	c := &Columns{File: file, Names: names, index: make(map[string]int, len(names))}
	for i, n := range names {
		c.index[n] = i
	}
	return c
}

// Find returns the positions of the named columns, whose cells instances will have
// that are loaded from then on. The error names the file and the first column that
// is not there, or is of a type that is not read.
func (c *Columns) Find(names ...string) ([]int, error) {
	if c == nil {
		return nil, fmt.Errorf("columns %s are wanted, but the instances are not a table", strings.Join(names, ", "))
	}
	at, err := c.At(names...)
	if err == nil && c.Use != nil {
		err = c.Use(at)
	}
	if err != nil {
		return nil, err
	}
	return at, nil
}

// Existing returns the names if the table has all of these columns; "" always exists.
func (c *Columns) Existing(names ...string) ([]string, error) {
	for _, name := range names {
		if _, err := c.At(name); name != "" && err != nil {
			return nil, err
		}
	}
	return names, nil
}

// At is Find for a caller that does not read cells of instances.
func (c *Columns) At(names ...string) ([]int, error) {
	at := make([]int, len(names))
	for i, n := range names {
		j, ok := c.index[n]
		if n == "" {
			return nil, &costs.DataError{File: c.File, Msg: "a column without a name is wanted; give it a name in the file"}
		}
		if !ok {
			return nil, &costs.DataError{File: c.File, Column: n, Msg: fmt.Sprintf("is missing; the columns are %s", textfile.Listed(c.Names, NamesShown))}
		}
		at[i] = j
	}
	return at, nil
}

// Number parses one cell of an instance. A missing value is NaN; text, an
// infinity or a written NaN is an error with row and column.
func (c *Columns) Number(in *Instance, column int) (float32, error) {
	cell := c.Cell(in, column)
	if cell == "" {
		return float32(math.NaN()), nil
	}
	v, err := textfile.ParseFloat32(cell)
	if err != nil {
		return 0, &costs.DataError{File: c.File, Row: in.Line, Column: c.Names[column], Msg: fmt.Sprintf("%q is not a finite number", textfile.Short(cell))}
	}
	return v, nil
}

// NamesShown is how many names an error lists at most.
const NamesShown = 12

// NumberOr is Number with a value for an empty cell: missing, or an error with row and column if missing is nil.
func (c *Columns) NumberOr(in *Instance, column int, missing *float32) (float32, error) {
	v, err := c.Number(in, column)
	if err == nil && v != v {
		if missing == nil {
			return 0, &costs.DataError{File: c.File, Row: in.Line, Column: c.Names[column], Msg: "is empty; set missing to say what stands for it"}
		}
		v = *missing
	}
	return v, err
}
