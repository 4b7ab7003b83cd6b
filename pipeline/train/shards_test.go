package train

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/internal/world"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/shards"
	"pipe/pipeline/stage"
)

// TestShards: policies that are trained shard by shard, in any number of shards, are those of Run, byte by byte.
func TestShards(t *testing.T) {
	orttest.Open(t, 1)
	tensor := filepath.Join(t.TempDir(), "costs.parquet")
	if err := costs.Write(t.Context(), storage.File(tensor), world.SyntheticTensor(400, costs.Train, 1, true)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		recipe        string
		methods       []string
		shards, parts int
	}{
		"paper":           {"paper", []string{"l2d", "separated"}, 0, 6 + 2 + 6},
		"paper, 3 shards": {"paper", []string{"l2d", "separated"}, 3, 3},
		"auto":            {"auto", []string{"l2d"}, 0, 1 + 2},
	} {
		t.Run(name, func(t *testing.T) {
			o := DefaultOptions()
			o.Tensor, o.Split = storage.File(tensor), "train"
			o.Recipe, o.Methods, o.Lambdas, o.Seeds = c.recipe, c.methods, []float64{0, 0.5, 1}, 2
			o.Network.Epochs, o.Auto.Steps, o.Auto.Networks = 2, 20, o.Auto.Networks[:1]
			o.Out = storage.File(filepath.Join(t.TempDir(), "whole"))
			if _, err := Run(t.Context(), o, stage.Quiet); err != nil {
				t.Fatal(err)
			}
			whole := o.Out
			o.Out = storage.File(filepath.Join(t.TempDir(), "gathered"))
			gatherTraining(t, o, c.shards, c.parts)
			sameFiles(t, whole.String(), o.Out.String())
		})
	}
}

// gatherTraining trains in shards, the last one first.
func gatherTraining(t *testing.T, o Options, n, want int) {
	t.Helper()
	s, err := OpenShards(t.Context(), o, n)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	options := shards.Default(storage.File(filepath.Join(t.TempDir(), "work")))
	w, err := shards.Open(t.Context(), s, options)
	if err != nil {
		t.Fatal(err)
	}
	if w.Shards() != want {
		t.Errorf("%d shards, want %d", w.Shards(), want)
	}
	for shard := w.Shards() - 1; shard >= 0; shard-- {
		var missing *shards.MissingError
		if _, err := shards.Gather(t.Context(), s, options); !errors.As(err, &missing) {
			t.Fatalf("without shard %d: error %v", shard, err)
		}
		if _, _, err := w.Run(t.Context(), shard); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := shards.Gather(t.Context(), s, options); err != nil {
		t.Fatal(err)
	}
}

// sameFiles compares two folders of policies.
func sameFiles(t *testing.T, want, got string) {
	t.Helper()
	for _, pair := range [][2]string{{want, got}, {got, want}} {
		files, err := filepath.Glob(filepath.Join(pair[0], "*.*"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files in %s: %v", pair[0], err)
		}
		for _, file := range files {
			a, err := os.ReadFile(file)
			b, err2 := os.ReadFile(filepath.Join(pair[1], filepath.Base(file)))
			if err := errors.Join(err, err2); err != nil || !bytes.Equal(a, b) {
				t.Errorf("%s differs: %v", filepath.Base(file), err)
			}
		}
	}
}
