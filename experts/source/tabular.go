package source

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/featurize/tabular"
)

// tabularSource is a table file made by pipe featurize. Ids, labels and splits
// are kept in memory; values are read on demand.
type tabularSource struct {
	file   string
	reader *tabular.TableReader
	list   []part.Entry
}

type tabularSettings struct {
	File part.Path `json:"file"`
}

func newTabular(ctx context.Context, s *part.Setup, settings map[string]any) (part.Source, error) {
	var cfg tabularSettings
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	if cfg.File == "" {
		return nil, errors.New("file: not set")
	}
	file := s.Path(cfg.File)
	if err := s.File(ctx, "table", file); err != nil {
		return nil, err
	}
	reader, err := tabular.OpenTable(ctx, file)
	if err != nil {
		return nil, err
	}
	t := &tabularSource{file: file.String(), reader: reader}
	if t.list, err = t.entries(); err != nil {
		return nil, errors.Join(err, reader.Close())
	}
	return t, nil
}

func (t *tabularSource) entries() ([]part.Entry, error) {
	ids, labels, splits, groups := t.reader.IDs(), t.reader.Labels(), t.reader.Splits(), t.reader.Groups()
	list := make([]part.Entry, len(ids))
	for n, id := range ids {
		list[n] = part.Entry{ID: id, Label: labels[n], Split: splits[n]}
		if groups != nil {
			list[n].Group = groups[n]
		}
		if (labels[n] == "") != (labels[0] == "") {
			return nil, &costs.DataError{File: t.file, Row: n + 1, Column: "label", Msg: "some rows have a label and some have none"}
		}
	}
	return list, nil
}

// Entries returns the rows in the order of the file.
func (t *tabularSource) Entries() []part.Entry { return t.list }

// Columns returns nil: there is no text to read.
func (t *tabularSource) Columns() *part.Columns { return nil }

// Encoder returns the description of the values.
func (t *tabularSource) Encoder() *tabular.Encoder { return t.reader.Encoder() }

// Rows close to each other are read in one span, with the rows between them.
const (
	spanGap  = 64
	spanRows = 8192
)

// Load reads the values of the given rows. Its memory is that of the rows and
// of one span of the file.
func (t *tabularSource) Load(ctx context.Context, rows []int) ([]part.Instance, error) {
	width := len(t.reader.Encoder().Columns())
	out := make([]part.Instance, len(rows))
	values := make([]float32, len(rows)*width)
	var buffer []float32
	for at := 0; at < len(rows); {
		end := spanEnd(rows, at)
		from, n := rows[at], rows[end-1]-rows[at]+1
		if n == end-at { // nothing in between
			if err := t.reader.Read(ctx, values[at*width:end*width], from, n); err != nil {
				return nil, err
			}
		} else {
			if len(buffer) < n*width {
				buffer = make([]float32, n*width)
			}
			if err := t.reader.Read(ctx, buffer[:n*width], from, n); err != nil {
				return nil, err
			}
			for i := at; i < end; i++ {
				copy(values[i*width:(i+1)*width], buffer[(rows[i]-from)*width:])
			}
		}
		at = end
	}
	for i, row := range rows {
		out[i] = part.Instance{Entry: t.list[row], Values: values[i*width : (i+1)*width : (i+1)*width], Line: row + 1, Row: row}
	}
	return out, nil
}

// Twins numbers the rows so that rows with equal values, and with missing
// values in the same places, have equal numbers. It reads the whole file, a
// span at a time.
func (t *tabularSource) Twins(ctx context.Context) ([]int, error) {
	width := len(t.reader.Encoder().Columns())
	sums := make([][sha256.Size]byte, len(t.list))
	values, text := make([]float32, spanRows*width), make([]byte, 0, 4*width)
	for from := 0; from < len(sums); from += spanRows {
		n := min(spanRows, len(sums)-from)
		if err := t.reader.Read(ctx, values[:n*width], from, n); err != nil {
			return nil, err
		}
		for i := range n {
			text = text[:0]
			for _, v := range values[i*width : (i+1)*width] {
				switch {
				case v != v:
					v = float32(math.NaN()) // missing values are equal
				case v == 0:
					v = 0 // not the negative one
				}
				text = binary.LittleEndian.AppendUint32(text, math.Float32bits(v))
			}
			sums[from+i] = sha256.Sum256(text)
		}
	}
	return costs.Numbered(sums), nil
}

// spanEnd returns the end of the ascending rows, starting at at, that are read together.
func spanEnd(rows []int, at int) int {
	end := at + 1
	for end < len(rows) && rows[end] > rows[end-1] && rows[end]-rows[end-1] <= spanGap && rows[end]-rows[at] < spanRows {
		end++
	}
	return end
}

// Close closes the file.
func (t *tabularSource) Close() error { return t.reader.Close() }
