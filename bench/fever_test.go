package bench

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pipe/costs"
	"pipe/internal/realdata"
	"pipe/internal/storage"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// feverClaims are the claims of a run; answering them takes most of the time.
const feverClaims = 20

// feverPaper runs the paper's configuration on a few official claims with tiny models instead of the real ones, and
// returns the options of the run.
func feverPaper(t *testing.T) Options {
	t.Helper()
	claims, models := realdata.Folder(t, "fever"), realdata.Folder(t, "models")
	official := t.TempDir()
	for from, to := range map[string]string{"paper_dev.jsonl": "shared_task_dev.jsonl", "wiki-pages-001.jsonl": "wiki-pages/wiki-001.jsonl"} {
		path := filepath.Join(official, to)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(claims, from), path); err != nil {
			t.Fatal(err)
		}
	}
	tiny := filepath.Join(models, "tiny-random")
	for name, value := range map[string]string{
		"PIPE_FEVER": official, "PIPE_FEVER_CLAIMS": strconv.Itoa(feverClaims), "PIPE_MINILM": filepath.Join(models, "all-MiniLM-L6-v2"),
		"PIPE_QWEN3_4B": tiny + "/qwen3-tiny-random", "PIPE_QWEN3_8B": tiny + "/qwen3-tiny-random", "PIPE_QWEN25_1B": tiny + "/qwen3-tiny-random",
		"PIPE_DEBERTA": tiny + "/deberta-v3-tiny-random",
	} {
		t.Setenv(name, value)
	}
	return Options{Config: filepath.Join("..", "configs", "fever.yaml"), Out: t.TempDir(), Runtime: orttest.OneThread(t)}
}

// TestFeverPaperConfiguration runs configs/fever.yaml unchanged, except for the models and the number of claims.
func TestFeverPaperConfiguration(t *testing.T) {
	if testing.Short() {
		t.Skip("a whole benchmark; the small one of fraud runs in the short form, too")
	}
	o := feverPaper(t)
	r, err := Run(t.Context(), "fever", o, stage.Quiet)
	if err != nil {
		t.Fatal(err)
	}
	if want := []float64{0, 0.5, 1, 2, 4, 6, 8, 10}; !slices.Equal(r.Lambdas(), want) {
		t.Errorf("lambdas %v, want %v", r.Lambdas(), want)
	}
	tensor, err := costs.Read(t.Context(), storage.File(filepath.Join(o.Out, "split0", "costs-paper.parquet")), costs.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	checkFeverTensor(t, tensor)
	checkFeverReport(t, r)
	if _, err := os.Stat(filepath.Join(o.Out, "split0", "costs-paper-advice.jsonl.gz")); err != nil {
		t.Errorf("audit: true leaves no texts: %v", err)
	}
	before := treeOf(t, o.Out)
	if _, err := Run(t.Context(), "fever", o, stage.Quiet); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, treeOf(t, o.Out)); diff != "" {
		t.Errorf("files change when nothing is to be done:\n%s", diff)
	}
}

// checkFeverTensor checks the shape of the benchmark: 3 x 5 actions, all available, 384 features.
func checkFeverTensor(t *testing.T, tensor *costs.Tensor) {
	t.Helper()
	if tensor.Len() != feverClaims || tensor.Dim != 384 || tensor.Actions.Len() != 15 || len(tensor.Actions.Unavailable) != 0 {
		t.Errorf("%d rows, %d features, %d actions, unavailable %v", tensor.Len(), tensor.Dim, tensor.Actions.Len(), tensor.Actions.Unavailable)
	}
	if n := len(tensor.Rows(costs.Val)); n < 4 || n > 6 {
		t.Errorf("%d validation rows of %d", n, feverClaims)
	}
	for i, label := range tensor.Predictions {
		row := i / tensor.Actions.Len()
		if wrong := label != tensor.Labels[row]; wrong != (tensor.Loss[i] == 1) || tensor.Loss[i] != 0 && tensor.Loss[i] != 1 {
			t.Fatalf("row %d: %q is answered, %q is right, the loss is %v", row, label, tensor.Labels[row], tensor.Loss[i])
		}
	}
}

func checkFeverReport(t *testing.T, r *report.Report) {
	t.Helper()
	for _, method := range []string{"ours", "l2d", "best_fixed", "knn", "oracle"} {
		if !slices.ContainsFunc(r.Rows, func(row report.Row) bool { return row.Method == method }) {
			t.Errorf("no row of %s", method)
		}
	}
	for _, e := range r.Experts {
		if e.Accuracy == nil {
			t.Errorf("expert %s under %s has no accuracy", e.Expert, e.Advice)
		}
	}
	if len(r.Experts) != 15 {
		t.Errorf("%d lines about experts, not 15", len(r.Experts))
	}
	if len(r.Retrieval) != 1 || len(r.Retrieval[0].At) != 3 {
		t.Fatalf("recall: %+v", r.Retrieval)
	}
	for i, at := range r.Retrieval[0].At {
		if i > 0 && at.Any < r.Retrieval[0].At[i-1].Any {
			t.Errorf("recall falls with more passages: %+v", r.Retrieval[0].At)
		}
	}
	asked := slices.IndexFunc(r.Answers, func(a report.AnswerQuality) bool { return strings.Contains(a.Part, "reformulated") })
	if asked < 0 || r.Answers[asked].Answers != feverClaims {
		t.Errorf("answers of the reformulator: %+v", r.Answers)
	}
}

// TestFeverSplits: claims with the same text stay together unless they have groups; the configuration sets the kind.
func TestFeverSplits(t *testing.T) {
	c := defaultFever()
	if s := c.costs(feverSetting{}, 2).Split; s.Kind != "hash" || s.Settings["group"] != "text" || s.Settings["seed"] != uint64(2) {
		t.Errorf("%+v", s)
	}
	c.Split.Kind, c.Claims = "stratified", map[string]any{"file": "x", "group": "page"}
	if s := c.costs(feverSetting{}, 0).Split; s.Kind != "stratified" || s.Settings["group"] != nil {
		t.Errorf("%+v", s)
	}
}
