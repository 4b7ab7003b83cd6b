package builder

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/experts/kinds"
	"pipe/internal/storage"
)

// draw returns the options and the configuration of one random split of a world.
func (w *world) draw(seed int, name string) (part.Config, Options) {
	cfg := w.cfg
	cfg.Split = part.Part{Kind: "random", Settings: map[string]any{"validation": 0.25, "seed": seed}}
	return cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(filepath.Join(w.dir, name)), Dir: storage.File(w.dir)}
}

// TestAnotherSplitTakesRowsOver: rows that are reused from a build with another split equal those of a new build, byte by
// byte, and no expert is asked for them.
func TestAnotherSplitTakesRowsOver(t *testing.T) {
	w := newWorld(t, 50)
	ctx := context.Background()
	cfg, o := w.draw(1, "first.parquet")
	if _, err := Run(ctx, cfg, o); err != nil {
		t.Fatal(err)
	}
	first := o.Out
	cfg, o = w.draw(2, "own.parquet")
	own, err := Run(ctx, cfg, o)
	if err != nil || own.Resumed != 0 {
		t.Fatal(own, err)
	}
	want := readBytes(t, o.Out.String())
	cfg, o = w.draw(2, "taken.parquet")
	o.Reuse = first.String()
	for range 2 { // the second finds it done
		r, err := Run(ctx, cfg, o)
		if err != nil {
			t.Fatal(err)
		}
		if r.Resumed != r.Shards || readBytes(t, o.Out.String()) != want {
			t.Errorf("%d of %d shards are taken over, bytes differ: %v", r.Resumed, r.Shards, readBytes(t, o.Out.String()) != want)
		}
	}
	if readBytes(t, first.String()) == want {
		t.Error("two draws are the same")
	}
}

// TestTakenRowsKeepMeasuredTime: time was measured for the rows that are taken over, and their fees hold it.
func TestTakenRowsKeepMeasuredTime(t *testing.T) {
	w, alone := latencyWorld(t)
	cfg, o := w.draw(1, "first.parquet")
	first, err := Run(context.Background(), cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	asked := alone.Load()
	cfg, o = w.draw(2, "second.parquet")
	o.Reuse, o.Experts = first.File, storage.File(t.TempDir()).String() // where nothing was measured
	for range 2 {
		second, err := Run(context.Background(), cfg, o)
		if err != nil || second.Resumed != second.Shards || alone.Load() != asked || !slices.Equal(second.Latency, first.Latency) {
			t.Fatalf("%+v, %v; %d instances are asked alone, %d before", second, err, alone.Load(), asked)
		}
	}
	var fees [2][]float32
	var times [2]string
	for i, file := range []string{first.File, o.Out.String()} {
		tensor, err := costs.Read(t.Context(), storage.File(file), costs.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		fees[i], times[i] = tensor.Fee, tensor.Actions.Digests[latencyPart]
	}
	if !slices.Equal(fees[0], fees[1]) || times[0] == "" || times[0] != times[1] {
		t.Errorf("fees or their times differ: %q and %q", times[0], times[1])
	}
}

// TestRowsThatDependOnTheSplitAreNotTakenOver: another loss, or one of the training rows.
func TestRowsThatDependOnTheSplitAreNotTakenOver(t *testing.T) {
	w := newWorld(t, 50)
	for _, name := range []string{"shard", "weighted"} {
		cfg, o := w.draw(1, name+"-first.parquet")
		if name == "weighted" {
			cfg.TaskLoss.Kind = "weighted"
		}
		if _, err := Run(context.Background(), cfg, o); err != nil {
			t.Fatal(err)
		}
		first, loss := o.Out, cfg.TaskLoss
		cfg, o = w.draw(2, name+"-second.parquet")
		cfg.TaskLoss, o.Reuse = loss, first.String()
		if name == "shard" {
			cfg.Shard = 9
		}
		r, err := Run(context.Background(), cfg, o)
		if err != nil || r.Resumed != 0 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// entryList is a source of which nothing is loaded.
type entryList struct {
	part.Source
	entries []part.Entry
}

func (s entryList) Entries() []part.Entry { return s.entries }

// TestRandomSplitsIgnoreLabels: with one instance per label every seed draws others, and shares are held.
func TestRandomSplitsIgnoreLabels(t *testing.T) {
	entries := make([]part.Entry, 40)
	for i := range entries {
		entries[i].Label = string(rune('a' + i))
	}
	of := func(seed int) []costs.Split {
		s := (&part.Build{Source: entryList{entries: entries}, Inputs: make(part.Inputs)}).Setup(splitPart)
		got, err := kinds.Builtin().Splits[costs.SplitRandom](context.Background(), s, map[string]any{"validation": 0.25, "test": 0.1, "seed": seed})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	one, two := of(1), of(2)
	if slices.Equal(one, two) || !slices.Equal(one, of(1)) {
		t.Error("seeds do not decide the draw")
	}
	counts := map[costs.Split]int{}
	for _, s := range one {
		counts[s]++
	}
	if counts[costs.Val] != 10 || counts[costs.Test] != 4 {
		t.Errorf("shares %v", counts)
	}
}

func TestSplitsRefuseSharesThatLeaveNothing(t *testing.T) {
	for _, kind := range []string{"hash", "random", "stratified"} {
		for text, settings := range map[string]map[string]any{
			"validation is 1": {"validation": 1}, "validation: expected a number": {"validation": "x"}, "unknown key": {"share": 1},
		} {
			w := newWorld(t, 8)
			w.cfg.Split = part.Part{Kind: kind, Settings: settings}
			if _, err := w.run(context.Background()); err == nil || !strings.Contains(err.Error(), text) {
				t.Errorf("%s: got %v, want %q", kind, err, text)
			}
		}
	}
}
