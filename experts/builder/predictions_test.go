package builder

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/costs/observe"
	"pipe/experts/builder/part"
	"pipe/experts/kinds"
	"pipe/internal/realdata"
	"pipe/internal/storage"
)

// predictionsConfig reads claims, and what published systems said of them, from
// files in the official formats. The systems saw none of our advice.
func predictionsConfig(claims string, systems map[string]string) part.Config {
	c := part.DefaultConfig()
	c.Labels = []string{"SUPPORTS", "REFUTES", "NOT ENOUGH INFO"}
	c.Instances = part.Part{Kind: "table", Settings: map[string]any{"file": claims}}
	c.Advice = []part.AdviceConfig{{Name: "none", Kind: "none"}, {Name: "top1", Fee: 0.1, Kind: "none"}}
	c.Features = []part.Part{{Kind: "columns", Settings: map[string]any{"columns": []string{"id"}}}}
	for _, name := range []string{"kgat", "baseline"} {
		c.Experts = append(c.Experts, part.ExpertConfig{Name: name, Kind: "precomputed", Settings: map[string]any{
			"file": systems[name], "prediction": "predicted_label",
		}})
	}
	return c
}

// TestPredictionsOfFEVERSystems reads prediction files whose accuracy is known.
func TestPredictionsOfFEVERSystems(t *testing.T) {
	dir := realdata.Folder(t, "fever")
	cfg := predictionsConfig(filepath.Join(dir, "paper_dev.jsonl"), map[string]string{
		"kgat": filepath.Join(dir, "predictions-kgat.jsonl"), "baseline": filepath.Join(dir, "predictions-baseline2018.jsonl"),
	})
	cfg.Observe = observe.Names()
	out := filepath.Join(t.TempDir(), "out.parquet")
	if _, err := Run(context.Background(), cfg, Options{Kinds: kinds.Builtin(), Out: storage.File(out)}); err != nil {
		t.Fatal(err)
	}
	tensor, err := costs.Read(t.Context(), storage.File(out), costs.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(tensor.Actions.Unavailable); got != "[{0 1} {1 1}]" {
		t.Errorf("unavailable %s, want top1 of both", got)
	}
	said := tensor.Fact(observe.Label)
	if len(tensor.Facts) != 1 || !slices.Equal(said.Values, []string{"NOT ENOUGH INFO", "REFUTES", "SUPPORTS"}) {
		t.Fatalf("facts %+v", tensor.Facts)
	}
	for cell, label := range tensor.Predictions {
		if said.Text(cell) != label {
			t.Fatalf("cell %d: %q, but the system said %q", cell, said.Text(cell), label)
		}
	}
	for j, want := range []float64{0.786, 0.521} {
		right := 0
		for n := range tensor.IDs {
			if tensor.Losses(n)[tensor.Actions.Index(j, 0)] == 0 {
				right++
			}
			if v := tensor.Losses(n)[tensor.Actions.Index(j, 1)]; v == v {
				t.Fatalf("claim %s has a loss %v under advice that the expert cannot take", tensor.IDs[n], v)
			}
		}
		if got := float64(right) / float64(len(tensor.IDs)); len(tensor.IDs) != 9999 || math.Abs(got-want) > 0.0005 {
			t.Errorf("%s: accuracy %.4f on %d claims, want %.3f", tensor.Actions.Experts[j].Name, got, len(tensor.IDs), want)
		}
	}
}

// TestPredictionFilesThatDoNotFit names line, id and label.
func TestPredictionFilesThatDoNotFit(t *testing.T) {
	claims := `{"id": 7, "label": "SUPPORTS", "claim": "a"}` + "\n" + `{"id": 8, "label": "NOT ENOUGH INFO", "claim": "b"}` + "\n"
	good := `{"id": 7, "predicted_label": "NOT_ENOUGH_INFO", "predicted_evidence": [["A_Page", 0]]}` + "\n" +
		`{"id": 8, "predicted_label": "REFUTES", "predicted_evidence": []}` + "\n" + `{"id": 99, "predicted_label": "REFUTES"}` + "\n"
	for name, c := range map[string]struct{ from, to, want string }{
		"as it is":      {"", "", `row 1: column predicted_label: unknown label "NOT_ENOUGH_INFO"; known are SUPPORTS, REFUTES, NOT ENOUGH INFO`},
		"spelling":      {"NOT_ENOUGH_INFO", "Supports", `row 1: column predicted_label: unknown label "Supports"`},
		"no label":      {`"REFUTES", "predicted`, `null, "predicted`, `row 2: column predicted_label: unknown label ""`},
		"missing":       {`"id": 8`, `"id": 80`, "1 answers are missing, such as 8 under none"},
		"twice":         {`"id": 8`, `"id": 7`, `row 2: column id: "7" has a second answer`},
		"broken":        {`"id": 8,`, `"id": 8`, "row 2: "},
		"another table": {"predicted_label", "label", "column predicted_label: is missing; the columns are id, label, predicted_evidence"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{dir: t.TempDir()}
			w.write(t, "claims.jsonl", claims)
			w.write(t, "p.jsonl", strings.Replace(good, c.from, c.to, 1))
			w.cfg = predictionsConfig("claims.jsonl", map[string]string{"kgat": "p.jsonl", "baseline": "p.jsonl"})
			if name != "as it is" {
				for j := range w.cfg.Experts {
					w.cfg.Experts[j].Settings["label_names"] = map[string]string{"NOT_ENOUGH_INFO": "NOT ENOUGH INFO"}
				}
			}
			if _, err := w.run(context.Background()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}
