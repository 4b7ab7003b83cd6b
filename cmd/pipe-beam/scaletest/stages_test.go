package scaletest

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pipe/cloud/cloudtest"
	"pipe/internal/storage"
	"pipe/internal/storage/storagetest"
	"pipe/pipeline/train"
)

// table is a run of featurize, costs, train and decide on this machine, whose inputs are in the bucket, too.
type table struct {
	*world
	local  string // the folder of the run
	shards string
}

// inputs are what the stages on Flink read, by name in the bucket and in the folder of the local run.
var inputs = []string{
	"columns.yaml", "raw/train_transaction.csv", "raw/train_identity.csv", "train.yaml", "costs.parquet", "policies/ours-lambda0-seed0.onnx",
	"policies/ours-lambda0-seed0.onnx.json", "table/encoder.json",
}

// TestStages: featurize, train and decide on Flink leave the bytes of local runs. All that their workers read is in the bucket: tables,
// configurations, the cost tensor, the policy and its encoder.
func TestStages(t *testing.T) {
	need(t, "small")
	s := newTable(t)
	t.Run("featurize", func(t *testing.T) { s.in(t).featurize() })
	t.Run("train", func(t *testing.T) { s.in(t).train() })
	t.Run("decide", func(t *testing.T) { s.in(t).decide() })
	if form == "full" {
		t.Run("decide, TaskManager killed", func(t *testing.T) { s.in(t).decideKilled() })
	}
}

func newTable(t *testing.T) *table {
	t.Helper()
	w := newWorld(t)
	s := &table{world: w, local: w.folder, shards: "4"}
	rows := "20000"
	if form == "full" {
		rows, s.shards = "200000", "12"
	}
	columns, err := os.ReadFile(filepath.Join(os.Getenv("PIPE_ROOT"), "configs", "fraud-columns.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	w.write("columns.yaml", string(columns))
	w.write("train.yaml", "train: {recipe: paper, lambdas: [0, 0.5], seeds: 2, network: {epochs: 3}}\n")
	w.write("costs.yaml", `costs:
  instances: {kind: tabular, file: table/table.parquet}
  labels: ["0", "1"]
  split: {kind: column}
  advice:
    - {name: none, kind: groups, through: base}
    - {name: contact, fee: 0.08, kind: groups, through: contact}
  experts: [{name: linear, fee: 0.02, kind: logistic}]
  features: [{kind: groups, groups: [base]}]
`)
	path := s.path
	w.run("pipe", "generate", "fraud", "--quiet", "--rows", rows, "--columns", "55", "--world", "planted", "--out", path("raw"))
	featurized := w.run("pipe", "featurize", "--quiet", "--columns", path("columns.yaml"), "--in", path("raw/train_transaction.csv"),
		"--join", path("raw/train_identity.csv"), "--out", path("table"))
	w.run("pipe", "costs", "--quiet", "--config", path("costs.yaml"), "--out", path("costs.parquet"))
	trained := w.run("pipe", "train", "--quiet", "--threads", "1", "--in", path("costs.parquet"), "--config", path("train.yaml"), "--out", path("policies"))
	decided := w.run("pipe", "decide", "--quiet", "--threads", "1", "--policy", path("policies/ours-lambda0-seed0.onnx"), "--encoder", path("table/encoder.json"),
		"--in", path("raw/train_transaction.csv"), "--scores", "--out", path("decisions.csv"))
	t.Logf("local runs on %s rows: featurize %.1f s, train %.1f s, decide %.1f s", rows, featurized.Seconds(), trained.Seconds(), decided.Seconds())
	s.upload()
	return s
}

// upload puts the inputs into the bucket.
func (s *table) upload() {
	s.Helper()
	to := storagetest.Folder(s, s.s3.URL("in"))
	for _, name := range inputs {
		text, err := os.ReadFile(s.path(name))
		if err == nil {
			err = to.WriteFile(s.Context(), name, text, storage.WriteOptions{})
		}
		if err != nil {
			s.Fatal(err)
		}
	}
}

// in is the same in a subtest.
func (s *table) in(t *testing.T) *table {
	w := *s.world
	w.T = t
	return &table{world: &w, local: s.local, shards: s.shards}
}

func (s *table) path(name string) string { return filepath.Join(s.local, name) }
func (s *table) url(name string) string  { return s.s3.URL("in", name) }

// beam runs a stage on Flink with its work in the bucket.
func (s *table) beam(work, shards string, args ...string) {
	s.Helper()
	s.s3.Requests()
	took := s.run("pipe-beam", slices.Concat(args, []string{"--quiet", "--shards", shards}, s.onFlink(work))...)
	s.Logf("%s shards on Flink: %.1f s, %s", shards, took.Seconds(), s.requests())
}

func (s *table) featurize() {
	s.beam("featurize", s.shards, "featurize", "--columns", s.url("columns.yaml"), "--in", s.url("raw/train_transaction.csv"),
		"--join", s.url("raw/train_identity.csv"), "--out", s.path("table-flink"))
	s.sameFolder("table", "table-flink")
}

// train has a shard for each of six policies.
func (s *table) train() {
	s.beam("train", "6", "train", "--in", s.url("costs.parquet"), "--config", s.url("train.yaml"), "--out", s.path("policies-flink"))
	s.sameFolder("policies", "policies-flink")
}

// decide has its output in the bucket, too.
func (s *table) decide() {
	s.decideInto("decide")
}

func (s *table) decideInto(work string) {
	s.Helper()
	s.beam(work, s.shards, "decide", "--policy", s.url("policies/ours-lambda0-seed0.onnx"), "--encoder", s.url("table/encoder.json"),
		"--in", s.url("raw/train_transaction.csv"), "--scores", "--out", s.s3.URL("out", work+".csv"))
	from := storagetest.Folder(s, s.s3.URL("out"))
	got, err := from.ReadFile(s.Context(), work+".csv", 1<<30)
	if err != nil {
		s.Fatal(err)
	}
	s.write(work+".csv", string(got))
	s.same(s.path("decisions.csv"), filepath.Join(s.folder, work+".csv"))
}

// decideKilled kills a TaskManager in the middle.
func (s *table) decideKilled() {
	var killed atomic.Bool
	s.watch("killed", func(n int64) {
		if n != 3 {
			return
		}
		if err := s.flink.KillTaskManager(1); err != nil {
			s.Error(err)
		}
		killed.Store(true)
	})
	s.decideInto("killed")
	if !killed.Load() {
		s.Error("the TaskManager was not killed in the middle")
	}
}

// sameFolder compares two folders of outputs of the local folder.
func (s *table) sameFolder(want, got string) {
	s.Helper()
	a, b := s.contents(want), s.contents(got)
	if names := slices.Sorted(maps.Keys(a)); len(names) == 0 || !slices.Equal(names, slices.Sorted(maps.Keys(b))) {
		s.Errorf("%s has %v, %s has %v", want, names, got, slices.Sorted(maps.Keys(b)))
	}
	for name, text := range a {
		if b[name] != text {
			s.Errorf("%s differs: %d and %d bytes", name, len(text), len(b[name]))
		}
	}
}

// contents reads a folder. The report of training names its tensor as it was given.
func (s *table) contents(folder string) map[string]string {
	s.Helper()
	tensor := strings.NewReplacer("s3://"+cloudtest.Bucket+"/in/", "", s.local+"/", "")
	list, err := os.ReadDir(s.path(folder))
	if err != nil {
		s.Fatal(err)
	}
	all := map[string]string{}
	for _, file := range list {
		if file.IsDir() || file.Name() == "lock" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(s.path(folder), file.Name()))
		if err != nil {
			s.Fatal(err)
		}
		all[file.Name()] = string(text)
		if file.Name() == train.ReportFile {
			all[file.Name()] = tensor.Replace(string(text))
		}
	}
	return all
}
