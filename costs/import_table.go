package costs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"pipe/internal/dataerror"
	"pipe/internal/textfile"
)

// table reads a foreign table row by row. Text tables count their rows by the
// line that a row starts on.
type table interface {
	// names are the columns, in order. In JSONL they are those of the first row.
	names() []string
	// choose fixes the columns that next returns.
	choose(columns []string) error
	// next fills one cell per chosen column and returns io.EOF after the last
	// row. Cells are valid until the next call.
	next(cells []cell) (row int, err error)
	// path is the file that the last row came from.
	path() string
	close()
}

// cell is one value of a foreign table. Numbers of text tables are kept as
// they are written.
type cell struct {
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

// missing reports whether there is no value: null, or an empty field.
func (c *cell) missing() bool { return c.kind == missingCell }

// str returns the cell as an identifier or a name; an integer has no point.
func (c *cell) str() string {
	if c.kind == numberCell {
		if c.num == math.Trunc(c.num) && math.Abs(c.num) < 1<<53 {
			return strconv.FormatInt(int64(c.num), 10)
		}
		return strconv.FormatFloat(c.num, 'g', -1, 64)
	}
	return c.text
}

// float returns a finite number.
func (c *cell) float() (float64, error) {
	v := c.num
	switch c.kind {
	case numberCell:
	case textCell:
		var err error
		v, err = textfile.ParseNumber(strings.TrimSpace(c.text))
		if errors.Is(err, textfile.ErrTooLarge) {
			v = math.Inf(1)
		} else if err != nil {
			return 0, fmt.Errorf("%s is no number", quoted(c.text))
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

// flag returns a number in [0, 1] or a truth value as one.
func (c *cell) flag() (float64, error) {
	if c.kind == textCell {
		switch strings.ToLower(strings.TrimSpace(c.text)) {
		case "true":
			return 1, nil
		case "false":
			return 0, nil
		}
	}
	v, err := c.float()
	if err == nil && !(v >= 0 && v <= 1) {
		err = fmt.Errorf("is %v, expected true, false or a number from 0 to 1", v)
	}
	return v, err
}

// flagOrFloat is float, and 0 or 1 for a truth value.
func (c *cell) flagOrFloat() (float64, error) {
	if c.kind == textCell && (c.text == "true" || c.text == "false") {
		return c.flag()
	}
	return c.float()
}

// floats returns a list of finite numbers, which a text table may write as
// [1, 2.5].
func (c *cell) floats() ([]float32, error) {
	switch c.kind {
	case listCell:
		if i := slices.IndexFunc(c.list, func(v float32) bool { return v-v != 0 }); i >= 0 {
			return nil, fmt.Errorf("element %d is %v", i, c.list[i])
		}
		return c.list, nil
	case textCell:
		return parseList(c.text)
	}
	return nil, errors.New("is no list of numbers")
}

func parseList(text string) ([]float32, error) {
	inner, ok := strings.CutPrefix(strings.TrimSpace(text), "[")
	if ok {
		inner, ok = strings.CutSuffix(inner, "]")
	}
	if !ok {
		return nil, fmt.Errorf("%s is no list of numbers", quoted(text))
	}
	var list []float32
	for field := range strings.SplitSeq(inner, ",") {
		v, err := (&cell{kind: textCell, text: field}).float()
		if err != nil {
			return nil, fmt.Errorf("element %d: %w", len(list), err)
		}
		list = append(list, float32(v))
	}
	return list, nil
}

// length is the number of characters of a text.
func (c *cell) length() (float64, error) {
	if c.kind != textCell && c.kind != missingCell {
		return 0, errors.New("is no text")
	}
	return float64(utf8.RuneCountInString(c.text)), nil
}

// written returns the cell as text; a list as a JSON array.
func (c *cell) written() string {
	if c.kind != listCell {
		return c.str()
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

// openTable opens a file by its ending, or a folder of Parquet parts.
func openTable(path string) (table, error) {
	name, zipped := strings.CutSuffix(strings.ToLower(filepath.Base(path)), ".gz")
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() || strings.HasSuffix(name, ".parquet") && !zipped {
		return openParquetTable(path)
	}
	var open func(string, *bufio.Reader) (table, error)
	switch filepath.Ext(name) {
	case ".csv":
		open = func(p string, r *bufio.Reader) (table, error) { return newCSVTable(p, r, ',') }
	case ".tsv":
		open = func(p string, r *bufio.Reader) (table, error) { return newCSVTable(p, r, '\t') }
	case ".jsonl", ".ndjson":
		open = func(p string, r *bufio.Reader) (table, error) { return newJSONTable(p, r) }
	default:
		return nil, &dataerror.Error{File: path, Msg: "is of an unknown kind; known are .csv, .tsv, .jsonl, .ndjson, each also .gz, and .parquet"}
	}
	if err := textfile.CheckRegular(path); err != nil {
		return nil, TextError(err)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	r, err := textfile.Decode(path, file, false)
	if err != nil {
		file.Close()
		return nil, TextError(err)
	}
	t, err := open(path, r)
	if err != nil {
		file.Close()
		return nil, err
	}
	return &fileTable{t, file}, nil
}

// fileTable closes the file under a text table.
type fileTable struct {
	table
	file io.Closer
}

func (t *fileTable) close() { t.file.Close() }

// positions finds columns by name.
func positions(path string, have, want []string) ([]int, error) {
	at := make(map[string]int, len(have))
	for i, name := range have {
		if _, ok := at[name]; ok {
			at[name] = -1
			continue
		}
		at[name] = i
	}
	found := make([]int, len(want))
	for i, name := range want {
		p, ok := at[name]
		switch {
		case !ok:
			return nil, &dataerror.Error{File: path, Column: name, Msg: "is missing; the table has " + Listed(have, 12)}
		case p < 0:
			return nil, &dataerror.Error{File: path, Column: name, Msg: "is there more than once"}
		}
		found[i] = p
	}
	return found, nil
}
