package outcome

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"pipe/costs"
	"pipe/internal/realdata"
)

// loadImport reads one of the configurations that the project comes with.
func loadImport(t *testing.T, name, data string) Config {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(realdata.Root(t), "configs", name))
	if err != nil {
		t.Fatal(err)
	}
	c := DefaultConfig()
	dec := yaml.NewDecoder(bytes.NewReader(bytes.ReplaceAll(b, []byte("${PIPE_DATA}"), []byte(data))))
	dec.KnownFields(true)
	if err := dec.Decode(&c); err != nil {
		t.Fatal(err)
	}
	return c
}

func importReal(t *testing.T, name string) (*costs.Tensor, Report) {
	t.Helper()
	tensor, report, err := Import(context.Background(), loadImport(t, name, realdata.Folder(t)))
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", report)
	return tensor, report
}

func expectNear(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %v, expected %v within %v", what, got, want, tolerance)
	}
}

func TestImportCIFAR10(t *testing.T) {
	tensor, report := importReal(t, "import-cifar10.yaml")
	if tensor.Len() != 2000 || tensor.Dim != 58 || tensor.Actions.Len() != 12 || report.OutcomeRows != 24000 {
		t.Fatalf("%d instances of %d features, %d actions, %d rows", tensor.Len(), tensor.Dim, tensor.Actions.Len(), report.OutcomeRows)
	}
	if tensor.Actions.Advice[0].Name != "one-view" || tensor.Actions.Advice[2].Fee != 0.05 {
		t.Errorf("advice is %v", tensor.Actions.Advice)
	}
	s := costs.Summarize(tensor, count(tensor.Len()), 0)
	expectNear(t, "right answers of the best fixed pair by task loss", 1-slices.Min(s.TaskLoss), 0.759, 1e-9)
	oracle := 0.0
	for n := range tensor.Len() {
		oracle += float64(slices.Max(negated(tensor.Losses(n)))) + 1
	}
	expectNear(t, "right answers of the oracle", oracle/2000, 0.8555, 1e-9)
	if tensor.Predictions[0] != "airplane" || tensor.Labels[0] != "airplane" || tensor.Features[0] != 0.67665 {
		t.Errorf("first row is %q %q %v", tensor.Predictions[0], tensor.Labels[0], tensor.Row(0)[0])
	}
	if len(tensor.Rows(costs.Val)) != 500 {
		t.Errorf("%d rows are held out, expected 500", len(tensor.Rows(costs.Val)))
	}
}

func negated(loss []float32) []float32 {
	out := make([]float32, len(loss))
	for i, v := range loss {
		out[i] = -v
	}
	return out
}

// The reference figures are for another draw of a quarter of the rows.
func TestImportFrugalML(t *testing.T) {
	for _, c := range []struct {
		config           string
		constant, oracle float64
	}{
		{"import-frugalml-ferplus.yaml", 0.244, 0.052},
		{"import-frugalml-yelp.yaml", 0.114, 0.030},
		{"import-frugalml-waimai.yaml", 0.198, 0.057},
		{"import-frugalml-digit.yaml", 0.242, 0.134},
		{"import-frugalml-fluent.yaml", 0.090, 0.017},
		{"import-frugalml-command.yaml", 0.114, 0.034},
	} {
		t.Run(c.config, func(t *testing.T) {
			tensor, _ := importReal(t, c.config)
			for _, rows := range [][]int{count(tensor.Len()), tensor.Rows(costs.Val)} {
				s := costs.Summarize(tensor, rows, 1)
				expectNear(t, "best fixed pair", s.BestCost, c.constant, 0.012)
				expectNear(t, "oracle", s.Oracle, c.oracle, 0.012)
			}
			if tensor.Actions.Len() != 4 || len(tensor.Actions.Advice) != 1 {
				t.Errorf("actions are %v", tensor.Actions.Names())
			}
			checkServices(t, tensor)
		})
	}
}

// checkServices checks what is seen of the answers of services: the label is the prediction, and the first feature
// is the confidence of the cheapest service, which is the last expert.
func checkServices(t *testing.T, tensor *costs.Tensor) {
	label, confidence := tensor.Fact("label"), tensor.Fact("confidence")
	if label == nil || confidence == nil || !label.Category() || confidence.Category() {
		t.Fatalf("facts are %+v", tensor.Facts)
	}
	a := tensor.Actions.Len()
	for n := range tensor.Len() {
		for i := n * a; i < (n+1)*a; i++ {
			if label.Text(i) != tensor.Predictions[i] || !(confidence.Data[i] >= 0 && confidence.Data[i] <= 1) {
				t.Fatalf("row %d: %q for %q, %v", n, label.Text(i), tensor.Predictions[i], confidence.Data[i])
			}
		}
		if c, v := confidence.Data[n*a+a-1], tensor.Row(n)[0]; math.Abs(float64(c-v)) > 1e-6 {
			t.Fatalf("row %d: confidence %v, but the feature is %v", n, c, v)
		}
	}
}

func TestImportMMLUPro(t *testing.T) {
	tensor, report := importReal(t, "import-mmlu-pro.yaml")
	if report.Instances != 12032 || report.Kept != 10326 || report.MissingCells != 1713 || tensor.Actions.Len() != 29 {
		t.Errorf("%d questions, %d complete, %d cells missing, %d models; expected 12032, 10326, 1713, 29",
			report.Instances, report.Kept, report.MissingCells, tensor.Actions.Len())
	}
	if len(report.Dropped) != 1 || report.Dropped[0].Count != 12032-10326 {
		t.Errorf("dropped are %v", report.Dropped)
	}
	if tensor.Dim != 16 || report.FeatureNames[0] != "length of question" || !strings.HasPrefix(report.FeatureNames[2], "category=") {
		t.Errorf("features are %v", report.FeatureNames)
	}
	for n := range 100 {
		var categories float32
		for _, v := range tensor.Row(n)[2:] {
			categories += v
		}
		if categories != 1 || tensor.Row(n)[0] < 1 {
			t.Fatalf("features of row %d are %v", n, tensor.Row(n))
		}
	}
}

func TestMissingCellsAreCounted(t *testing.T) {
	c := loadImport(t, "import-mmlu-pro.yaml", realdata.Folder(t))
	c.DropIncomplete = false
	_, _, err := Import(context.Background(), c)
	var data *costs.DataError
	if !errors.As(err, &data) {
		t.Fatalf("got %v, expected a *DataError", err)
	}
	for _, part := range []string{"1706 of 12032", "1713 cells", "missing: drop"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
}
