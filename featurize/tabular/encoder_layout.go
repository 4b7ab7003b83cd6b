package tabular

import (
	"fmt"
	"math"
)

// Layout is the form in which a model gets the values.
type Layout int

const (
	// LayoutDense is for networks. A missing number is replaced by the training
	// median. Numbers are standardised by training mean and deviation and
	// clipped to +-ClipDeviations; they are 0 if constant in the training rows.
	// A category is one-hot over its levels, with the pooled levels as the last
	// element. An unseen level counts as pooled (all zero if training pooled
	// none). The time is sine and cosine of the hour of the day and of the day
	// of the week. Columns of a group that were missing in the same training
	// rows share one indicator.
	LayoutDense Layout = iota
	// LayoutTree is for trees: the values, with NaN for missing ones,
	// categories as their codes, and the time as hour of the day and day of the
	// week.
	LayoutTree
)

// String returns "dense" or "tree".
func (l Layout) String() string {
	switch l {
	case LayoutDense:
		return "dense"
	case LayoutTree:
		return "tree"
	}
	return fmt.Sprintf("TabularLayout(%d)", int(l))
}

// layoutIndex holds the positions of an encoder's columns in a layout.
type layoutIndex struct {
	width  int
	at     []int // first element of each column of the encoder
	marks  []int // element of each indicator; dense only
	ends   []int // exclusive end of each group
	rareAt []int // dense only: element of the pooled levels of a column, -1 if there are none
}

func (e *Encoder) layout(l Layout) *layoutIndex {
	switch l {
	case LayoutDense:
		return &e.dense
	case LayoutTree:
		return &e.tree
	}
	panic(fmt.Sprintf("featurize: no layout %v", l))
}

// Width returns the number of elements of a row in a layout.
func (e *Encoder) Width(l Layout) int { return e.layout(l).width }

// GroupEnds returns the exclusive end of each group in a layout. The columns of
// a group are contiguous, and the last end is the width.
func (e *Encoder) GroupEnds(l Layout) []int {
	return append([]int(nil), e.layout(l).ends...)
}

// layOut computes the positions of columns and indicators.
func (e *Encoder) layOut() {
	columns, marks := e.fitted.Columns, e.fitted.Missing
	c, m := 0, 0
	for g := range e.fitted.Groups {
		for ; c < len(columns) && columns[c].Group == g; c++ {
			e.dense.place(columns[c].denseWidth(), columns[c].rareOffset())
			e.tree.place(columns[c].treeWidth(), -1)
		}
		for ; m < len(marks) && marks[m].Group == g; m++ {
			e.dense.marks = append(e.dense.marks, e.dense.width)
			e.dense.width++
		}
		e.dense.ends = append(e.dense.ends, e.dense.width)
		e.tree.ends = append(e.tree.ends, e.tree.width)
	}
}

// place adds a column; rare is the position of the pooled levels within it, or
// -1.
func (l *layoutIndex) place(width, rare int) {
	if rare >= 0 {
		rare += l.width
	}
	l.at = append(l.at, l.width)
	l.rareAt = append(l.rareAt, rare)
	l.width += width
}

func (c *fittedColumn) denseWidth() int {
	switch {
	case c.Kind == kindTime:
		return 4
	case c.Kind == kindNumber:
		return 1
	case len(c.Rare) > 0:
		return len(c.Levels) + 1
	}
	return len(c.Levels)
}

func (c *fittedColumn) rareOffset() int {
	if len(c.Rare) == 0 {
		return -1
	}
	return len(c.Levels)
}

func (c *fittedColumn) treeWidth() int {
	if c.Kind == kindTime {
		return 2
	}
	return 1
}

// Encode converts the values of one row to a layout. dst has Width(l) elements,
// values has one per column of Columns. Both are finite except for the NaN of
// missing values, which LayoutTree keeps.
func (e *Encoder) Encode(dst, values []float32, l Layout) {
	if len(values) != len(e.fitted.Columns) || len(dst) != e.Width(l) {
		panic(fmt.Sprintf("featurize: %d values into %d elements; the encoder has %d columns, %d elements in layout %v",
			len(values), len(dst), len(e.fitted.Columns), e.Width(l), l))
	}
	if l == LayoutTree {
		e.encodeTree(dst, values)
		return
	}
	e.encodeDense(dst, values)
}

func (e *Encoder) encodeTree(dst, values []float32) {
	for i, v := range values {
		at := e.tree.at[i]
		if e.fitted.Columns[i].Kind != kindTime {
			dst[at] = v
			continue
		}
		hour, day := splitHour(v)
		dst[at], dst[at+1] = hour, day
	}
}

// splitHour returns hour of the day and day of the week, or NaN for both.
func splitHour(hourOfWeek float32) (hour, day float32) {
	if !(hourOfWeek >= 0 && hourOfWeek < weekHours) {
		return nan32, nan32
	}
	h := int(hourOfWeek)
	return float32(h % dayHours), float32(h / dayHours)
}

func (e *Encoder) encodeDense(dst, values []float32) {
	clear(dst)
	for i, v := range values {
		at := e.dense.at[i]
		switch c := &e.fitted.Columns[i]; c.Kind {
		case kindNumber:
			dst[at] = c.standardised(v)
		case kindTime:
			copy(dst[at:at+4], timeWaves(v))
		default:
			if v != v {
				continue
			}
			if code := int(v) - codeFirst; code >= 0 && code < len(c.Levels) {
				dst[at+code] = 1
			} else if rare := e.dense.rareAt[i]; rare >= 0 {
				dst[rare] = 1
			}
		}
	}
	for i, m := range e.fitted.Missing {
		for _, c := range m.Columns {
			if values[c] != values[c] {
				dst[e.dense.marks[i]] = 1
				break
			}
		}
	}
}

func (c *fittedColumn) standardised(v float32) float32 {
	if c.Std == 0 {
		return 0
	}
	if v != v {
		v = c.Median
	}
	z := (c.scaled(v) - c.Mean) / c.Std
	return float32(max(-ClipDeviations, min(ClipDeviations, z)))
}

// scaled applies the logarithm if the column has Log set.
func (c *fittedColumn) scaled(v float32) float64 {
	if !c.Log {
		return float64(v)
	}
	return math.Copysign(math.Log1p(math.Abs(float64(v))), float64(v))
}

// waves are the four elements of the time for each hour of the week.
var waves = func() (table [weekHours][]float32) {
	for h := range table {
		day := 2 * math.Pi * float64(h%dayHours) / dayHours
		week := 2 * math.Pi * float64(h/dayHours) / weekDays
		table[h] = []float32{
			float32(math.Sin(day)), float32(math.Cos(day)), float32(math.Sin(week)), float32(math.Cos(week)),
		}
	}
	return table
}()

var noWaves = make([]float32, 4)

func timeWaves(hourOfWeek float32) []float32 {
	if !(hourOfWeek >= 0 && hourOfWeek < weekHours) {
		return noWaves
	}
	return waves[int(hourOfWeek)]
}

// Names returns the names of the elements of a layout, such as "dist1",
// "card4=visa", "card4 pooled" or "missing dist1 (and 2 more)".
func (e *Encoder) Names(l Layout) []string {
	index := e.layout(l)
	names := make([]string, index.width)
	for i := range e.fitted.Columns {
		c := &e.fitted.Columns[i]
		copy(names[index.at[i]:], c.names(l))
	}
	for i, at := range index.marks {
		m := e.fitted.Missing[i]
		names[at] = "missing " + e.fitted.Columns[m.Columns[0]].Name
		if more := len(m.Columns) - 1; more > 0 {
			names[at] += fmt.Sprintf(" (and %d more)", more)
		}
	}
	return names
}

func (c *fittedColumn) names(l Layout) []string {
	switch {
	case c.Kind == kindTime && l == LayoutTree:
		return []string{c.Name + " hour", c.Name + " weekday"}
	case c.Kind == kindTime:
		return []string{c.Name + " hour sin", c.Name + " hour cos", c.Name + " weekday sin", c.Name + " weekday cos"}
	case c.Kind == kindNumber || l == LayoutTree:
		return []string{c.Name}
	}
	var names []string
	for _, level := range c.Levels {
		names = append(names, c.Name+"="+level)
	}
	if len(c.Rare) > 0 {
		names = append(names, c.Name+" pooled")
	}
	return names
}
