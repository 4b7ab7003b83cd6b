package fromlog

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/pipeline/decisionlog"
	"pipe/pipeline/stage"
)

// replay is a log in which some requests were decided until every pair was recorded, others not, some by a fallback.
func replay(t *testing.T, features string) string {
	t.Helper()
	folder := t.TempDir()
	s := decisionlog.DefaultSettings()
	s.Features = features
	to, err := decisionlog.Open(folder, s)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(1)
	if err := to.Policy(w.about); err != nil {
		t.Fatal(err)
	}
	add := func(request string, x float32, action, executed int, loss float64, user, failed string) {
		r, o := w.step(int(x))
		r.Request, r.Features, r.Executed, r.User, r.Error = request, []float32{x, 1}, executed, user, failed
		r.Available[2] = true
		r.Action, r.Propensity = action, []float64{0.25, 0.25, 0.25, 0.25}
		if err := to.Add(r); err != nil {
			t.Fatal(err)
		}
		if math.IsNaN(loss) {
			return
		}
		o.Correct, o.Loss = nil, &loss
		if _, err := to.Outcome(o); err != nil {
			t.Fatal(err)
		}
	}
	for pair := range 4 {
		add("full", 1, pair, -1, float64(pair), "ann", "")
		add("batch", 2, pair, -1, 0.5, "", "") // two rows of one request
		add("batch", 3, pair, -1, 0.25, "", "")
	}
	add("full", 1, 2, -1, 4, "ann", "")                       // pair 2 a second time: 3 on average
	add("half", 4, 0, 1, 0.75, "", "")                        // pair 1 answered
	add("half", 4, 2, -1, 0.5, "", "")                        //
	add("other", 4, 3, -1, 0.5, "", "")                       // the same features, another request
	add("other", 4, 0, -1, 0.5, "", "")                       //
	add("none", 5, 0, -1, math.NaN(), "", "")                 // no outcome
	add("failed", 6, 0, -1, 1, "", "every expert failed")     // no pair answered
	add("late", 7, 1, 2, 0.125, "", "the client disappeared") // but pair 2 answered
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return folder
}

// Instances with the outcome of every pair become a tensor, the others a partial one.
func TestTensors(t *testing.T) {
	folder, out := replay(t, decisionlog.FullFeatures), t.TempDir()
	o := DefaultOptions()
	o.Log, o.Out, o.Partial = storage.File(folder), storage.File(filepath.Join(out, "costs.parquet")), storage.File(filepath.Join(out, "partial.parquet"))
	r, err := Import(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Instances != 6 || r.Complete != 3 || r.Averaged != 1 || r.NoOutcome != 1 || r.Unanswered != 1 || r.Read.Records != 20 {
		t.Errorf("%+v", r)
	}
	full, err := costs.Read(t.Context(), o.Out, costs.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rest, err := costs.Read(t.Context(), o.Partial, costs.ReadOptions{Unknown: true})
	if err != nil {
		t.Fatal(err)
	}
	nan := float32(math.NaN())
	want := map[*costs.Tensor][][]float32{
		full: {{0, 1, 3, 3}, {0.5, 0.5, 0.5, 0.5}, {0.25, 0.25, 0.25, 0.25}},
		rest: {{nan, 0.75, 0.5, nan}, {0.5, nan, nan, 0.5}, {nan, nan, 0.125, nan}},
	}
	for tensor, rows := range want {
		for n, row := range rows {
			for i, v := range tensor.Losses(n) {
				if v != row[i] && !(v != v && row[i] != row[i]) {
					t.Errorf("row %d: losses %v, want %v", n, tensor.Losses(n), row)
				}
			}
		}
		if tensor.Len() != len(rows) || tensor.Dim != 2 || tensor.Times == nil || tensor.Actions.Experts[1].Fee != 0.2 {
			t.Errorf("%d rows of %d features, %v", tensor.Len(), tensor.Dim, tensor.Actions)
		}
	}
	if full.Groups[0] != "ann" || full.Digest() != r.Tensor || rest.Digest() != r.Partial {
		t.Errorf("groups %v, digests %s, %s", full.Groups, full.Digest(), rest.Digest())
	}
	o.Same = SameFeatures
	if r, err = Import(t.Context(), o); err != nil || r.Instances != 5 || r.Complete != 4 {
		t.Errorf("by features: %+v, %v", r, err)
	}
}

// An ordinary log has no instance with every outcome: the other files are written, and the report names what is not.
func TestEmptyTensors(t *testing.T) {
	w, folder, out := newWorld(5), t.TempDir(), t.TempDir()
	to, err := decisionlog.Open(folder, decisionlog.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	w.about.Actions.Digests = map[string]string{costs.FeatureDigest: "sha256:1", "outcomes train.csv": "sha256:2"}
	if err := to.Policy(w.about); err != nil {
		t.Fatal(err)
	}
	var times []int64
	for i := range 10 {
		r, o := w.step(i)
		times = append(times, r.Time)
		if err := to.Add(r); err != nil {
			t.Fatal(err)
		}
		if _, err := to.Outcome(o); err != nil {
			t.Fatal(err)
		}
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	o := DefaultOptions()
	o.Log, o.Out, o.Partial = storage.File(folder), storage.File(filepath.Join(out, "costs.parquet")), storage.File(filepath.Join(out, "partial.parquet"))
	o.DSJSON, o.OBP = storage.File(filepath.Join(out, "log.dsjson")), storage.File(filepath.Join(out, "log.npz"))
	r, err := Import(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.NotWritten) != 1 || r.NotWritten[0].File != o.Out.String() || r.Tensor != "" || r.Partial == "" || r.Exported != 10 {
		t.Errorf("%+v", r)
	}
	for _, file := range []string{o.Partial.String(), o.DSJSON.String(), o.OBP.String()} {
		if info, err := os.Stat(file); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", file, err)
		}
	}
	rest, err := costs.Read(t.Context(), o.Partial, costs.ReadOptions{Unknown: true})
	if err != nil {
		t.Fatal(err)
	}
	if d := rest.Actions.Digests; len(d) != 1 || d[costs.FeatureDigest] != "sha256:1" {
		t.Errorf("the tensor says that it was made from %v", d)
	}
	// What an earlier import wrote would be taken for the result of this one.
	if err := os.WriteFile(o.Out.String(), []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Import(t.Context(), o); err == nil || !strings.Contains(err.Error(), "out of date") {
		t.Errorf("over an earlier tensor: %v", err)
	}
	o.Partial, o.DSJSON, o.OBP = storage.Location{}, storage.Location{}, storage.Location{}
	if _, err := Import(t.Context(), o); err == nil || !strings.Contains(err.Error(), "no instance has") {
		t.Errorf("nothing else: %v", err)
	}
	during(t, folder, times)
}

// during imports parts of a log by time: from Since on, before Until.
func during(t *testing.T, folder string, times []int64) {
	o := DefaultOptions()
	o.Log, o.DSJSON = storage.File(folder), storage.File(filepath.Join(t.TempDir(), "log.dsjson"))
	o.Since, o.Until = time.UnixMicro(times[3]), time.UnixMicro(times[7])
	if r, err := Import(t.Context(), o); err != nil || r.Exported != 4 || r.Outside != 6 {
		t.Errorf("from the fourth to the seventh: %+v, %v", r, err)
	}
	o.Since, o.Until = time.UnixMicro(times[9]+1), time.Time{}
	if _, err := Import(t.Context(), o); err == nil || !strings.Contains(err.Error(), "--since") {
		t.Errorf("after the last: %v", err)
	}
	o.Until = o.Since
	if _, err := Import(t.Context(), o); !errors.As(err, new(*stage.OptionError)) {
		t.Errorf("no time: %v", err)
	}
}

// What cannot be made is an error that says what to do.
func TestErrors(t *testing.T) {
	full, digest, out := replay(t, decisionlog.FullFeatures), replay(t, decisionlog.DigestFeatures), t.TempDir()
	file := filepath.Join(out, "x.parquet")
	for want, change := range map[string]func(o *Options){
		"none of --out":                           func(o *Options) {},
		"needs the setting features":              func(o *Options) { o.Log, o.Out = storage.File(digest), storage.File(file) },
		"no decision is of the":                   func(o *Options) { o.Policy, o.Out = "other", storage.File(file) },
		`no decision is of the policy "greedy@1"`: func(o *Options) { o.Policy, o.Out = "greedy@1", storage.File(file) },
		"is no decision log":                      func(o *Options) { o.Log, o.Out = storage.File(t.TempDir()), storage.File(file) },
		"it ends in .npz":                         func(o *Options) { o.OBP = storage.File(file) },
		"--same":                                  func(o *Options) { o.Same, o.Out = "x", storage.File(file) },
		"choose another --out":                    func(o *Options) { o.Out = storage.File(filepath.Join(full, "decisions-00000001.parquet")) },
	} {
		o := DefaultOptions()
		o.Log = storage.File(full)
		change(&o)
		_, err := Import(t.Context(), o)
		text := ""
		if err != nil {
			text = err.Error()
			var hint interface{ Hint() string }
			if errors.As(err, &hint) {
				text += hint.Hint()
			}
		}
		if !strings.Contains(text, want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	o := DefaultOptions()
	o.Log, o.DSJSON, o.Policy = storage.File(digest), storage.File(filepath.Join(out, "x.dsjson")), "greedy@planted"
	if r, err := Import(t.Context(), o); err != nil || r.Exported != 16 || r.Fallbacks != 2 {
		t.Errorf("%+v, %v", r, err)
	}
	if left, _ := filepath.Glob(filepath.Join(out, ".*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}
