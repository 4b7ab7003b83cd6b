package sharded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pipe/experts/retrieval/bm25"
	"pipe/internal/digest"
	"pipe/internal/storage"
	"pipe/pipeline/features"
	"pipe/pipeline/imports"
	"pipe/pipeline/index"
	"pipe/pipeline/shards"
	"pipe/pipeline/stage"
)

// job is a stage in both forms: on one machine, and in shards with a work folder.
type job struct {
	name  string
	out   string // of the run on one machine and of the gathered one, in a folder of their own each
	files []string
	one   func(ctx context.Context, out string) error
	open  func(out string, n int, o shards.Options) (first, second shards.Stage, err error)
	other func() // changes a setting
}

// write writes a file and returns its path.
func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

const columns = `columns:
  id: key
  label: bad
  labels: ["0", "1"]
  max_levels: 3
  min_count: 2
  groups:
    - {name: base, numeric: [amount], categorical: [kind]}
    - {name: more, categorical: [place]}
`

func featurizeJob(t *testing.T) job {
	dir := t.TempDir()
	primary, joined := "key,bad,amount,kind\n", "key,place\n"
	for n := range 9000 {
		primary += fmt.Sprintf("k%d,%d,%d.%d,\"kind\n%d\"\n", n, n*7%2, n*n%1000, n%10, n%5)
		if n%3 == 0 {
			joined += fmt.Sprintf("k%d,p%d\n", 8999-n, n%11)
		}
	}
	o := features.DefaultOptions()
	o.Columns = storage.File(write(t, filepath.Join(dir, "columns.yaml"), columns))
	o.Primary, o.Joined = storage.File(write(t, filepath.Join(dir, "p.csv"), primary)), storage.File(write(t, filepath.Join(dir, "j.csv"), joined))
	return job{
		name: "featurize", out: "table", files: []string{"table.parquet", "encoder.json", "featurize.json", "featurize.stage.json"},
		one: func(ctx context.Context, out string) error {
			o := o
			o.Out = storage.File(out)
			_, err := features.Run(ctx, o, nil)
			return err
		},
		open: func(out string, n int, work shards.Options) (first, second shards.Stage, err error) {
			o := o
			o.Out = storage.File(out)
			return Featurize(t.Context(), o, n, work, true, nil)
		},
		other: func() { o.Split.Seed = 5 },
	}
}

func indexJob(t *testing.T) job {
	dir := t.TempDir()
	for f := range 3 {
		text := ""
		for n := range 200 {
			text += fmt.Sprintf(`{"id": "Page_%d_%d", "text": "words %d of page %d, and %s", "lines": ""}`+"\n", n, f, n*n%17, f, strings.Repeat("more ", n%4))
		}
		write(t, filepath.Join(dir, fmt.Sprintf("wiki-%d.jsonl", f)), text)
	}
	o := index.DefaultOptions()
	o.Pages = storage.File(dir)
	return job{
		name: "index", out: "pages.bm25", files: []string{""},
		one: func(ctx context.Context, out string) error {
			o := o
			o.Out = storage.File(out)
			_, err := index.Run(ctx, o, nil)
			return err
		},
		open: func(out string, n int, _ shards.Options) (first, second shards.Stage, err error) {
			o := o
			o.Out = storage.File(out)
			second, err = Index(t.Context(), o, n, nil)
			return nil, second, err
		},
		other: func() { o.Settings = bm25.Settings{K1: 2, B: 0.5} },
	}
}

func importJob(t *testing.T) job {
	dir := t.TempDir()
	features := "id,f\n"
	for f := range 5 {
		text := "id,who,loss,user\n"
		for n := range 300 {
			id := (n*5 + f) % 100
			if n < 20 {
				features += fmt.Sprintf("i%d,%d\n", f*20+n, n)
			}
			if n < 60 {
				text += fmt.Sprintf("i%d,expert %d,%.2f,u%d\n", f*20+n/3, n%3, float64(id)/100, (f*20+n/3)%9)
			}
		}
		write(t, filepath.Join(dir, "outcomes", fmt.Sprintf("part-%d.csv", f)), text)
	}
	write(t, filepath.Join(dir, "features.csv"), features)
	config := "outcomes: {file: outcomes, columns: {id: id, expert: who, loss: loss, group: user}}\nfeatures: [{file: features.csv, id: id, columns: [f]}]\n"
	o := imports.Options{Config: storage.File(write(t, filepath.Join(dir, "import.yaml"), config))}
	return job{
		name: "import", out: "costs.parquet", files: []string{""},
		one: func(ctx context.Context, out string) error {
			o := o
			o.Out = storage.File(out)
			_, err := imports.Run(ctx, o, nil)
			return err
		},
		open: func(out string, n int, _ shards.Options) (first, second shards.Stage, err error) {
			o := o
			o.Out = storage.File(out)
			second, err = Import(t.Context(), o, n, nil)
			return nil, second, err
		},
		other: func() { write(t, o.Config.String(), config+"split: {seed: 9}\n") },
	}
}

func jobs(t *testing.T) []job { return []job{featurizeJob(t), indexJob(t), importJob(t)} }

// worker makes shards as a process of its own does: it opens the stage and joins the work.
func (j *job) worker(ctx context.Context, work, out string, n int, list ...int) error {
	o := shards.Default(storage.File(work))
	first, second, err := j.open(out, n, o)
	if err != nil {
		return err
	}
	for i, s := range []shards.Stage{first, second} {
		if s == nil {
			continue
		}
		if o := o; true {
			if i == 0 {
				o.Work = storage.File(filepath.Join(work, FeaturizeFolder))
			}
			w, err := shards.Open(ctx, s, o)
			if err != nil {
				return err
			}
			if _, err := w.RunAll(ctx, list); err != nil {
				return err
			}
		}
	}
	return nil
}

func (j *job) gather(ctx context.Context, work, out string, n int) error {
	_, second, err := j.open(out, n, shards.Default(storage.File(work)))
	if err != nil {
		return err
	}
	_, err = shards.Gather(ctx, second, shards.Default(storage.File(work)))
	return err
}

// same compares all outputs.
func (j *job) same(t *testing.T, a, b string) {
	t.Helper()
	for _, file := range j.files {
		want, err := os.ReadFile(filepath.Join(a, file))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(b, file)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s %s: other bytes (%v)", j.name, file, err)
		}
	}
}

// TestGatheredEqualsOneRun: workers that make the shards at once, two of them the same ones, leave work whose output has
// the bytes of one run.
func TestGatheredEqualsOneRun(t *testing.T) {
	for _, j := range jobs(t) {
		t.Run(j.name, func(t *testing.T) {
			one, many := filepath.Join(t.TempDir(), j.out), filepath.Join(t.TempDir(), j.out)
			if err := j.one(t.Context(), one); err != nil {
				t.Fatal(err)
			}
			const n = 3
			work := t.TempDir()
			errs := make([]error, 4)
			var workers sync.WaitGroup
			for i, list := range [][]int{{0}, {1, 2}, {2}, {0}} {
				workers.Go(func() { errs[i] = j.worker(t.Context(), work, many, n, list...) })
			}
			workers.Wait()
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			if err := j.gather(t.Context(), work, many, n); err != nil {
				t.Fatal(err)
			}
			j.same(t, one, many)
		})
	}
}

// TestShardsOfOtherWorkAreRefused: shards that are missing, of another number or of other settings are an error, and no
// output appears.
func TestShardsOfOtherWorkAreRefused(t *testing.T) {
	for _, j := range jobs(t) {
		t.Run(j.name, func(t *testing.T) {
			work, out := t.TempDir(), filepath.Join(t.TempDir(), j.out)
			n, list := 3, []int{0, 2}
			if j.name == "featurize" {
				list = []int{0, 1, 2}
			}
			if err := j.worker(t.Context(), work, out, n, list...); err != nil {
				t.Fatal(err)
			}
			if j.name == "featurize" { // its second phase needs all of the first
				if err := os.Remove(filepath.Join(work, "done", "000001.json")); err != nil {
					t.Fatal(err)
				}
			}
			var missing *shards.MissingError
			if err := j.gather(t.Context(), work, out, n); !errors.As(err, &missing) || fmt.Sprint(missing.Shards) != "[1]" {
				t.Errorf("shard 1 is missing: %v", err)
			}
			var changed *shards.ChangedError
			if err := j.worker(t.Context(), work, out, 2, 0); !errors.As(err, &changed) {
				t.Errorf("another number of shards: %v", err)
			}
			j.other()
			if err := j.worker(t.Context(), work, out, n, 1); !errors.As(err, &changed) {
				t.Errorf("other settings: %v", err)
			}
			if err := j.gather(t.Context(), work, out, n); !errors.As(err, &changed) {
				t.Errorf("gathering with other settings: %v", err)
			}
			if _, err := os.Stat(out); err == nil && j.name != "featurize" {
				t.Error("there is an output")
			}
		})
	}
}

// TestTruncatedShardsAreRefused: a part that lost bytes is an error that names it.
func TestTruncatedShardsAreRefused(t *testing.T) {
	for _, j := range jobs(t) {
		t.Run(j.name, func(t *testing.T) {
			work, out := t.TempDir(), filepath.Join(t.TempDir(), j.out)
			if err := j.worker(t.Context(), work, out, 2, 0, 1); err != nil {
				t.Fatal(err)
			}
			parts, err := filepath.Glob(filepath.Join(work, "parts", "000001-*"))
			if err != nil || len(parts) == 0 {
				t.Fatal(parts, err)
			}
			if err := os.Truncate(parts[0], 3); err != nil {
				t.Fatal(err)
			}
			if err := j.gather(t.Context(), work, out, 2); err == nil || !strings.Contains(err.Error(), filepath.Base(parts[0])) {
				t.Errorf("a truncated part: %v", err)
			}
		})
	}
}

// TestWhatCannotBeShared: each is one error with what to do.
func TestWhatCannotBeShared(t *testing.T) {
	f, i := featurizeJob(t), importJob(t)
	o := features.DefaultOptions()
	o.Columns, o.Primary, o.Out, o.Split.Kind = storage.File("c.yaml"), storage.File("p.csv"), storage.File("out"), "stratified"
	_, _, byKind := Featurize(t.Context(), o, 2, shards.Default(storage.File("w")), false, nil)
	_, _, moreFiles := i.open("out.parquet", 6, shards.Options{})
	_, appended := Import(t.Context(), imports.Options{Config: storage.File("c.yaml"), Out: storage.File("o.parquet"), Append: true}, 2, nil)
	for says, err := range map[string]error{"use kind hash": byKind, "6 shards of 5 pieces": moreFiles, "pipe merge": appended} {
		var option *stage.OptionError
		if !errors.As(err, &option) || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", says, err)
		}
	}
	// The second phase does not wait if it may not.
	work, out := t.TempDir(), filepath.Join(t.TempDir(), f.out)
	first, _, err := f.open(out, 2, shards.Default(storage.File(work)))
	if err != nil {
		t.Fatal(err)
	}
	w, err := shards.Open(t.Context(), first, shards.Default(storage.File(filepath.Join(work, FeaturizeFolder))))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.RunAll(t.Context(), []int{1}); err != nil {
		t.Fatal(err)
	}
	_, second, err := f.open(out, 2, shards.Default(storage.File(work)))
	if err != nil {
		t.Fatal(err)
	}
	second.(*featurize).wait = false
	if w, err = shards.Open(t.Context(), second, shards.Default(storage.File(work))); err != nil {
		t.Fatal(err)
	}
	var missing *shards.MissingError
	if _, err := w.RunAll(t.Context(), []int{1}); !errors.As(err, &missing) || fmt.Sprint(missing.Shards) != "[0]" {
		t.Errorf("without the summary of shard 0: %v", err)
	}
}

// TestSharedPlansOfOthers: a plan of other work, in a good form, is an error that names it.
func TestSharedPlansOfOthers(t *testing.T) {
	f, i := featurizeJob(t), indexJob(t)
	for plan, j := range map[string]*job{"fit/shared/rows.json": &f, "shared/pages.json": &i} {
		work, out := t.TempDir(), filepath.Join(t.TempDir(), j.out)
		const content = `{"parts":[]}`
		write(t, filepath.Join(work, plan), fmt.Sprintf(`{"digest": %q, "content": %s}`, digest.Of([]byte(content)), content))
		var bad *shards.DataError
		if err := j.worker(t.Context(), work, out, 2, 1); !errors.As(err, &bad) || bad.File != filepath.Join(work, plan) {
			t.Errorf("%s: %v", j.name, err)
		}
	}
}
