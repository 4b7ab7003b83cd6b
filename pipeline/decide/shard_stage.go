package decide

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"pipe/costs"
	"pipe/internal/atomicfile"
	"pipe/internal/parquetfile"
	"pipe/internal/parquetjoin"
	"pipe/internal/storage"
	"pipe/models/policy"
	"pipe/onnx/ort"
	"pipe/pipeline/shards"
	"pipe/pipeline/stage"
)

// ShardOptions are the options of a run of Stream that is cut into shards.
type ShardOptions struct {
	StreamOptions
	Shards int
	Parts  bool // Out is a folder that gets the files of the shards, instead of one file
}

// Validate reports every problem at once.
func (o ShardOptions) Validate() error {
	err := o.StreamOptions.Validate()
	if o.Parts && (o.Out.String() == "-" || o.Out.IsZero()) {
		err = errors.Join(err, errors.New("decide: the parts need a folder as their output"))
	}
	if o.Shards < 1 {
		err = errors.Join(err, fmt.Errorf("decide: %d shards", o.Shards))
	}
	return err
}

// shardStage is a shards.Stage.
type shardStage struct {
	*sharded
	o        ShardOptions
	stdout   io.Writer
	manifest shards.Manifest
	plan     func() (*cutting, error) // set by Prepare
}

// OpenShards opens the policy for a run that is cut into shards. A shard is a range of rows. Its file of decisions begins
// and ends where the batches, and in Parquet the row groups, of one run do, so that the gathered files have the bytes of
// Stream. Rows that cannot be cut are a *costs.DataError. Gathering writes to o.Out, or to stdout if that is "-".
func OpenShards(ctx context.Context, rt *ort.Runtime, o ShardOptions, stdout io.Writer, p stage.Progress) (shards.Stage, error) {
	if err := o.Validate(); err != nil {
		return nil, &stage.OptionError{Err: err}
	}
	if err := o.files(ctx, nil, stdout).Check(ctx); err != nil {
		return nil, err
	}
	s, err := openSharded(ctx, rt, o.StreamOptions, p)
	if err != nil {
		return nil, err
	}
	out := &shardStage{sharded: s, o: o, stdout: stdout}
	if out.manifest, err = out.describe(ctx, rt); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return out, nil
}

func (s *shardStage) Manifest() shards.Manifest { return s.manifest }

// manifestPrices are the prices in a manifest, in the form that every version wrote.
type manifestPrices struct {
	Lambda  *float64
	Fees    []policy.Fee
	Pairs   []struct{} // null
	Without []policy.Part
	Usage   *policy.UsagePrices `json:",omitempty"`
}

// describe says what the decisions depend on.
func (s *shardStage) describe(ctx context.Context, rt *ort.Runtime) (m shards.Manifest, err error) {
	o := s.options
	at := manifestPrices{Lambda: o.Prices.Lambda, Fees: o.Prices.Fees, Without: o.Prices.Without}
	if !o.PriceFile.IsZero() {
		at.Usage = &s.router.Prices().Usage
	}
	settings, err := json.Marshal(struct {
		Format, Out, Text, Image string
		Scores, Parts            bool
		Prices                   manifestPrices
		Batch                    int64
	}{s.format, s.out, o.Text, o.Image, o.Scores, s.o.Parts, at, s.batch})
	if err != nil {
		return m, err
	}
	m = shards.Manifest{Stage: "decide", Shards: s.o.Shards, Inputs: map[string]string{
		"policy": s.router.Digest(), "settings": string(settings), "runtime": "ONNX Runtime " + rt.Version() + " on " + rt.Device(),
	}}
	if s.router.vectors != nil {
		m.Inputs["encoder"] = s.router.vectors.Digest()
		if images, ok := s.router.vectors.(*imageEncoder); ok {
			m.Inputs["decoder"] = images.Decoder()
		}
	} else if o.Encoder != "" {
		if m.Inputs["encoder"], err = costs.FileDigest(ctx, storage.File(o.Encoder)); err != nil {
			return m, err
		}
	}
	files := []storage.Location{o.In}
	if s.format == formatParquet {
		if files, _, err = parquetfile.Parts(ctx, o.In); err != nil {
			return m, err
		}
		if m.Rows, err = countRows(ctx, o.In); err != nil {
			return m, err
		}
	}
	m.Inputs["rows"], err = stage.Sketch(ctx, files...)
	return m, err
}

// Prepare cuts the rows. Parquet says how many there are; text has to be read once, by the first worker.
func (s *shardStage) Prepare(ctx context.Context, work *storage.Folder) error {
	if s.format == formatParquet {
		s.plan = sync.OnceValues(func() (*cutting, error) { return s.cut(ctx, s.o.Shards) })
		return nil
	}
	valid := func(c *cutting) bool { return len(c.Spans) == s.o.Shards }
	c, err := shards.Share(ctx, work, "rows.json", valid, func() (*cutting, error) { return s.cut(ctx, s.o.Shards) })
	if err != nil {
		return err
	}
	s.plan = func() (*cutting, error) { return c, nil }
	return nil
}

const countChosen = "chosen "

func (s *shardStage) Shard(ctx context.Context, shard int, folder string) (*shards.Result, error) {
	plan, err := s.plan()
	if err != nil {
		return nil, err
	}
	name := s.partName(shard)
	done, err := s.run(ctx, plan.Spans[shard], storage.File(filepath.Join(folder, name)))
	if err != nil {
		return nil, err
	}
	r := &shards.Result{Files: []string{name}, Counts: map[string]int64{"rows": done.Rows}}
	for pair, n := range done.Chosen {
		r.Counts[countChosen+pair] = n
	}
	if done.Accepted != nil {
		r.Counts[policy.AcceptedOutput] = *done.Accepted
	}
	return r, nil
}

// Gather puts the files of the shards together, or into a folder. The report is a *Summary.
func (s *shardStage) Gather(ctx context.Context, parts *shards.Parts) (any, error) {
	done := &Summary{Format: 1, Policy: s.options.Policy.String(), Prices: usedPrices(s.router, s.options.Prices.Without), Chosen: map[string]int64{}}
	src, err := openRows(ctx, s.router, s.options, nil, done)
	if err != nil {
		return nil, err
	}
	done.ChangedFees = changedFees(src, s.router.Prices().In(s.router.Info().Actions))
	src.close()
	for shard := range parts.Len() {
		done.Seconds += parts.Done(shard).Seconds
	}
	for name, n := range parts.Counts() {
		if pair, ok := strings.CutPrefix(name, countChosen); ok {
			done.Chosen[pair] = n
		}
	}
	if s.router.Info().Guarantee != nil {
		n := parts.Counts()[policy.AcceptedOutput]
		done.Accepted = &n
	}
	if done.Rows = parts.Counts()["rows"]; s.manifest.Rows > 0 && done.Rows != s.manifest.Rows {
		return nil, &costs.DataError{File: s.options.In.String(), Msg: fmt.Sprintf("has %d rows, but the shards decided on %d", s.manifest.Rows, done.Rows)}
	}
	if s.o.Parts {
		return done, s.gatherFolder(ctx, parts)
	}
	return done, s.gatherFile(ctx, parts)
}

// gatherFolder copies the files of the shards to the output.
func (s *shardStage) gatherFolder(ctx context.Context, parts *shards.Parts) error {
	if _, err := atomicfile.MkdirAllAt(ctx, s.options.Out); err != nil {
		return err
	}
	expected := map[string]bool{}
	for shard := range parts.Len() {
		expected[s.partName(shard)] = true
	}
	if err := checkFolder(ctx, s.options.Out, expected); err != nil {
		return err
	}
	return parts.Each(ctx, func(shard int, folder string) error {
		name := s.partName(shard)
		return atomicfile.WriteAt(ctx, s.options.Out.Join(name), func(w io.Writer) error {
			return copyFile(w, filepath.Join(folder, name), "")
		})
	})
}

// checkFolder refuses an output folder with files of other runs, which would be read with the parts.
func checkFolder(ctx context.Context, path storage.Location, expected map[string]bool) error {
	entries, err := path.ReadDir(ctx)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // in a store, an empty folder does not exist
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name := e.Name(); !expected[name] && name[0] != '.' {
			return &stage.OptionError{Err: fmt.Errorf("the output folder %q has another file, %q: choose an empty --out", path, name)}
		}
	}
	return nil
}

// copyFile copies a file of a shard without its head.
func copyFile(w io.Writer, path, head string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := skipHead(w, f, head); err != nil {
		return &costs.DataError{File: path, Err: err}
	}
	return nil
}

// gatherFile makes one file of the files of the shards.
func (s *shardStage) gatherFile(ctx context.Context, parts *shards.Parts) (err error) {
	var out output = streamOutput{s.stdout}
	if s.options.Out.String() != "-" {
		if out, err = atomicfile.CreateBufferedAt(ctx, s.options.Out); err != nil {
			return err
		}
	}
	if s.out == formatParquet {
		err = s.joinParquet(ctx, out, parts)
	} else {
		err = s.joinText(ctx, out, parts)
	}
	if err != nil {
		out.Abort()
		return err
	}
	return out.Commit()
}

func (s *shardStage) joinText(ctx context.Context, out io.Writer, parts *shards.Parts) error {
	if _, err := io.WriteString(out, s.head()); err != nil {
		return err
	}
	return parts.Each(ctx, func(shard int, folder string) error {
		return copyFile(out, filepath.Join(folder, s.partName(shard)), s.head())
	})
}

func (s *shardStage) joinParquet(ctx context.Context, out io.Writer, parts *shards.Parts) error {
	j, err := parquetjoin.New(out)
	if err != nil {
		return err
	}
	err = parts.Each(ctx, func(shard int, folder string) error {
		return j.AddFile(filepath.Join(folder, s.partName(shard)))
	})
	if err != nil {
		return err
	}
	return j.Close()
}
