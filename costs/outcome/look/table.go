package look

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"

	"pipe/internal/dataerror"
	"pipe/internal/storage"
	"pipe/internal/tablefile"
)

// The limits of a look. They bound its memory.
const (
	mostCells  = 20_000_000 // rows times columns
	mostValues = 500        // different values of a column that are listed
)

// Kind is what all values of a column are.
type Kind string

// The kinds. An Unread column has values that no import reads.
const (
	Empty   Kind = "empty"
	Flag    Kind = "0 or 1"
	Integer Kind = "integers"
	Number  Kind = "numbers"
	Time    Kind = "times"
	List    Kind = "lists of numbers"
	Text    Kind = "texts"
	Unread  Kind = "unreadable"
)

// Table is what was seen of a table.
type Table struct {
	File    storage.Location
	Rows    int  // that were looked at
	More    bool // there are more
	Columns []*Column
}

// Column is what was seen of a column.
type Column struct {
	Name     string
	Kind     Kind
	Missing  int      // cells without a value
	Distinct int      // different values
	Values   []string // these, in the order of the file; nil if they are more than mostValues, or lists
	Min, Max float64  // of numbers
	Length   float64  // of texts: mean number of characters
	Why      string   // it is Unread

	codes   []uint32  // of every row: the number of its value, from 1; 0 where it is missing
	numbers []float64 // by these numbers less 1; nil unless all values are numbers
	hashes  []uint64  // by these numbers less 1: the same in all tables
	odd     string    // of texts that are numbers in more than half of the rows: the first one that is none
	dated   bool      // all texts begin with a date
}

// numeric reports whether all values are numbers or booleans.
func (c *Column) numeric() bool { return c.Kind == Flag || c.Kind == Integer || c.Kind == Number }

// at is the value of a row of a column of numbers, NaN where it is missing.
func (c *Column) at(row int) float64 {
	if c.codes[row] == 0 {
		return math.NaN()
	}
	return c.numbers[c.codes[row]-1]
}

// unit reports whether all values are from 0 to 1.
func (c *Column) unit() bool { return c.numeric() && c.Min >= 0 && c.Max <= 1 }

// complete reports whether every row has a value.
func (c *Column) complete() bool { return c.Missing == 0 && c.Kind != Empty && c.Kind != Unread }

// Read looks at a table: a file or a folder, in a form that imports read.
func Read(ctx context.Context, at storage.Location) (*Table, error) {
	unread := map[string]string{}
	for {
		in, err := tablefile.Layout{Path: at, All: true}.Open(ctx)
		if err != nil {
			return nil, err
		}
		names := slices.DeleteFunc(slices.Clone(in.Names()), func(name string) bool { return unread[name] != "" })
		err = in.Choose(names, names...)
		bad := unreadable(err, names) // of a type that no column may have
		var t *Table
		if err == nil {
			t, err = scan(in, names)
			if bad = unreadable(err, names); bad != nil && bad.Msg != "" {
				bad = nil // about a row, not about its column
			}
		}
		in.Close()
		if bad != nil && ctx.Err() == nil {
			why := cmp.Or(bad.Msg, fmt.Sprint(bad.Err))
			if bad.Row > 0 {
				why = "cannot be read: " + why
			}
			unread[bad.Column] = why // the others are looked at
			continue
		}
		if err != nil {
			return nil, err
		}
		t.File = at
		t.addUnread(in.Names(), unread)
		return t, nil
	}
}

// unreadable is an error about one of some columns, nil if it is about something else.
func unreadable(err error, names []string) *dataerror.Error {
	if bad, ok := errors.AsType[*dataerror.Error](err); ok && slices.Contains(names, bad.Column) {
		return bad
	}
	return nil
}

// addUnread puts the unread columns into their places.
func (t *Table) addUnread(names []string, unread map[string]string) {
	for i, name := range names {
		if why := unread[name]; why != "" && !slices.ContainsFunc(t.Columns, func(c *Column) bool { return c.Name == name }) {
			t.Columns = slices.Insert(t.Columns, min(i, len(t.Columns)), &Column{Name: name, Kind: Unread, Why: why})
		}
	}
}

func scan(in *tablefile.Table, names []string) (*Table, error) {
	t, counters := &Table{}, make([]*counter, len(names))
	for i, name := range names {
		t.Columns = append(t.Columns, &Column{Name: name, Min: math.Inf(1), Max: math.Inf(-1)})
		counters[i] = &counter{Column: t.Columns[i], known: map[uint64]uint32{}, width: -1, flag: true, integer: true, number: true, time: true, list: true}
	}
	cells := make([]tablefile.Cell, len(names))
	for {
		_, err := in.Next(cells)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		if t.Rows*len(names) >= mostCells {
			t.More = true
			break
		}
		t.Rows++
		for i := range cells {
			counters[i].add(&cells[i])
		}
	}
	for _, c := range counters {
		c.finish()
	}
	return t, nil
}

// seed is the same for all tables, so that their ids can be compared.
var seed = maphash.MakeSeed()

// date is the beginning of a text with a date. Without a year of four digits, only slashes tell it from a version.
var date = regexp.MustCompile(`^(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|\d{1,2}/\d{1,2}/\d{2})([T ]|$)`)

// counter looks at the cells of a column.
type counter struct {
	*Column
	known                             map[uint64]uint32 // the numbers of values, by their hash
	width                             int               // of all lists; -1 before the first
	ragged                            bool              // not all lists are of one length
	flag, integer, number, time, list bool              // all values may be such
	characters                        float64
	numerals, dates                   int // cells that are numbers, and dates
}

func (c *counter) add(cell *tablefile.Cell) {
	if cell.Missing() {
		c.Missing++
		c.codes = append(c.codes, 0)
		return
	}
	var hash maphash.Hash
	hash.SetSeed(seed)
	if c.list {
		c.list = c.lists(cell, &hash)
	}
	text, value := cell.String(), 0.0
	hash.WriteString(text)
	c.characters += float64(len([]rune(text)))
	if c.number {
		v, err := cell.FlagOrFloat()
		if c.number = err == nil; err != nil {
			c.numerals = len(c.codes) - c.Missing
		}
		c.integer = c.integer && err == nil && v == math.Trunc(v)
		c.Min, c.Max, value = min(c.Min, v), max(c.Max, v), v
		c.time = c.time && err != nil
	}
	if !c.number && len(text) <= 40 {
		_, err := cell.FlagOrFloat()
		switch {
		case err == nil:
			c.numerals++
		case c.odd == "":
			c.odd = strings.Clone(text)
		}
		if date.MatchString(text) {
			c.dates++
		}
	}
	if c.flag {
		v, err := cell.Flag() // also True and FALSE, which are outcomes but no features
		c.flag = err == nil && (v == 0 || v == 1)
	}
	if c.time {
		_, err := cell.Time("")
		c.time = err == nil
	}
	c.code(hash.Sum64(), text, value)
}

// lists reports whether a cell is a list of numbers, and adds it to the hash.
func (c *counter) lists(cell *tablefile.Cell, hash *maphash.Hash) bool {
	list, err := cell.Floats()
	c.ragged = c.ragged || c.width >= 0 && c.width != len(list)
	c.width = len(list)
	for _, v := range list {
		maphash.WriteComparable(hash, v)
	}
	return err == nil
}

func (c *counter) code(hash uint64, text string, value float64) {
	code, known := c.known[hash]
	if !known {
		code = uint32(len(c.known) + 1)
		c.known[hash] = code
		c.hashes = append(c.hashes, hash)
		if c.number {
			c.numbers = append(c.numbers, value)
		}
		if len(c.Values) <= mostValues {
			c.Values = append(c.Values, strings.Clone(text))
		}
	}
	c.codes = append(c.codes, code)
}

func (c *counter) finish() {
	c.Distinct = len(c.known)
	if there := float64(len(c.codes) - c.Missing); there > 0 {
		c.Length = c.characters / there
	}
	switch {
	case c.Distinct == 0:
		c.Kind = Empty
	case c.flag && c.number:
		c.Kind = Flag
	case c.number && c.integer:
		c.Kind = Integer
	case c.number:
		c.Kind = Number
	case c.time:
		c.Kind = Time
	case c.list && c.ragged:
		c.Kind, c.Why = Unread, "has lists of different lengths"
	case c.list:
		c.Kind = List
	default:
		c.Kind = Text
	}
	there := len(c.codes) - c.Missing
	c.dated = c.Kind == Text && c.dates == there
	if c.Kind != Text || 2*c.numerals <= there {
		c.odd = ""
	}
	if !c.numeric() {
		c.numbers = nil
	}
	if c.Kind == List || c.Kind == Unread || c.Distinct > mostValues {
		c.Values = nil
	}
}

// spelled reports whether a column of texts is true and false in letters that a feature may not have, such as True.
func (c *Column) spelled() bool {
	return c.Kind == Text && c.Values != nil && !slices.ContainsFunc(c.Values, func(v string) bool {
		return !slices.Contains([]string{"true", "false"}, strings.ToLower(strings.TrimSpace(v)))
	})
}

// unique reports whether no two rows have the same values of some columns, at most three.
func (t *Table) unique(columns ...*Column) bool {
	seen := make(map[[3]uint32]struct{}, t.Rows)
	for row := range t.Rows {
		var key [3]uint32
		for i, c := range columns {
			key[i] = c.codes[row]
		}
		if _, again := seen[key]; again {
			return false
		}
		seen[key] = struct{}{}
	}
	return true
}

// constant reports whether all rows of an id have the same value of a column.
func (t *Table) constant(id, c *Column) bool {
	first := make([]uint32, id.Distinct+1)
	seen := make([]bool, id.Distinct+1)
	for row, code := range id.codes {
		if seen[code] && first[code] != c.codes[row] {
			return false
		}
		first[code], seen[code] = c.codes[row], true
	}
	return true
}

// find is the column of a name, nil if there is none.
func (t *Table) find(name string) *Column {
	for _, c := range t.Columns {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// names are those of the columns.
func (t *Table) names() (all []string) {
	for _, c := range t.Columns {
		all = append(all, c.Name)
	}
	return all
}
