package part

import (
	"context"
	"fmt"
	"math"
	"strings"

	"pipe/costs"
	"pipe/featurize/pixel"
	"pipe/featurize/tabular"
	"pipe/internal/storage"
	"pipe/internal/textfile"
)

// Entry is the data of an instance that are known without loading it.
type Entry struct {
	ID    string // unique
	Label string // "" if the source has no labels
	Split string // train, val or test; "" if the source does not say
	Group string // group of related instances: a user, a session, a page; "" in all entries if the source has no groups
}

// Source lists the instances of a build and loads them. After construction it
// is safe for concurrent use.
type Source interface {
	// Entries returns all instances in the order of the output. The caller
	// does not change the slice.
	Entries() []Entry
	// Load returns the instances of the given rows, in that order, with their
	// Row and their Entry: the build stops at others. Errors name the file.
	Load(ctx context.Context, rows []int) ([]Instance, error)
	// Columns returns the columns of a table, nil for other sources.
	Columns() *Columns
}

// ClassLister is a Source that knows all possible labels, including those of no
// instance.
type ClassLister interface {
	Source
	Classes() []string             // nil: not known; the caller must not modify the slice
	LabelNames() map[string]string // readable names, by label
}

// ReferenceSource is a Source of open questions: its instances have reference answers instead of labels.
type ReferenceSource interface {
	Source
	// References returns the column of the references, "" if there is none.
	References() string
}

// BatchLimiter is a Source whose instances may be too large to load a whole batch at once.
type BatchLimiter interface {
	Source
	// Fit returns how many of the rows, of which there is one at least, may be
	// loaded together: from the first on, and at least that one. It depends on
	// the instances alone.
	Fit(rows []int) int
}

// TwinFinder is a Source that can identify instances with equal content.
type TwinFinder interface {
	Source
	// Twins returns one number per instance, equal for instances with equal
	// content.
	Twins(ctx context.Context) ([]int, error)
}

// SkipLister is a Source that skips unusable images.
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

// Instance is one loaded example. Its data are shared and must not be modified.
type Instance struct {
	Entry
	Image  *pixel.Image // nil unless the source has images
	Values []float32    // one per raw column of an encoded table (NaN: missing), nil unless it is one
	Text   string       // "" unless the source has texts
	Gold   []string     // ids of the pages that settle the text, as the corpus spells them; nil if not known
	Line   int          // line or row of the file, for errors
	Row    int          // index in the source's Entries

	References []string // accepted answers to an open question; nil unless the source has them

	Sizes *Sizes // of the image, shared by all parts that use the instance; nil: not shared
}

// NeedText is an error if an instance has no text, which language models need.
func (in *Instance) NeedText() error {
	if in.Text == "" {
		return &costs.DataError{Msg: fmt.Sprintf("instance %q has no text", in.ID)}
	}
	return nil
}

// needImage is an error if an instance has no image.
func (in *Instance) needImage() error {
	if in.Image == nil {
		return &costs.DataError{Msg: fmt.Sprintf("instance %q has no image", in.ID)}
	}
	return nil
}

// Columns gives access to the cells of the instances of one table. A column is
// read only if a part of the configuration has requested it with Find.
type Columns struct {
	File  storage.Location
	Names []string
	Use   func(columns []int) error             // called with the columns requested from Find; may be nil
	Cell  func(in *Instance, column int) string // the text of a cell; "" is a missing value
	index map[string]int
}

// NewColumns returns the columns of a file, whose names are unique.
func NewColumns(file storage.Location, names []string) *Columns {
	c := &Columns{File: file, Names: names, index: make(map[string]int, len(names))}
	for i, n := range names {
		c.index[n] = i
	}
	return c
}

// Find returns the positions of the named columns. Instances loaded later have
// their cells. The error names the file and the first column that is missing or
// of an unsupported type.
func (c *Columns) Find(names ...string) ([]int, error) {
	if c == nil {
		return nil, fmt.Errorf("columns %s are requested, but the instances are not a table", strings.Join(names, ", "))
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
			return nil, &costs.DataError{File: c.File.String(), Msg: "a column without a name is requested; give it a name in the file"}
		}
		if !ok {
			return nil, &costs.DataError{File: c.File.String(), Column: n, Msg: fmt.Sprintf("is missing; the columns are %s", textfile.Listed(c.Names, NamesShown))}
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
		return 0, &costs.DataError{File: c.File.String(), Row: in.Line, Column: c.Names[column], Msg: fmt.Sprintf("%q is not a finite number", textfile.Short(cell))}
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
			return 0, &costs.DataError{File: c.File.String(), Row: in.Line, Column: c.Names[column], Msg: "is empty; set missing to the value to use instead"}
		}
		v = *missing
	}
	return v, err
}
