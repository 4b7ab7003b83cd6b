package builder

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/experts/kinds"
	"pipe/internal/storage"
)

// TestTimesOfAnswers: recorded answers of people bring their times, where they are known, into the usage of the tensor.
func TestTimesOfAnswers(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	rows, answers := "id,label\n", "id,expert,advice,answer,seconds,person\n1,other,,REFUTES,99,eva\n"
	for n := range 40 {
		rows += fmt.Sprintf("%d,%s\n", n, []string{"SUPPORTS", "REFUTES"}[n%2])
		answers += fmt.Sprintf("%d,reviewer,,SUPPORTS,%s,ana\n", n, []string{"12.5", ""}[n%2])
	}
	claims := write("claims.csv", rows)
	build := func(answers string) (*costs.Tensor, error) {
		cfg := predictionsConfig(claims, nil)
		cfg.Labels = cfg.Labels[:2]
		cfg.Experts = []part.ExpertConfig{{Name: "reviewer", Kind: "precomputed", Settings: map[string]any{
			"file": write("answers.csv", answers), "expert": "expert", "prediction": "answer", "seconds": "seconds",
		}}}
		out := filepath.Join(t.TempDir(), "out.parquet")
		if _, err := Run(t.Context(), cfg, Options{Kinds: kinds.Builtin(), Out: storage.File(out)}); err != nil {
			return nil, err
		}
		return costs.Read(t.Context(), storage.File(out), costs.ReadOptions{})
	}
	tensor, err := build(answers)
	if err != nil {
		t.Fatal(err)
	}
	for n, id := range tensor.IDs {
		v := tensor.Usage[costs.Seconds][n*tensor.Actions.Len()]
		if odd := strings.ContainsAny(id[len(id)-1:], "13579"); !odd && v != 12.5 || odd && v == v {
			t.Errorf("row %s took %v", id, v)
		}
	}
	if tensor.Usage[costs.TokensIn] != nil {
		t.Error("people have no tokens")
	}
	if _, err := build(strings.Replace(answers, "12.5", "-1", 1)); err == nil || !strings.Contains(err.Error(), "seconds") {
		t.Error(err)
	}
}
