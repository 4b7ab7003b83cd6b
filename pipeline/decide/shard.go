package decide

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"pipe/costs"
	"pipe/internal/dataerror"
	"pipe/internal/storage"
	"pipe/onnx/ort"
	"pipe/pipeline/stage"
)

// sharded is a run of Stream that is cut into shards: each decides on a range of the rows and writes a whole file of
// decisions. Put together, the files are the one that a run over all rows writes.
type sharded struct {
	options  StreamOptions
	router   *Router
	format   string // of the rows
	out      string // format of the decisions
	batch    int64  // rows of a batch
	progress stage.Progress
}

// openSharded opens the policy and checks the form of the rows. Rows that cannot be cut are a *costs.DataError.
func openSharded(ctx context.Context, rt *ort.Runtime, o StreamOptions, p stage.Progress) (s *sharded, err error) {
	p = stage.OrQuiet(p)
	if err := o.Validate(); err != nil {
		return nil, &stage.OptionError{Err: err}
	}
	if rt == nil {
		return nil, fmt.Errorf("decide: %w", ort.ErrNoRuntime)
	}
	if o.Encoder, err = fetchEncoder(ctx, o.Encoder); err != nil {
		return nil, err
	}
	s = &sharded{options: o, progress: p}
	if s.format, err = cutFormat(ctx, o); err != nil {
		return nil, err
	}
	if s.router, err = openFor(ctx, rt, o); err != nil {
		return nil, err
	}
	if s.out = o.OutFormat; s.out == formatAuto {
		s.out = formatOfName(o.Out.String()) // the folder of parts may be there, from gathering before
	}
	if s.out == formatAuto {
		s.out = formatCSV
	}
	s.batch = int64(s.router.fileBatch())
	return s, nil
}

// fileBatch is the number of rows that Stream takes from a file at once.
func (r *Router) fileBatch() int {
	info := r.Info()
	if r.vectors != nil {
		return min(cmp.Or(r.vectors.most(), mostRows), batchRows(r.vectors.Dim(), info.Actions.Len()))
	}
	if r.table != nil {
		return batchRows(r.table.groups.Dim(), info.Actions.Len())
	}
	return batchRows(info.Dim, info.Actions.Len())
}

// unit is the least number of rows of a shard. Row groups of Parquet stay whole, so that the files can be put together.
func (s *sharded) unit() int64 {
	if s.out == formatParquet {
		return decisionGroup
	}
	return s.batch
}

// cutting is how the rows are cut, which is the same for all shards.
type cutting struct {
	Rows  int64  `json:"rows"`
	Spans []span `json:"spans"`
}

// cut finds the rows of n shards. It reads all of a file of text, and the footers of Parquet.
func (s *sharded) cut(ctx context.Context, n int) (*cutting, error) {
	if s.format == formatParquet {
		rows, err := countRows(ctx, s.options.In)
		if err != nil {
			return nil, err
		}
		return &cutting{rows, spans(rows, s.unit(), n)}, nil
	}
	places, err := findRows(ctx, s.options.In, s.format, s.batch, s.progress)
	if err != nil {
		return nil, err
	}
	c := &cutting{places.End.Row, spans(places.End.Row, s.unit(), n)}
	if c.Rows == 0 {
		return nil, badFeatures(&costs.DataError{File: s.options.In.String(), Msg: "has no rows"})
	}
	for i := range c.Spans {
		c.Spans[i].At = places.Before(c.Spans[i].From)
	}
	return c, nil
}

// countRows is the number of rows of Parquet, a file or a folder of parts.
func countRows(ctx context.Context, path storage.Location) (int64, error) {
	r, err := costs.OpenReader(ctx, path, costs.ReadOptions{FeaturesOnly: true})
	if err != nil {
		return 0, err
	}
	defer r.Close()
	return int64(r.Rows()), nil
}

// run decides on a span and writes the file of its decisions.
func (s *sharded) run(ctx context.Context, rows span, path storage.Location) (*Summary, error) {
	done := &Summary{Format: 1, Policy: s.options.Policy.String()}
	sink, err := openSink(ctx, path, s.out, s.columns(), nil)
	if err != nil {
		return nil, err
	}
	run := stream{router: s.router, workers: s.options.Workers, progress: s.progress}
	if rows.From < rows.To {
		err = s.stream(ctx, &run, rows, sink, done)
	}
	if err != nil {
		sink.abort()
		return nil, err
	}
	done.Rows, done.Chosen, done.Accepted = run.done, run.chosen(s.router.Info().Actions), run.acceptedRows()
	return done, sink.commit()
}

func (s *sharded) stream(ctx context.Context, run *stream, rows span, sink decisionSink, done *Summary) error {
	src, err := openRows(ctx, s.router, s.options, nil, done)
	if err != nil {
		return err
	}
	done.ChangedFees = changedFees(src, s.router.Prices().In(s.router.Info().Actions))
	part, err := openSpan(ctx, src, s.options.In, rows)
	if err != nil {
		return err
	}
	s.progress.Start(part.rows(), "decide")
	defer s.progress.Done()
	return dataerror.InFile(s.options.In.String(), run.run(ctx, part, sink))
}

// columns are what the files of decisions have.
func (s *sharded) columns() columns {
	return columnsOf(s.router.Info(), s.options.Scores)
}

// head is how every file of decisions begins.
func (s *sharded) head() string {
	if s.out == formatCSV || s.out == formatAuto {
		return csvRows(s.columns()).head
	}
	return ""
}

// partName is the name of the file of a shard.
func (s *sharded) partName(shard int) string {
	return fmt.Sprintf("part-%05d.%s", shard, s.out)
}

// Close frees the policy.
func (s *sharded) Close() error { return s.router.Close() }

// skipHead copies the text of a part without its head.
func skipHead(out io.Writer, in io.Reader, head string) error {
	have := make([]byte, len(head))
	if _, err := io.ReadFull(in, have); err != nil || string(have) != head {
		return errors.New("it does not begin with the names of the columns")
	}
	_, err := io.Copy(out, in)
	return err
}
