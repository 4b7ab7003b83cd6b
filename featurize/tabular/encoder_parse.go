package tabular

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"pipe/internal/strictjson"
)

const encoderFormat = 1

// ParseEncoder reads the JSON form of an encoder. The digest of the result is
// that of the canonical form and does not depend on white space in the text.
func ParseEncoder(text []byte) (*Encoder, error) {
	var f encoderFile
	if err := strictjson.UnmarshalAll(text, &f); err != nil {
		return nil, fmt.Errorf("is not an encoder: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if f.Format != encoderFormat {
		return nil, fmt.Errorf("is an encoder of format %d; this program reads format %d", f.Format, encoderFormat)
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	return newEncoder(f)
}

// check returns the first inconsistency.
func (f *encoderFile) check() error {
	if len(f.Labels) < 2 || len(f.Groups) == 0 || len(f.Columns) == 0 || f.Rows < 1 {
		return fmt.Errorf("has %d labels, %d groups, %d columns and %d training rows", len(f.Labels), len(f.Groups), len(f.Columns), f.Rows)
	}
	seen := map[string]bool{columnID: true, columnSplit: true, columnLabel: true}
	group := 0
	for _, c := range f.Columns {
		switch {
		case c.Name == "" || seen[c.Name]:
			return fmt.Errorf("column %q is a duplicate, or has no name", c.Name)
		case c.Group < group || c.Group >= len(f.Groups):
			return fmt.Errorf("column %s: group %d is out of order", c.Name, c.Group)
		}
		seen[c.Name], group = true, c.Group
		if err := c.check(); err != nil {
			return fmt.Errorf("column %s: %w", c.Name, err)
		}
	}
	return f.checkMissing()
}

func (c *fittedColumn) check() error {
	switch c.Kind {
	case kindCategory:
		return c.checkLevels()
	case kindNumber, kindTime:
	default:
		return fmt.Errorf("kind %q is unknown; known are %s, %s and %s", c.Kind, kindNumber, kindTime, kindCategory)
	}
	finite := func(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
	if !finite(float64(c.Median)) || !finite(c.Mean) || !finite(c.Std) || c.Std < 0 {
		return fmt.Errorf("median %v, mean %v and standard deviation %v; all must be finite, and the last at least 0", c.Median, c.Mean, c.Std)
	}
	if len(c.Levels)+len(c.Rare) > 0 {
		return errors.New("a numeric column must not have levels")
	}
	return nil
}

func (c *fittedColumn) checkLevels() error {
	if len(c.Levels) > maxLevels {
		return fmt.Errorf("%d levels; at most %d are possible", len(c.Levels), maxLevels)
	}
	seen := make(map[string]bool, len(c.Levels)+len(c.Rare))
	for _, l := range slices.Concat(c.Levels, c.Rare) {
		if l == "" || seen[l] {
			return fmt.Errorf("level %q is empty or a duplicate", l)
		}
		seen[l] = true
	}
	return nil
}

func (f *encoderFile) checkMissing() error {
	group := 0
	for i, m := range f.Missing {
		if m.Group < group || len(m.Columns) == 0 {
			return fmt.Errorf("indicator %d is empty or out of order", i)
		}
		group = m.Group
		for _, c := range m.Columns {
			if c < 0 || c >= len(f.Columns) || f.Columns[c].Group != m.Group {
				return fmt.Errorf("indicator %d: column %d is not in group %d", i, c, m.Group)
			}
		}
	}
	return nil
}
