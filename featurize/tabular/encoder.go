package tabular

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"pipe/internal/atomicfile"
	"pipe/internal/digest"
	"pipe/internal/storage"
	"pipe/internal/textfile"
)

// Codes of a category in the values layout. Levels with their own codes follow,
// by descending number of training rows; ties are ordered by name.
const (
	CodeUnseen = 0 // not in any training row
	CodeRare   = 1 // in training rows, but without its own code (too few rows or too many levels)
	codeFirst  = 2
)

// ClipDeviations is the largest absolute value of standardised numbers in the
// dense layout.
const ClipDeviations = 10

// Encoder turns rows of a table into numbers. The first step gives values, one
// float32 per column in the order of the groups: the number, the hour of the
// week, or the code of the category; NaN if missing. The second step converts
// values to one of the layouts. An encoder is fitted on training rows,
// immutable and safe for concurrent use.
type Encoder struct {
	fitted  encoderFile
	index   []encoderColumn // parallel to fitted.Columns
	dense   layoutIndex
	tree    layoutIndex
	text    []byte // the JSON form
	digest  string
	binding atomic.Pointer[binding]
}

// encoderFile is the JSON form of an encoder.
type encoderFile struct {
	Format    int             `json:"format"`
	ID        string          `json:"id"`
	Label     string          `json:"label"`
	Labels    []string        `json:"labels"`
	Rows      int             `json:"rows"` // training rows it was fitted on
	MaxLevels int             `json:"max_levels"`
	MinCount  int             `json:"min_count"`
	Groups    []encoderGroup  `json:"groups"`
	Columns   []fittedColumn  `json:"columns"`    // group after group
	Missing   []missingMarker `json:"indicators"` // group after group
}

type encoderGroup struct {
	Name  string `json:"name"`
	About string `json:"about,omitempty"`
}

// Kinds of a column of an encoder.
const (
	kindNumber   = "number"
	kindTime     = "time"
	kindCategory = "category"
)

// fittedColumn holds what was fitted on the training rows for a column.
type fittedColumn struct {
	Name  string `json:"name"`
	Group int    `json:"group"`
	Kind  string `json:"kind"`
	Empty bool   `json:"empty,omitempty"` // no training row had a value

	// Numbers: the lower median, in the unit of the file, replaces a missing
	// value. Mean and population standard deviation are those of the training
	// rows after this replacement, and after the logarithm if Log is set.
	Log    bool    `json:"log,omitempty"`
	Median float32 `json:"median,omitempty"`
	Mean   float64 `json:"mean,omitempty"`
	Std    float64 `json:"std,omitempty"` // 0: the column is constant

	// Categories: the levels with their own codes, in the order of the codes,
	// and the pooled levels, sorted.
	Levels []string `json:"levels,omitempty"`
	Rare   []string `json:"rare,omitempty"`
}

// missingMarker is an indicator of the dense layout. It is 1 if any of its
// columns is missing. Its columns were missing in exactly the same training
// rows.
type missingMarker struct {
	Group   int   `json:"group"`
	Columns []int `json:"columns"` // index into the encoder's columns
}

// Column describes one column of the values layout.
type Column struct {
	Name        string `json:"name"`
	Group       int    `json:"group"` // index into Groups
	Categorical bool   `json:"categorical,omitempty"`
	Time        bool   `json:"time,omitempty"`  // the value is the hour of the week, 0..167
	Empty       bool   `json:"empty,omitempty"` // no value in the training rows
}

// Columns returns the columns of the values layout. It omits columns that the
// training table did not have.
func (e *Encoder) Columns() []Column {
	out := make([]Column, len(e.fitted.Columns))
	for i, c := range e.fitted.Columns {
		out[i] = Column{
			Name: c.Name, Group: c.Group, Categorical: c.Kind == kindCategory, Time: c.Kind == kindTime, Empty: c.Empty,
		}
	}
	return out
}

// Groups returns the names of the groups in the order of disclosure.
func (e *Encoder) Groups() []string {
	out := make([]string, len(e.fitted.Groups))
	for i, g := range e.fitted.Groups {
		out[i] = g.Name
	}
	return out
}

// Group returns the index of a group in Groups; the error lists the known names.
func (e *Encoder) Group(name string) (int, error) {
	groups := e.Groups()
	g := slices.Index(groups, name)
	if g < 0 {
		return 0, fmt.Errorf("unknown group %q; known are %s", name, strings.Join(groups, ", "))
	}
	return g, nil
}

// Labels returns the values of the label; the first one is the negative label.
func (e *Encoder) Labels() []string { return append([]string(nil), e.fitted.Labels...) }

// IDColumn returns the column that identifies a row in the raw files.
func (e *Encoder) IDColumn() string { return e.fitted.ID }

// Rows returns the number of training rows that the encoder was fitted on.
func (e *Encoder) Rows() int { return e.fitted.Rows }

// Levels returns the levels of a category that have their own codes, from code
// 2 on; nil for other columns. column is an index into Columns.
func (e *Encoder) Levels(column int) []string {
	return append([]string(nil), e.fitted.Columns[column].Levels...)
}

// Digest identifies everything that affects the output of the encoder:
// "sha256:" and the hash of its JSON form.
func (e *Encoder) Digest() string { return e.digest }

// JSON returns the form that ReadEncoder and ParseEncoder read.
func (e *Encoder) JSON() []byte { return append([]byte(nil), e.text...) }

// WriteFile writes the JSON form. The file is written atomically and synced to
// disk.
func (e *Encoder) WriteFile(ctx context.Context, path storage.Location) error {
	if err := atomicfile.WriteFileAt(ctx, path, e.text); err != nil {
		return fmt.Errorf("write encoder %q: %w", path, err)
	}
	return nil
}

// ReadEncoder reads the JSON form from a file. Bad content gives a
// *DataError.
func ReadEncoder(ctx context.Context, path storage.Location) (*Encoder, error) {
	text, err := textfile.ReadFileAt(ctx, path, textfile.MaxWhole)
	if err != nil {
		return nil, fmt.Errorf("read encoder: %w", textError(err))
	}
	e, err := ParseEncoder(text)
	if err != nil {
		return nil, fmt.Errorf("read encoder: %w", &DataError{File: path.String(), Err: err})
	}
	return e, nil
}

// newEncoder completes an encoder whose fitted values are all known.
func newEncoder(fitted encoderFile) (*Encoder, error) {
	text, err := json.MarshalIndent(fitted, "", " ")
	if err != nil {
		return nil, err
	}
	text = append(text, '\n')
	e := &Encoder{fitted: fitted, text: text, digest: digest.Of(text)}
	e.lookUp()
	e.layOut()
	return e, nil
}
