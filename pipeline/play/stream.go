package play

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/models/cascade"
	"pipe/models/policy"
	"pipe/onnx/ort"
	"pipe/pipeline/decide"
	"pipe/pipeline/stage"
)

// Summary is the result of a run of Stream.
type Summary struct {
	Format   int              `json:"format"`
	Policy   string           `json:"policy"` // the cascade file
	Rows     int64            `json:"rows"`
	Seconds  float64          `json:"seconds"`
	Chosen   map[string]int64 `json:"chosen"`             // rows per pair whose answer was accepted
	Executed map[string]int64 `json:"executed"`           // rows per pair that was executed
	Stages   []int64          `json:"stages"`             // rows by how many pairs were executed on them, from one on
	Accepted *int64           `json:"accepted,omitempty"` // rows whose answer the guarantee of the cascade accepts; absent: it has none
	Unseen   int64            `json:"unseen"`             // rows on which nothing that the cascade looks at is known of the answer of an executed pair

	ChangedFees []costs.FeeChange  `json:"changed_fees,omitempty"` // of the table; the cascade decides by its own
	Prices      *decide.UsedPrices `json:"prices,omitempty"`       // of an any-price cascade
}

// Stream plays the rows of the cost tensor o.In through the cascade o.Policy and writes what was done, in the order of the rows. An
// any-price cascade decides at its own prices as o.Prices changes them, and these are paid. Of another one, those of the table are. Losses
// of the tensor are not looked at, and may be unknown. Memory does not grow with the number of rows. An output file appears when
// it is complete. Options that a cascade does not have are an *stage.OptionError, bad input is a *costs.DataError.
func Stream(ctx context.Context, rt *ort.Runtime, o decide.StreamOptions, stdout io.Writer, p stage.Progress) (_ *Summary, err error) {
	p = stage.OrQuiet(p)
	if err := errors.Join(o.Validate(), unused(o)); err != nil {
		return nil, err
	}
	files := stage.Files{Reads: append(stage.NamedFiles(o.Policy), stage.Input{Path: o.In, Part: stage.Ending(".parquet"), Grow: true})}
	if o.Out.String() != "-" {
		files.Writes = []stage.Output{{Path: o.Out}}
	}
	if err := files.Check(ctx); err != nil {
		return nil, err
	}
	begin := time.Now()
	p.Start(-1, "open cascade and table")
	defer p.Done()
	f, err := decide.ReadCascade(ctx, o.Policy)
	if err != nil {
		return nil, err
	}
	at, err := f.Price(o.Prices, o.PriceFile)
	if err != nil {
		return nil, err
	}
	d, err := f.Open(rt)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	r, err := costs.OpenReader(ctx, o.In, costs.ReadOptions{Unknown: true})
	if err != nil {
		return nil, err
	}
	defer r.Close()
	s := &stream{d: d, at: at, file: o.Policy, in: o.In, done: &Summary{Format: 1, Policy: o.Policy.String()}}
	s.done.ChangedFees = at.In(f.Info.Actions).ChangedFees(r.Actions())
	if f.Info.Prices != nil {
		s.done.Prices = decide.NewUsedPrices(f.Info.Actions, at, o.Prices.Without)
	} else {
		s.at = f.Info.PriceAt(r.Actions(), f.Info.Lambda)
		s.at.Available = at.Available
	}
	if s.sink, err = openSink(ctx, o, d.Info(), stdout); err != nil {
		return nil, err
	}
	p.Start(int64(r.Rows()), "play the cascade")
	if err := s.run(ctx, r, p); err != nil {
		s.sink.abort()
		return nil, err
	}
	if err := s.sink.commit(); err != nil {
		return nil, err
	}
	s.done.Seconds = time.Since(begin).Seconds()
	return s.done, nil
}

// unused names the options that a cascade does not have.
func unused(o decide.StreamOptions) error {
	var names []string
	for name, given := range map[string]bool{
		"--encoder": o.Encoder != "", "--text": o.Text != "", "--image": o.Image != "", "--decoder": o.Decoder != "", "--scores": o.Scores,
	} {
		if given {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	switch {
	case names != nil:
		return &stage.OptionError{Err: fmt.Errorf("decide: %q is a cascade, which is played through a cost tensor without %s", o.Policy, strings.Join(names, ", "))}
	case o.In.String() == "-" || o.InFormat != "auto" && o.InFormat != "parquet":
		return &stage.OptionError{Err: fmt.Errorf("decide: %q is a cascade: --in has to be a cost tensor with what can be seen of answers, a Parquet file or a folder of parts", o.Policy)}
	}
	return nil
}

// stream plays batches of a table.
type stream struct {
	d    *cascade.Decider
	at   *policy.Prices   // that are paid
	file storage.Location // of the cascade
	in   storage.Location // the table
	sink *sink
	done *Summary
}

func (s *stream) run(ctx context.Context, r *costs.Reader, p stage.Progress) error {
	info := s.d.Info()
	chosen, executed, stages := make([]int64, info.Actions.Len()), make([]int64, info.Actions.Len()), make([]int64, info.Stages)
	if info.Guarantee != nil {
		s.done.Accepted = new(int64)
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		t, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		rows := make([]int, t.Len())
		for n := range rows {
			rows[n] = n
		}
		played, err := cascade.Play(ctx, s.d, t, rows, s.at)
		if err != nil {
			return fmt.Errorf("cascade %q on %q: %w", s.file, s.in, err)
		}
		for n, pairs := range played.Order {
			chosen[played.Accepted[n]]++
			stages[len(pairs)-1]++
			for _, i := range pairs {
				executed[i]++
			}
			if s.done.Accepted != nil && played.Guaranteed[n] {
				*s.done.Accepted++
			}
			if unseen(info, t, n, pairs) {
				s.done.Unseen++
			}
		}
		if err := s.sink.write(t, played); err != nil {
			return err
		}
		s.done.Rows += int64(len(rows))
		p.Add(int64(len(rows)))
	}
	s.done.Chosen, s.done.Executed, s.done.Stages = named(info.Actions, chosen), named(info.Actions, executed), stages
	return nil
}

// unseen reports whether nothing that the cascade looks at is known of the answer of a pair that was executed on row n, such as a pair
// that was never run on it.
func unseen(info *cascade.Info, t *costs.Tensor, n int, pairs []int) bool {
	known := func(pair int) bool {
		return slices.ContainsFunc(info.Facts, func(f costs.Fact) bool {
			v := t.Fact(f.Name).Data[n*t.Actions.Len()+pair]
			return v == v
		})
	}
	return slices.ContainsFunc(pairs, func(pair int) bool { return !known(pair) })
}

// named are the counts that are not 0, by pair.
func named(a *costs.Actions, counts []int64) map[string]int64 {
	out := map[string]int64{}
	for i, n := range counts {
		if n > 0 {
			out[a.Name(i)] = n
		}
	}
	return out
}
