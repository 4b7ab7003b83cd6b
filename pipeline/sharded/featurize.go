package sharded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"pipe/costs"
	"pipe/featurize/tabular"
	"pipe/internal/atomicfile"
	"pipe/internal/parquetjoin"
	"pipe/internal/storage"
	"pipe/pipeline/features"
	"pipe/pipeline/shards"
	"pipe/pipeline/stage"
)

// featurize is the second phase of features.Run in shards: with the encoder that was fitted to the summaries of the
// first phase, a shard writes its rows of the table.
type featurize struct {
	*rows
	fit      *fit
	options  shards.Options // of the first phase
	wait     bool           // for the summaries of others
	manifest shards.Manifest
	fitted   *fitted // set by Prepare
	encoder  *tabular.Encoder
}

// FeaturizeFolder is the folder of the first phase in a work folder.
const FeaturizeFolder = "fit"

// Featurize opens raw rows for featurizing in n shards, in two phases with a work folder each. In the first, a shard
// summarises its training rows: what an encoder is fitted to is merged of all summaries, exactly. In the second, it
// writes its rows with that encoder. The first shard of the second phase needs all summaries: if wait is set, it waits
// until the other workers have made them; if not, it is a *shards.MissingError that some are missing.
//
// options are those of the second phase; the first has its work folder in that of the second. Splits must be drawn by
// hash, which gives the split of a row without the other rows; other kinds are an *stage.OptionError.
func Featurize(ctx context.Context, o features.Options, n int, options shards.Options, wait bool, p stage.Progress) (first, second shards.Stage, err error) {
	r, err := openRows(ctx, o, n, p)
	if err != nil {
		return nil, nil, err
	}
	options.Work = options.Work.Join(FeaturizeFolder)
	f := &fit{rows: r, manifest: r.manifest("featurize-fit", n)}
	return f, &featurize{rows: r, fit: f, options: options, wait: wait, manifest: r.manifest("featurize", n)}, nil
}

func (s *featurize) Manifest() shards.Manifest { return s.manifest }
func (s *featurize) Close() error              { return nil }

// Prepare shares the encoder, which it fits if no other worker has.
func (s *featurize) Prepare(ctx context.Context, work *storage.Folder) error {
	if err := s.fit.Prepare(ctx, work.Sub(FeaturizeFolder)); err != nil {
		return err
	}
	valid := func(*fitted) bool { return true } // the encoder, which it names, is checked
	f, err := shards.Share(ctx, work, "fitted.json", valid, func() (*fitted, error) {
		f, err := s.fitAll(ctx)
		if err != nil {
			return nil, err
		}
		// The encoder may be too large for Share. Every worker writes the same bytes.
		if err := work.WriteFile(ctx, s.encoderName(f), f.encoder, storage.WriteOptions{}); err != nil {
			return nil, err
		}
		return f, nil
	})
	if err != nil {
		return err
	}
	s.fitted = f
	at := s.encoderName(f)
	b, err := work.ReadFile(ctx, at, maxEncoder)
	if err != nil {
		return err
	}
	if s.encoder, err = tabular.ParseEncoder(b); err == nil && s.encoder.Digest() != s.fitted.Digest {
		err = errors.New("its digest is another one")
	}
	if err != nil {
		return &costs.DataError{File: work.Location(at).String(), Err: err}
	}
	return nil
}

const maxEncoder = 1 << 30

func (s *featurize) encoderName(f *fitted) string { return "shared/" + features.EncoderFile }

// fitAll gathers the first phase, and waits for it if it may.
func (s *featurize) fitAll(ctx context.Context) (*fitted, error) {
	said := ""
	for {
		report, err := shards.Gather(ctx, s.fit, s.options)
		var missing *shards.MissingError
		if err == nil {
			return report.(*fitted), nil
		}
		if !s.wait || !errors.As(err, &missing) {
			return nil, err
		}
		if text := fmt.Sprintf("waiting for the summaries of %d of %d shards: %s", len(missing.Shards), missing.Of, shards.Ranges(missing.Shards)); text != said {
			s.progress.Note(text)
			said = text
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

func (s *featurize) Shard(ctx context.Context, shard int, folder string) (*shards.Result, error) {
	f, _, err := s.load(ctx, s.fit.plan, shard)
	if err != nil {
		return nil, err
	}
	_, names, err := s.split(f)
	if err != nil {
		return nil, err
	}
	s.progress.Start(int64(f.Len()), "write table")
	defer s.progress.Done()
	path := storage.File(filepath.Join(folder, features.TableFile))
	if err := tabular.WriteTablePart(ctx, path, s.encoder, f, names, func(n int) { s.progress.Add(int64(n)) }); err != nil {
		return nil, err
	}
	return &shards.Result{Files: []string{features.TableFile}, Counts: map[string]int64{"rows": int64(f.Len())}}, nil
}

// Gather makes the files of features.Run. The report is a *features.Report.
func (s *featurize) Gather(ctx context.Context, parts *shards.Parts) (any, error) {
	if err := s.Prepare(ctx, parts.Folder()); err != nil {
		return nil, err
	}
	out := s.o.Out
	r, err := stage.Alone(out, func() (*features.Report, error) {
		return features.Step(ctx, out, s.o.Split.Describe(0), s.fit.plan.inputs(s.schema), func() error {
			return s.write(ctx, out, parts)
		})
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (s *featurize) write(ctx context.Context, out storage.Location, parts *shards.Parts) error {
	s.progress.Start(int64(parts.Len()), "put table together")
	defer s.progress.Done()
	err := atomicfile.WriteAt(ctx, out.Join(features.TableFile), func(w io.Writer) error { return s.join(ctx, w, parts) })
	if err == nil {
		err = s.encoder.WriteFile(ctx, out.Join(features.EncoderFile))
	}
	if err != nil {
		return err
	}
	f := s.fitted
	report := &features.Report{Load: f.Load, Train: f.Train, Validation: f.Load.Rows - f.Train}
	return atomicfile.WriteAt(ctx, out.Join(features.ReportFile), stage.Indented(report.Complete(s.encoder, f.Positive)))
}

// join puts the tables of the shards together.
func (s *featurize) join(ctx context.Context, w io.Writer, parts *shards.Parts) error {
	j, err := parquetjoin.New(w)
	if err != nil {
		return err
	}
	err = parts.Each(ctx, func(_ int, folder string) error {
		defer s.progress.Add(1)
		return j.AddFile(filepath.Join(folder, features.TableFile))
	})
	if err != nil {
		return err
	}
	return j.Close()
}
