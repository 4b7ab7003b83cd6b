package inspect

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/featurize/tabular"
	"pipe/internal/storage"
)

// TestInspectNamesEncryptedParquet: a file with an encrypted footer has a different magic number.
func TestInspectNamesEncryptedParquet(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret.parquet")
	if err := os.WriteFile(path, []byte("PARE"+strings.Repeat("x", 40)+"\x10\x00\x00\x00PARE"), 0o644); err != nil {
		t.Fatal(err)
	}
	var data *tabular.DataError
	if _, err := File(t.Context(), storage.File(path), DefaultOptions()); !errors.As(err, &data) || !strings.Contains(err.Error(), "is an encrypted Parquet file") {
		t.Errorf("got %v", err)
	}
}

// TestInspectCountsUnknownOutcomes: the pairs with unknown outcomes are named, and the complete rows summarised.
func TestInspectCountsUnknownOutcomes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.parquet")
	nan := float32(math.NaN())
	tensor := &costs.Tensor{
		Actions: &costs.Actions{Experts: []costs.Expert{{Name: "a"}, {Name: "b"}}, Advice: []costs.Advice{{Name: "none"}}},
		IDs:     []string{"1", "2", "3"}, Splits: make([]costs.Split, 3), Times: []int64{3_000_000, 0, 2_500_000},
		Dim: 1, Features: []float32{1, 2, 3}, Loss: []float32{1, nan, 0.5, 0.25, nan, nan},
		Propensity: []float64{0.125, 0.875, 0, 1, math.NaN(), math.NaN()},
		Facts: []costs.Facts{
			{Fact: costs.Fact{Name: "confidence"}, Data: []float32{0.5, nan, 0.25, 0.75, nan, nan}},
			{Fact: costs.Fact{Name: "finish", Values: []string{}}, Data: []float32{nan, nan, nan, nan, nan, nan}},
			{Fact: costs.Fact{Name: "label", Values: []string{"no", "yes"}}, Data: []float32{1, 1, 0, 1, 1, 1}},
		},
	}
	if err := costs.Write(t.Context(), storage.File(path), tensor); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	e, err := File(t.Context(), storage.File(path), DefaultOptions())
	if err := errors.Join(err, e.WriteText(&text)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"1970-01-01T00:00:00Z to 1970-01-01T00:00:03Z", "3; the outcomes of all pairs are known on 1 of 3 rows, and only these are summarised",
		"a/none 2, b/none 1", "over 1 rows", "b/none at 0.25", "columns          id, split, features, loss, time, propensity, observed_confidence, observed_finish, observed_label", "of the executed pair on 1 rows, at least 0.125",
		"seen of answers  confidence: numbers from 0.25 to 0.75; known of 3 of 6 answers\n", "finish: texts, not known of any answer\n", `label: texts "yes" 5, "no" 1` + "\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
}

// TestInspectSaysThatLambdaHasNoEffect: beside the summaries at several values of lambda, where no advice has a fee.
func TestInspectSaysThatLambdaHasNoEffect(t *testing.T) {
	for fee, want := range map[float64]bool{0: true, 0.1: false} {
		path := filepath.Join(t.TempDir(), "t.parquet")
		tensor := &costs.Tensor{
			Actions: &costs.Actions{Experts: []costs.Expert{{Name: "a"}}, Advice: []costs.Advice{{Name: "none"}, {Name: "docs", Fee: fee}}},
			IDs:     []string{"1"}, Splits: make([]costs.Split, 1), Dim: 1, Features: []float32{1}, Loss: []float32{1, 0},
		}
		if err := costs.Write(t.Context(), storage.File(path), tensor); err != nil {
			t.Fatal(err)
		}
		o := DefaultOptions()
		o.Lambdas = []float64{0, 1, 4}
		var text strings.Builder
		e, err := File(t.Context(), storage.File(path), o)
		if err := errors.Join(err, e.WriteText(&text)); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text.String(), "lambda has no effect") != want || strings.Contains(text.String(), "so 0, 1 and 4 are one price") != want {
			t.Errorf("a fee of %v:\n%s", fee, &text)
		}
	}
}
