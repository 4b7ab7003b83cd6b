package tabular

import "math"

// Files names the CSV files of a table. Joined, which may be "", adds
// columns to the rows of Primary that have the same id.
type Files struct {
	Primary string
	Joined  string
}

// Frame is a table in memory, column by column. It is not changed once it has
// been given to an encoder.
type Frame struct {
	File    string    // the primary file
	IDs     []string  // unique
	Labels  []int8    // index into the schema's Labels; -1 in all rows of a file without the label
	Time    []float64 // seconds as the file has them, NaN where missing; nil without a time column
	Groups  []string  // not empty; nil if the schema has no group
	Lines   []int32   // line in the primary file, counted from 1
	Columns []FrameColumn
	Absent  []string // columns of the schema that no file has; they are not in Columns
}

// FrameColumn is one column, of n rows: Numbers, or Codes into Levels.
type FrameColumn struct {
	Name        string
	Group       int
	Categorical bool
	Numbers     []float32 // NaN where missing; hour of the week (0..167) in the time column
	Codes       []int32   // index into Levels, -1 where missing
	Levels      []string  // in the order of their first row
}

// Len returns the number of rows.
func (f *Frame) Len() int { return len(f.IDs) }

// LoadReport is what Load found.
type LoadReport struct {
	Rows      int            `json:"rows"`
	Labels    map[string]int `json:"labels,omitempty"` // rows by label; nil if the file has no label column
	Joined    int            `json:"joined"`           // rows of the second file
	Matched   int            `json:"matched"`          // of those, rows that belong to a row of the first
	Unmatched int            `json:"unmatched"`        // and rows that do not
	Absent    []string       `json:"absent,omitempty"` // columns of the schema that no file has
	Ignored   []string       `json:"ignored,omitempty"`
	Empty     []string       `json:"empty,omitempty"`    // columns without one value
	Warnings  []string       `json:"warnings,omitempty"` // what is likely a mistake and no error
}

var nan32 = float32(math.NaN())
