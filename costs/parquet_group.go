package costs

import (
	"errors"
	"slices"
	"unicode/utf8"

	"pipe/internal/column"
	"pipe/internal/finite"
	"pipe/internal/parquetfile"
)

// groupRead is one row group that is being read into a tensor.
type groupRead struct {
	column.Group
	source *source
	part   *part
}

// groups are the row groups of all parts, in order.
func (s *source) groups() []*groupRead {
	var all []*groupRead
	for _, p := range s.parts {
		for g := range column.Groups(p.file) {
			all = append(all, &groupRead{Group: g, source: s, part: p})
		}
	}
	return all
}

// base is the number of rows of the tensor before the group.
func (g *groupRead) base() int { return g.part.base + g.First }

func (g *groupRead) cursor(l *column.Leaf, width int) *cursor {
	c := g.Cursor(l)
	c.Width = width
	return &cursor{Cursor: c, leaf: l, rows: g.Rows}
}

// columns returns one function per column. Each reads its column of the whole
// row group into a tensor of that many rows. The features, by far the largest
// column, come first.
func (g *groupRead) columns(into *Tensor) []func() error {
	var tasks []func() error
	for _, c := range g.readers() {
		tasks = append(tasks, func() error {
			defer func() { c.cursor.Cursor = nil }() // releases the memory of its page
			if err := c.read(into); err != nil {
				return err
			}
			return c.cursor.finish()
		})
	}
	return tasks
}

// columnReader reads the next rows of one column into a tensor of that many
// rows.
type columnReader struct {
	cursor *cursor
	read   func(into *Tensor) error
}

func (g *groupRead) readers() []columnReader {
	l := g.part.cols
	readers := []columnReader{g.features(l.features)}
	a := 0
	if g.source.actions != nil {
		a = g.source.actions.Len()
	}
	if l.id != nil {
		readers = append(readers, g.text(l.id, 1, func(t *Tensor) []string { return t.IDs }))
	}
	if l.split != nil {
		readers = append(readers, g.splits(l.split), g.losses(l.loss, a))
	}
	if l.group != nil {
		readers = append(readers, g.text(l.group, 1, func(t *Tensor) []string { return t.Groups }))
	}
	if l.time != nil {
		readers = append(readers, g.times(l.time))
	}
	if l.fee != nil {
		readers = append(readers, g.fees(l.fee, a))
	}
	for q, leaf := range l.usage {
		if leaf != nil {
			readers = append(readers, g.usage(Quantity(q), leaf, a))
		}
	}
	if l.propensity != nil {
		readers = append(readers, g.propensities(l.propensity, a))
	}
	if l.label != nil {
		readers = append(readers, g.text(l.label, 1, func(t *Tensor) []string { return t.Labels }))
	}
	if l.prediction != nil {
		readers = append(readers, g.text(l.prediction, a, func(t *Tensor) []string { return t.Predictions }))
	}
	for i, f := range l.facts {
		readers = append(readers, g.fact(i, f, a))
	}
	return readers
}

func (g *groupRead) text(l *column.Leaf, width int, field func(*Tensor) []string) columnReader {
	c := g.cursor(l, width)
	return columnReader{c, func(t *Tensor) error {
		dst := field(t)
		return c.fillText(len(dst), func(i int, s string) error {
			if !utf8.ValidString(s) {
				return errNotUTF8(s)
			}
			dst[i] = s
			return nil
		})
	}}
}

func (g *groupRead) splits(l *column.Leaf) columnReader {
	c := g.cursor(l, 1)
	return columnReader{c, func(t *Tensor) error {
		return c.fillText(len(t.Splits), func(i int, s string) (err error) {
			t.Splits[i], err = ParseSplit(s)
			return err
		})
	}}
}

func (g *groupRead) features(l *column.Leaf) columnReader {
	c := g.cursor(l, g.source.dim)
	return columnReader{c, func(t *Tensor) error {
		return c.fill(len(t.Features), func(at int, run column.Run) error {
			part := t.Features[at : at+run.Len]
			run.CopyFloats(part)
			if i := finite.First(part); i >= 0 {
				return c.Error(run, i, shown(l, part[i]))
			}
			return nil
		})
	}}
}

func (g *groupRead) losses(l *column.Leaf, width int) columnReader {
	c := g.cursor(l, width)
	actions := g.source.actions
	mask := actions.Mask()
	c.absent, c.hint = g.mayBeNull(mask), ": "+unknownHint
	return columnReader{c, func(t *Tensor) error {
		done := c.passed()
		if err := c.fillFloats(t.Loss); err != nil {
			return err
		}
		return shifted(checkLosses(t.Loss, mask, actions, g.source.unknown), done)
	}}
}

func (g *groupRead) fees(l *column.Leaf, width int) columnReader {
	c := g.cursor(l, width)
	mask := g.source.actions.Mask()
	c.absent = g.mayBeNull(mask)
	return columnReader{c, func(t *Tensor) error {
		done := c.passed()
		if err := c.fillFloats(t.Fee); err != nil {
			return err
		}
		return shifted(checkFees(t.Fee, mask, g.source.unknown), done)
	}}
}

// usage reads a quantity; every element may be null.
func (g *groupRead) usage(q Quantity, l *column.Leaf, width int) columnReader {
	c := g.cursor(l, width)
	c.absent = slices.Repeat([]bool{true}, width)
	return columnReader{c, func(t *Tensor) error {
		done := c.passed()
		if err := c.fillFloats(t.Usage[q]); err != nil {
			return err
		}
		return shifted(checkUsage(q, t.Usage[q], width), done)
	}}
}

// propensities reads them; every element may be null.
func (g *groupRead) propensities(l *column.Leaf, width int) columnReader {
	c := g.cursor(l, width)
	c.absent = slices.Repeat([]bool{true}, width)
	return columnReader{c, func(t *Tensor) error { return c.fillDoubles(t.Propensity) }}
}

// times checks what the type of the column does not say.
func (g *groupRead) times(l *column.Leaf) columnReader {
	c := g.cursor(l, 1)
	check := checkTimes
	if l.Meaning != parquetfile.Timestamp {
		check = checkPlainTimes
	}
	return columnReader{c, func(t *Tensor) error {
		done := c.passed()
		if err := c.fillTimes(t.Times); err != nil {
			return err
		}
		return shifted(check(t.Times), done)
	}}
}

// mayBeNull returns which elements of a list over the pairs may be null: those
// of unavailable pairs, and all if unknown outcomes are permitted.
func (g *groupRead) mayBeNull(mask []bool) []bool {
	out := make([]bool, len(mask))
	for i, v := range mask {
		out[i] = !v || g.source.unknown
	}
	return out
}

// shifted adds the number of preceding rows to the row of a *DataError.
func shifted(err error, rows int) error {
	if data, ok := errors.AsType[*DataError](err); ok {
		data.Row += rows
	}
	return err
}
