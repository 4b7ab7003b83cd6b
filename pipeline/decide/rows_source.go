package decide

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"pipe/costs"
	"pipe/internal/atomicfile"
	"pipe/internal/dataerror"
	"pipe/internal/storage"
	"pipe/internal/textfile"
	"pipe/models/policy"
	"pipe/pipeline/stage"
)

// The formats of input and output rows.
const (
	formatAuto    = "auto"
	formatParquet = "parquet"
	formatCSV     = "csv"
	formatJSONL   = "jsonl"
)

var formats = []string{formatAuto, formatParquet, formatCSV, formatJSONL}

func checkFormat(what, name string) error {
	if slices.Contains(formats, name) {
		return nil
	}
	return fmt.Errorf("%s format %q: known are %s", what, name, strings.Join(formats, ", "))
}

// standardInput is the name of "-" in errors.
const standardInput = "standard input"

// rowFile is the source of the rows.
type rowFile struct {
	path   storage.Location // "-": stdin
	format string
	stdin  io.Reader
}

// openFeatures opens the input and checks its rows against the policy: the number of features and, if the file has
// actions, the actions. Format auto uses the extension, then the first bytes. When ctx ends, reads of standard input
// end too.
func openFeatures(ctx context.Context, in rowFile, info *policy.Info) (featureSource, error) {
	path, format := in.path, in.format
	if path.String() == "-" {
		return openStream(ctx, standardInput, format, interruptible(ctx, io.NopCloser(in.stdin)), info)
	}
	if format == formatAuto {
		format = formatOf(ctx, path)
	}
	if format == formatParquet && textfile.CheckRegularAt(ctx, path) == nil {
		return openParquet(ctx, path, info)
	}
	f, err := openText(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("read features: %w", err)
	}
	return openStream(ctx, path.String(), format, f, info)
}

// openText opens a file of rows for a single sequential read; reads of a named pipe end with ctx.
func openText(ctx context.Context, path storage.Location) (io.ReadCloser, error) {
	f, err := path.Open(ctx)
	if err != nil || textfile.CheckRegularAt(ctx, path) == nil {
		return f, err
	}
	return interruptible(ctx, f), nil
}

// interruptible passes r on until ctx ends; reads then return the error of ctx. A read of r in progress is abandoned,
// because nothing can interrupt a read of a terminal. Closing the result closes r, which interrupts a read of a named
// pipe.
func interruptible(ctx context.Context, r io.ReadCloser) io.ReadCloser {
	out, in := io.Pipe()
	go func() {
		_, err := io.Copy(in, r)
		_ = in.CloseWithError(err) // never fails
	}()
	stop := context.AfterFunc(ctx, func() { _ = in.CloseWithError(ctx.Err()) })
	return &passage{out, r, stop}
}

// passage is the read end of an in-memory pipe into which from is copied.
type passage struct {
	*io.PipeReader
	from io.Closer
	stop func() bool
}

// Close ends the copy.
func (p *passage) Close() error {
	p.stop()
	return errors.Join(p.PipeReader.Close(), p.from.Close())
}

// formatOf returns the format of a file by its name, auto if that has none; a folder has Parquet parts.
func formatOf(ctx context.Context, path storage.Location) string {
	if stage.IsFolder(ctx, path) {
		return formatParquet
	}
	return formatOfName(path.String())
}

func formatOfName(path string) string {
	switch strings.ToLower(filepath.Ext(strings.TrimSuffix(path, ".gz"))) {
	case ".parquet", ".pq":
		return formatParquet
	case ".csv":
		return formatCSV
	case ".jsonl", ".ndjson":
		return formatJSONL
	}
	return formatAuto
}

// openStream opens rows from a stream, gzipped or not. Parquet is read from its end, so it is copied to a file first.
func openStream(ctx context.Context, name, format string, in io.ReadCloser, info *policy.Info) (featureSource, error) {
	r, err := textfile.Decode(name, in, format == formatAuto || format == formatParquet)
	if err != nil {
		in.Close()
		return nil, fmt.Errorf("read features: %w", dataerror.FromText(err))
	}
	if format == formatAuto {
		format = sniff(r)
	}
	var src featureSource
	switch format {
	case formatParquet:
		defer in.Close()
		return spoolParquet(ctx, name, r, info)
	case formatJSONL:
		src = &jsonlSource{file: name, in: in, lines: textfile.NewLines(name, r), dim: info.Dim, scores: info.Actions.Len()}
	default:
		src, err = newCSVSource(name, in, r, info)
	}
	if err != nil {
		in.Close()
		return nil, err
	}
	return src, nil
}

// sniff guesses a format from the first bytes: Parquet's magic number, a brace, else CSV.
func sniff(r *bufio.Reader) string {
	head, _ := r.Peek(4) // a shorter input is fine
	switch {
	case string(head) == "PAR1":
		return formatParquet
	case bytes.IndexAny(bytes.TrimLeft(head, " \t\r\n"), "{[") == 0:
		return formatJSONL
	}
	return formatCSV
}

// changedFees are the fees of the input that differ from those of a; none if the input has no actions.
func changedFees(src featureSource, a *costs.Actions) []costs.FeeChange {
	switch s := src.(type) {
	case *spooled:
		return changedFees(s.featureSource, a)
	case *parquetSource:
		if here := s.reader.Actions(); here != nil {
			return a.ChangedFees(here)
		}
	}
	return nil
}

// wrongDim is the error for rows that do not have the policy's number of features.
func wrongDim(file string, row, have, want int) error {
	return badFeatures(&costs.DataError{File: file, Row: row, Column: "features", Msg: fmt.Sprintf("has %d features, the policy takes %d", have, want)})
}

func badFeatures(e *costs.DataError) error { return fmt.Errorf("read features: %w", e) }

// spoolParquet copies a Parquet stream to a temporary file and opens it.
func spoolParquet(ctx context.Context, name string, r io.Reader, info *policy.Info) (featureSource, error) {
	folder, remove, err := atomicfile.TempFolder("", "pipe-*")
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	path := filepath.Join(folder, "rows.parquet")
	if err := spool(path, r); err != nil {
		return nil, fmt.Errorf("read %s: %w", name, errors.Join(err, remove()))
	}
	src, err := openParquet(ctx, storage.File(path), info)
	if err != nil {
		return nil, errors.Join(renamed(err, name), remove())
	}
	return &spooled{src, remove, name}, nil
}

// spool copies a stream to a new file.
func spool(path string, r io.Reader) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}

// renamed replaces the name of the temporary file in an error about data.
func renamed(err error, name string) error {
	var data *costs.DataError
	if !errors.As(err, &data) {
		return err
	}
	there := *data
	there.File = name
	return badFeatures(&there)
}

// spooled removes the temporary file when it is closed.
type spooled struct {
	featureSource
	remove func() error
	name   string // for errors
}

func (s *spooled) next(ctx context.Context) (*rowBatch, error) {
	b, err := s.featureSource.next(ctx)
	return b, renamed(err, s.name)
}

func (s *spooled) close() {
	s.featureSource.close()
	_ = s.remove() // only a temporary copy: a leftover does no harm
}

// parquetSource reads the columns id and features of the cost tensor format; rows of a file without ids are numbered
// from 0.
type parquetSource struct {
	reader *costs.Reader
	seen   int
}

func openParquet(ctx context.Context, path storage.Location, info *policy.Info) (featureSource, error) {
	r, err := costs.OpenReader(ctx, path, costs.ReadOptions{FeaturesOnly: true, BatchRows: batchRows(info.Dim, info.Actions.Len())})
	if err != nil {
		return nil, err
	}
	if err := checkParquet(path.String(), r, info); err != nil {
		r.Close()
		return nil, err
	}
	return &parquetSource{reader: r}, nil
}

// checkParquet compares the width and, if the file has them, the actions and the origin of the features with the
// policy.
func checkParquet(path string, r *costs.Reader, info *policy.Info) error {
	if r.Dim() != info.Dim {
		return wrongDim(path, 0, r.Dim(), info.Dim)
	}
	if r.Actions() == nil {
		return nil
	}
	if err := info.Matches(&costs.Tensor{Actions: r.Actions(), Dim: r.Dim()}); err != nil {
		return badFeatures(&costs.DataError{File: path, Err: err})
	}
	return nil
}

func (s *parquetSource) rows() int64 { return int64(s.reader.Rows()) }
func (s *parquetSource) close()      { s.reader.Close() }

// seek moves to the row group that has a row, and returns its first row.
func (s *parquetSource) seek(row int) int {
	s.seen = s.reader.Seek(row)
	return s.seen
}

func (s *parquetSource) next(ctx context.Context) (*rowBatch, error) {
	t, err := s.reader.Next()
	if err != nil {
		return nil, err
	}
	b := &rowBatch{ids: t.IDs, features: t.Features}
	if b.ids == nil {
		b.ids = make([]string, len(t.Features)/t.Dim)
		for i := range b.ids {
			b.ids[i] = strconv.Itoa(s.seen + i)
		}
	}
	s.seen += len(b.ids)
	return b, nil
}
