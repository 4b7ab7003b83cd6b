package costs

import (
	"errors"
	"unicode/utf8"

	"pipe/internal/finite"
	"pipe/internal/parquetfile"
)

// groupRead is one row group that is being read into a tensor.
type groupRead struct {
	source *source
	part   *part
	group  int
	first  int // rows of the part before this group
	rows   int
}

func (g *groupRead) cursor(l *leaf, width int) *cursor {
	return &cursor{leaf: l, width: width, first: g.first, rows: g.rows, file: g.part.file, group: g.group}
}

// columns returns one function per column. Each reads its column of the whole
// row group into a tensor of that many rows. The features, by far the largest
// column, come first.
func (g *groupRead) columns(into *Tensor) []func() error {
	var tasks []func() error
	for _, c := range g.readers() {
		tasks = append(tasks, func() error {
			defer c.cursor.close()
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
	if l.label != nil {
		readers = append(readers, g.text(l.label, 1, func(t *Tensor) []string { return t.Labels }))
	}
	if l.prediction != nil {
		readers = append(readers, g.text(l.prediction, a, func(t *Tensor) []string { return t.Predictions }))
	}
	return readers
}

func (g *groupRead) text(l *leaf, width int, field func(*Tensor) []string) columnReader {
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

func (g *groupRead) splits(l *leaf) columnReader {
	c := g.cursor(l, 1)
	return columnReader{c, func(t *Tensor) error {
		return c.fillText(len(t.Splits), func(i int, s string) (err error) {
			t.Splits[i], err = ParseSplit(s)
			return err
		})
	}}
}

// features copies and checks in blocks small enough to stay in the cache.
func (g *groupRead) features(l *leaf) columnReader {
	c := g.cursor(l, g.source.dim)
	const step = 1 << 16
	return columnReader{c, func(t *Tensor) error {
		for rest := t.Features; len(rest) > 0; {
			part := rest[:min(step, len(rest))]
			done := c.done
			if err := c.fillFloats(part); err != nil {
				return err
			}
			if i := finite.First(part); i >= 0 {
				return &DataError{Row: c.row(done + i), Column: c.column(done + i), Msg: l.shown(part[i])}
			}
			rest = rest[len(part):]
		}
		return nil
	}}
}

func (g *groupRead) losses(l *leaf, width int) columnReader {
	c := g.cursor(l, width)
	actions := g.source.actions
	mask := actions.Mask()
	c.absent, c.hint = g.mayBeNull(mask), ": "+unknownHint
	return columnReader{c, func(t *Tensor) error {
		done := c.done
		if err := c.fillFloats(t.Loss); err != nil {
			return err
		}
		return shifted(checkLosses(t.Loss, mask, actions, g.source.unknown), c.row(done)-1)
	}}
}

func (g *groupRead) fees(l *leaf, width int) columnReader {
	c := g.cursor(l, width)
	mask := g.source.actions.Mask()
	c.absent = g.mayBeNull(mask)
	return columnReader{c, func(t *Tensor) error {
		done := c.done
		if err := c.fillFloats(t.Fee); err != nil {
			return err
		}
		return shifted(checkFees(t.Fee, mask, g.source.unknown), c.row(done)-1)
	}}
}

// times checks what the type of the column does not say.
func (g *groupRead) times(l *leaf) columnReader {
	c := g.cursor(l, 1)
	check := checkTimes
	if l.column.Meaning != parquetfile.Timestamp {
		check = checkPlainTimes
	}
	return columnReader{c, func(t *Tensor) error {
		done := c.done
		if err := c.fillTimes(t.Times); err != nil {
			return err
		}
		return shifted(check(t.Times), c.row(done)-1)
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
	var data *DataError
	if errors.As(err, &data) {
		data.Row += rows
	}
	return err
}
