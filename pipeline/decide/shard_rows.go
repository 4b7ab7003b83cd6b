package decide

import (
	"context"
	"errors"
	"fmt"
	"io"

	"pipe/costs"
	"pipe/internal/dataerror"
	"pipe/internal/storage"
	"pipe/internal/textfile"
	"pipe/pipeline/shards"
	"pipe/pipeline/stage"
)

// span is the rows [From, To) of an input. They are decided in the batches of a run over all rows, since the last bits
// of a score may depend on its batch: the batch that row From is in is decided on from its beginning.
type span struct {
	From int64          `json:"from"`
	To   int64          `json:"to"`
	At   textfile.Place `json:"at"` // of text: where the first row of that batch begins
}

// spans cuts rows into n spans of about equal length, at multiples of unit rows. With few rows, some are empty.
func spans(rows, unit int64, n int) []span {
	list := make([]span, n)
	units := int((rows + unit - 1) / unit)
	for i := range list {
		from, to := shards.Cut(i, n, units)
		list[i] = span{From: min(rows, int64(from)*unit), To: min(rows, int64(to)*unit)}
	}
	return list
}

// errCannotCut is an error about an input that cannot be cut into shards.
func errCannotCut(file, why, advice string) error {
	return fmt.Errorf("cut rows: %w", &costs.DataError{File: file, Err: &textfile.Fault{Msg: why, Advice: advice}})
}

// cutFormat is the format of rows that can be cut. Gzipped text and streams cannot: nothing in them can be found without
// reading what is before it.
func cutFormat(ctx context.Context, o StreamOptions) (string, error) {
	if o.In.String() == "-" {
		return "", errCannotCut(standardInput, "cannot be cut into shards: it can be read only once", "write the rows to a file, and give its name by --in")
	}
	format := o.InFormat
	if o.input() == InputRow {
		format = formatCSV
	}
	if format == formatAuto {
		format = formatOf(ctx, o.In)
	}
	if format == formatParquet {
		return format, nil
	}
	f, size, err := textfile.OpenAt(ctx, o.In)
	if err != nil {
		return "", fmt.Errorf("read rows: %w", dataerror.FromText(err))
	}
	defer f.Close()
	head := make([]byte, 2)
	if n, _ := f.ReadAt(head, 0); n == 2 && string(head) == "\x1f\x8b" {
		return "", errCannotCut(o.In.String(), "is gzipped, and gzipped text cannot be cut into shards", "unpack it first, or convert it to Parquet")
	}
	if format != formatAuto {
		return format, nil
	}
	r, err := textfile.Decode(o.In.String(), io.NewSectionReader(f, 0, size), true)
	if err != nil {
		return "", fmt.Errorf("read rows: %w", dataerror.FromText(err))
	}
	return sniff(r), nil
}

// findRows finds the places of rows 0, every, 2*every, ... in a file of text.
func findRows(ctx context.Context, path storage.Location, format string, every int64, p stage.Progress) (*textfile.Places, error) {
	f, size, err := textfile.OpenAt(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("read rows: %w", dataerror.FromText(err))
	}
	defer f.Close()
	p.Start(size, "find rows")
	defer p.Done()
	places, err := textfile.FindPlaces(watched{io.NewSectionReader(f, 0, size), p}, every, format == formatCSV, format == formatCSV)
	if err != nil {
		return nil, fmt.Errorf("read rows %q: %w", path, err)
	}
	return places, nil
}

// watched reports the bytes that are read.
type watched struct {
	io.Reader
	progress stage.Progress
}

func (w watched) Read(b []byte) (int, error) {
	n, err := w.Reader.Read(b)
	w.progress.Add(int64(n))
	return n, err
}

// movable is a source of text, which can go on from another place of its file.
type movable interface {
	move(in io.Reader, at textfile.Place)
}

// spanSource yields the batches of a span.
type spanSource struct {
	featureSource
	span
	at   int64     // the first row of the next batch
	also io.Closer // the file of text from the span on; nil: none
}

// openSpan moves a source to a span. It closes the source if it fails.
func openSpan(ctx context.Context, src featureSource, path storage.Location, s span) (*spanSource, error) {
	out := &spanSource{featureSource: src, span: s}
	switch from := src.(type) {
	case *parquetSource:
		out.at = int64(from.seek(int(s.From)))
	case movable:
		if s.At.Row == 0 {
			break // it is there, behind a byte order mark if there is one
		}
		f, size, err := textfile.OpenAt(ctx, path)
		if err != nil {
			src.close()
			return nil, err
		}
		from.move(io.NewSectionReader(f, s.At.Offset, size-s.At.Offset), s.At)
		out.at, out.also = s.At.Row, f
	}
	return out, nil
}

func (s *spanSource) rows() int64 { return s.To - s.From }

func (s *spanSource) close() {
	s.featureSource.close()
	if s.also != nil {
		_ = s.also.Close() // only read from: nothing is lost
	}
}

func (s *spanSource) next(ctx context.Context) (*rowBatch, error) {
	for s.at < s.To {
		b, err := s.featureSource.next(ctx)
		if errors.Is(err, io.EOF) {
			return nil, &costs.DataError{Msg: fmt.Sprintf("the input has only %d rows: it has changed since it was cut into shards", s.at)}
		}
		if err != nil {
			return nil, err
		}
		from, to := s.at, s.at+int64(len(b.ids))
		if s.at = to; to <= s.From {
			continue
		}
		b.drop, b.spare = int(max(0, s.From-from)), int(max(0, to-s.To))
		return b, nil
	}
	return nil, io.EOF
}
