package tabular

import (
	"math"

	"pipe/internal/storage"
)

// Files names the CSV files of a table. Joined adds columns to the rows of
// Primary with the same id; "": no second file.
type Files struct {
	Primary storage.Location
	Joined  storage.Location
}

// Frame is a table in memory, column by column. It must not be changed after it
// was given to an encoder.
type Frame struct {
	File    string    // the primary file
	IDs     []string  // unique
	Labels  []int8    // index into the schema's Labels; -1 in all rows if the file has no label column
	Time    []float64 // seconds as in the file, NaN if missing; nil without a time column
	Groups  []string  // not empty; nil if the schema has no group
	Lines   []int32   // line in the primary file, counted from 1
	Columns []FrameColumn
	Absent  []string // columns of the schema that no file has; they are not in Columns
}

// FrameColumn is one column. It has Numbers, or Codes into Levels, for each
// row.
type FrameColumn struct {
	Name        string
	Group       int
	Categorical bool
	Numbers     []float32 // NaN if missing; hour of the week (0..167) in the time column
	Codes       []int32   // index into Levels, -1 if missing
	Levels      []string  // in order of first occurrence
}

// Len returns the number of rows.
func (f *Frame) Len() int { return len(f.IDs) }

// LoadReport describes the result of Load.
type LoadReport struct {
	Rows      int            `json:"rows"`
	Labels    map[string]int `json:"labels,omitempty"` // rows by label; nil if the file has no label column
	Joined    int            `json:"joined"`           // rows of the second file
	Matched   int            `json:"matched"`          // of those, rows with an id of the first file
	Unmatched int            `json:"unmatched"`        // and rows without
	Absent    []string       `json:"absent,omitempty"` // columns of the schema that no file has
	Ignored   []string       `json:"ignored,omitempty"`
	Empty     []string       `json:"empty,omitempty"`    // columns without any value
	Warnings  []string       `json:"warnings,omitempty"` // likely mistakes that are not errors
}

var nan32 = float32(math.NaN())
