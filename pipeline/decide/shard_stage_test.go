package decide

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/internal/atomicfile"
	"pipe/internal/storage"
	"pipe/internal/storage/storagetest"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide/decidetest"
	"pipe/pipeline/shards"
	"pipe/pipeline/stage"
)

// decideShards makes all shards as a worker per shard, and gathers them.
func decideShards(t *testing.T, rt *ort.Runtime, o ShardOptions, stdout io.Writer) *Summary {
	t.Helper()
	work := shards.Default(storage.File(t.TempDir()))
	open := func() shards.Stage {
		s, err := OpenShards(t.Context(), rt, o, stdout, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	for shard := range o.Shards {
		w, err := shards.Open(t.Context(), open(), work)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.RunAll(t.Context(), []int{shard}); err != nil {
			t.Fatal(err)
		}
	}
	report, err := shards.Gather(t.Context(), open(), work)
	if err != nil {
		t.Fatal(err)
	}
	return report.(*Summary)
}

// TestGatheredDecisions: a gathered file has the bytes of one run, also on standard output; the parts of a folder, read as
// one table, have its rows.
func TestGatheredDecisions(t *testing.T) {
	rt := orttest.Open(t, 1)
	p := decidetest.Policy(5, 7)
	in, rows := writeFeatures(t, p.Actions, 9000, 5)
	text := filepath.Join(t.TempDir(), "rows.csv")
	if err := atomicfile.Write(text, func(w io.Writer) error { return writeCSV(w, rows) }); err != nil {
		t.Fatal(err)
	}
	o := ShardOptions{StreamOptions: DefaultStreamOptions(), Shards: 3}
	o.Policy, o.In, o.Out, o.OutFormat = storage.File(decidetest.WritePolicy(t, p)), storage.File(text), storage.File("-"), "jsonl"
	var want, got bytes.Buffer
	sum, err := Stream(t.Context(), rt, o.StreamOptions, nil, &want, stage.Quiet)
	if err != nil {
		t.Fatal(err)
	}
	gathered := decideShards(t, rt, o, &got)
	if !bytes.Equal(got.Bytes(), want.Bytes()) || gathered.Rows != sum.Rows || len(gathered.Chosen) != len(sum.Chosen) {
		t.Errorf("%d bytes, want %d; %+v, want %+v", got.Len(), want.Len(), gathered, sum)
	}
	for pair, n := range sum.Chosen {
		if gathered.Chosen[pair] != n {
			t.Errorf("%s was chosen %d times, want %d", pair, gathered.Chosen[pair], n)
		}
	}
	_, memory := storagetest.New(t)
	store := storagetest.At(t, memory+"/parts")
	o.In, o.OutFormat, o.Parts = storage.File(in), "auto", true
	for _, o.Out = range []storage.Location{storage.File(filepath.Join(t.TempDir(), "parts")), store, store} { // also where the folder is there
		o.Policy = policyAt(t, memory, o.Policy)
		if sum := decideShards(t, rt, o, nil); !strings.HasPrefix(sum.Policy, "mem://") {
			t.Errorf("the policy is %q", sum.Policy)
		}
		if lines := linesOfParts(t, o.Out, 3); lines != 9000 {
			t.Errorf("%s: the parts have %d rows", o.Out, lines)
		}
	}
}

// policyAt copies a policy into a store.
func policyAt(t *testing.T, store string, policy storage.Location) storage.Location {
	t.Helper()
	t.Setenv(storage.CacheVariable, t.TempDir())
	at := storagetest.At(t, store+"/policy.onnx")
	if policy.IsRemote() {
		return at
	}
	if err := at.Put(t.Context(), policy.Path()); err != nil {
		t.Fatal(err)
	}
	return at
}

// linesOfParts counts the rows in n files of CSV.
func linesOfParts(t *testing.T, folder storage.Location, n int) (lines int) {
	t.Helper()
	files, err := folder.ReadDir(t.Context())
	if err != nil || len(files) != n {
		t.Fatal(files, err)
	}
	for _, f := range files {
		in, err := folder.Join(f.Name()).Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(in)
		if err := errors.Join(err, in.Close()); err != nil {
			t.Fatal(err)
		}
		lines += strings.Count(string(b), "\n") - 1 // the header
	}
	return lines
}

// TestRowsThatCannotBeCut: each is one error with what to do.
func TestRowsThatCannotBeCut(t *testing.T) {
	rt := orttest.Open(t, 1)
	zipped := filepath.Join(t.TempDir(), "rows.csv.gz")
	if err := atomicfile.Write(zipped, func(w io.Writer) error {
		z := gzip.NewWriter(w)
		_, err := io.WriteString(z, "x,y\n1,2\n")
		return errors.Join(err, z.Close())
	}); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "rows.csv")
	if err := os.WriteFile(empty, []byte("x,y\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	o := ShardOptions{StreamOptions: DefaultStreamOptions(), Shards: 2}
	o.Policy, o.Out = storage.File(decidetest.WritePolicy(t, decidetest.Policy(2, 3))), storage.File(filepath.Join(t.TempDir(), "out.csv"))
	for in, says := range map[string]string{"-": "can be read only once", zipped: "is gzipped", filepath.Join(t.TempDir(), "none.csv"): "no such file"} {
		o.In = storage.File(in)
		_, err := OpenShards(t.Context(), rt, o, nil, nil)
		var data *costs.DataError
		if err == nil || !strings.Contains(err.Error(), says) || says != "no such file" && !errors.As(err, &data) {
			t.Errorf("%s: %v", in, err)
		}
	}
	o.In = storage.File(empty)
	s, err := OpenShards(t.Context(), rt, o, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	w, err := shards.Open(t.Context(), s, shards.Default(storage.File(t.TempDir())))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.RunAll(t.Context(), []int{0}); err == nil || !strings.Contains(err.Error(), "has no rows") {
		t.Errorf("no rows: %v", err)
	}
}
