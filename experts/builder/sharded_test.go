package builder

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pipe/experts/builder/part"
	"pipe/internal/storage"
)

// inRanges builds a world in ranges by two workers with folders of experts of their own, of which the second gets what
// the first prepared, and gathers the output by a third.
func inRanges(t *testing.T, w *world, o Options, ranges int) *Report {
	t.Helper()
	passes := map[string][][]byte{} // the first worker makes them
	divide := func(ctx context.Context, pass part.Pass) (results [][]byte, err error) {
		if passes[pass.Name] != nil {
			return passes[pass.Name], nil
		}
		for from := 0; from < pass.Items; from += 7 {
			b, err := pass.Make(ctx, from, min(from+7, pass.Items))
			if err != nil {
				return nil, err
			}
			results = append(results, b)
		}
		passes[pass.Name] = results
		return results, nil
	}
	open := func() *Sharded {
		b, err := OpenSharded(t.Context(), w.cfg, o, Shares{Ranges: ranges, Workers: 1, Divide: divide})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		})
		return b
	}
	workers := []*Sharded{open(), open(), open()}
	var files []string
	for i, b := range workers {
		if !b.NeedsPreparing() {
			continue
		}
		to, err := b.Prepared(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			from, err := os.ReadFile(filepath.Join(workers[0].o.Experts, name))
			if err == nil {
				err = os.WriteFile(filepath.Join(to, name), from, 0o666)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if i == 2 {
			break // gathering needs the files, and makes nothing
		}
		made, err := b.Prepare(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if files = made; len(files) == 0 {
			t.Error("nothing was prepared")
		}
	}
	folders := make([]string, ranges)
	for n := range ranges {
		var twice []string
		for i, b := range []*Sharded{workers[n%2], workers[(n+1)%2]} {
			folder := t.TempDir()
			if i == 0 {
				folders[n] = folder
			}
			file, counts, err := b.Range(t.Context(), n, folder)
			if err != nil || counts["rows"] == 0 {
				t.Fatal(err, counts)
			}
			twice = append(twice, readBytes(t, filepath.Join(folder, file)))
		}
		if twice[0] != twice[1] {
			t.Errorf("range %d has other bytes at another worker", n)
		}
	}
	r, err := workers[2].Gather(t.Context(), func(use func(int, string) error) error {
		for n, folder := range folders {
			if err := use(n, folder); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// sameAsLocal compares the files of both.
func sameAsLocal(t *testing.T, local, gathered *Report) {
	t.Helper()
	if readBytes(t, local.File) != readBytes(t, gathered.File) || local.Digest != gathered.Digest {
		t.Error("the gathered output has other bytes than the local one")
	}
	if (local.Audit == "") != (gathered.Audit == "") || local.Audit != "" && readBytes(t, local.Audit) != readBytes(t, gathered.Audit) {
		t.Error("the audit has other bytes")
	}
	if len(local.Skipped) != len(gathered.Skipped) || len(local.Answers) != len(gathered.Answers) || local.Train != gathered.Train {
		t.Errorf("reports differ: %+v, %+v", local, gathered)
	}
}

// Experts that learn are trained once, by one worker.
func TestRangesOfTrainedExperts(t *testing.T) {
	w := newTabularWorld(t, 600).withAllExperts()
	local, _ := w.build(t)
	o := w.options(t)
	for _, ranges := range []int{1, 2} {
		o.Out = storage.File(filepath.Join(t.TempDir(), "many.parquet"))
		sameAsLocal(t, local, inRanges(t, w, o, ranges))
	}
}

// Measured fees, and ranges of one shard of the builder each. A run on one machine finds the gathered output finished, and
// writes new fees into it.
func TestRangesOfEveryShard(t *testing.T) {
	w := newWorld(t, 50)
	local, err := w.run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Kinds: w.allKinds(), Out: storage.File(filepath.Join(t.TempDir(), "many.parquet")), Dir: storage.File(w.dir)}
	gathered := inRanges(t, w, o, local.Shards)
	sameAsLocal(t, local, gathered)
	w.cfg.Experts[0].Fee = 0.75
	again, err := Run(t.Context(), w.cfg, o)
	if err != nil || again.Resumed != again.Shards {
		t.Errorf("%+v, %v", again, err)
	}
	local, err = w.run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	sameAsLocal(t, local, again)
	_, err = OpenSharded(t.Context(), w.cfg, o, Shares{Ranges: local.Shards + 1, Workers: 1})
	var many *TooManyError
	if !errors.As(err, &many) || many.Most != local.Shards {
		t.Error(err)
	}
}

// What advice showed is kept, as in a local run.
func TestRangesWithAudit(t *testing.T) {
	w := newClaimWorld(t, 40)
	w.cfg.Audit, w.cfg.Shard = true, 8
	o := w.options(t)
	local, err := Run(t.Context(), w.cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	o.Out = storage.File(filepath.Join(t.TempDir(), "many.parquet"))
	sameAsLocal(t, local, inRanges(t, w, o, 3))
}

// Times are measured once: all workers use those of the first.
func TestRangesWithLatency(t *testing.T) {
	w := newTabularWorld(t, 300).withAllExperts()
	w.cfg.Latency = part.LatencyConfig{FeePerSecond: 2, Instances: 3, Repeats: 3}
	o := w.options(t)
	o.Out = storage.File(filepath.Join(t.TempDir(), "many.parquet"))
	if r := inRanges(t, w, o, 2); len(r.Latency) == 0 {
		t.Error("there are no times")
	}
}

// Images are looked at once by all workers together; bad ones are left out and listed as in a local run.
func TestRangesOfImages(t *testing.T) {
	w := newPictures(t, 40, 16)
	w.spoil(t)
	local, err := w.skipBad(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(filepath.Join(t.TempDir(), "many.parquet")), Dir: storage.File(w.dir), SkipBad: true}
	gathered := inRanges(t, w, o, 3)
	sameAsLocal(t, local, gathered)
	if len(local.Skipped) == 0 || readBytes(t, local.BadList) != readBytes(t, gathered.BadList) {
		t.Errorf("left out: %v, and %v", local.Skipped, gathered.Skipped)
	}
	o.SkipBad = false
	_, err = OpenSharded(t.Context(), w.cfg, o, Shares{Ranges: 3, Workers: 1, Divide: func(ctx context.Context, pass part.Pass) ([][]byte, error) {
		b, err := pass.Make(ctx, 0, pass.Items)
		return [][]byte{b}, err
	}})
	var bad *part.BadImagesError
	if !errors.As(err, &bad) || len(bad.Images) != len(local.Skipped) {
		t.Error(err)
	}
}

// Every worker embeds the texts of its own rows. The vectors are those of a local run.
func TestRangesOfTexts(t *testing.T) {
	w := newTextWorld(t, 60).withEmbedding(t, 60)
	local, _ := w.build(t)
	o := w.options(t)
	o.Out = storage.File(filepath.Join(t.TempDir(), "many.parquet"))
	sameAsLocal(t, local, inRanges(t, w, o, 3))
}
