package tablefile

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"pipe/internal/textfile"
)

// Cell is one value of a foreign table. Numbers of text tables are kept as
// they are written.
type Cell struct {
	kind cellKind
	text string
	num  float64
	list []float32
}

type cellKind uint8

const (
	missingCell cellKind = iota // null, or an empty field
	textCell
	numberCell
	listCell
)

// Missing reports whether there is no value: null, or an empty field.
func (c *Cell) Missing() bool { return c.kind == missingCell }

// String returns the cell as an identifier or a name; an integer has no point.
func (c *Cell) String() string {
	if c.kind == numberCell {
		if c.num == math.Trunc(c.num) && math.Abs(c.num) < 1<<53 {
			return strconv.FormatInt(int64(c.num), 10)
		}
		return strconv.FormatFloat(c.num, 'g', -1, 64)
	}
	return c.text
}

// Float returns a finite number.
func (c *Cell) Float() (float64, error) {
	v := c.num
	switch c.kind {
	case numberCell:
	case textCell:
		var err error
		v, err = textfile.ParseNumber(strings.TrimSpace(c.text))
		if errors.Is(err, textfile.ErrTooLarge) {
			v = math.Inf(1)
		} else if err != nil {
			return 0, fmt.Errorf("%s is not a number", textfile.Quoted(c.text))
		}
	case listCell:
		return 0, errors.New("is a list, expected a number")
	default:
		return 0, errors.New("is missing")
	}
	if math.IsNaN(v) || math.Abs(v) > math.MaxFloat32 {
		return 0, fmt.Errorf("is %v; numbers must be finite in float32", v)
	}
	return v, nil
}

// Flag returns a number in [0, 1]; booleans become 0 or 1.
func (c *Cell) Flag() (float64, error) {
	if c.kind == textCell {
		switch strings.ToLower(strings.TrimSpace(c.text)) {
		case "true":
			return 1, nil
		case "false":
			return 0, nil
		}
	}
	v, err := c.Float()
	if err == nil && !(v >= 0 && v <= 1) {
		err = fmt.Errorf("is %v, expected true, false or a number from 0 to 1", v)
	}
	return v, err
}

// FlagOrFloat returns Float, or 0 or 1 for a boolean.
func (c *Cell) FlagOrFloat() (float64, error) {
	if c.kind == textCell && (c.text == "true" || c.text == "false") {
		return c.Flag()
	}
	return c.Float()
}

// Floats returns a list of finite numbers, which a text table may write as
// [1, 2.5].
func (c *Cell) Floats() ([]float32, error) {
	switch c.kind {
	case listCell:
		if i := slices.IndexFunc(c.list, func(v float32) bool { return v-v != 0 }); i >= 0 {
			return nil, fmt.Errorf("element %d is %v", i, c.list[i])
		}
		return c.list, nil
	case textCell:
		return parseList(c.text)
	}
	return nil, errors.New("is not a list of numbers")
}

func parseList(text string) ([]float32, error) {
	inner, ok := strings.CutPrefix(strings.TrimSpace(text), "[")
	if ok {
		inner, ok = strings.CutSuffix(inner, "]")
	}
	if !ok {
		return nil, fmt.Errorf("%s is not a list of numbers", textfile.Quoted(text))
	}
	var list []float32
	for field := range strings.SplitSeq(inner, ",") {
		v, err := (&Cell{kind: textCell, text: field}).Float()
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", len(list), err)
		}
		list = append(list, float32(v))
	}
	return list, nil
}

// Length is the number of characters of a string.
func (c *Cell) Length() (float64, error) {
	if c.kind != textCell && c.kind != missingCell {
		return 0, errors.New("is not a string")
	}
	return float64(utf8.RuneCountInString(c.text)), nil
}

// written returns the cell as text; a list as a JSON array.
func (c *Cell) written() string {
	if c.kind != listCell {
		return c.String()
	}
	var b strings.Builder
	for i, v := range c.list {
		sep := ","
		if i == 0 {
			sep = "["
		}
		b.WriteString(sep)
		b.WriteString(strconv.FormatFloat(float64(v), 'g', -1, 32))
	}
	if len(c.list) == 0 {
		b.WriteString("[")
	}
	b.WriteString("]")
	return b.String()
}
