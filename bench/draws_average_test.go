package bench

import (
	"bytes"
	"flag"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pipe/experts/builder"
	"pipe/pipeline/report"
)

var updateAverages = flag.Bool("update-averages", false, "rewrite golden files")

// splitReport is a possible report on one split of a benchmark with one setting: shift moves the losses of ours.
func splitReport(shift float64) *report.Report {
	lambda := new(0.5)
	part := &report.Report{
		Rows: []report.Row{
			{Method: "ours", Lambda: lambda, N: 90, Seeds: 2, TrueLossMean: 0.25 + shift, TrueLossStd: new(0.01), AdviceRate: new(0.5)},
			{Method: "l2d", Lambda: lambda, N: 90, Seeds: 2, TrueLossMean: 0.3 + shift/2, AdviceRate: new(0.0)},
			{Method: "best_fixed_train", Lambda: lambda, N: 90, Seeds: 1, Pair: "a/none", TrueLossMean: 0.35, AdviceRate: new(0.0)},
		},
		Distribution: []report.AdviceShares{{Method: "ours", Lambda: 0.5, Expert: "a", Routed: 0.5 + shift, Advice: []string{"none", "help"}, Share: []float64{1, 0}}},
		Cells:        []report.CellTable{{Name: "val", Lambda: 0.5, Experts: []string{"a"}, Advice: []string{"none", "help"}, TrueLoss: [][]*float64{{new(0.35), new(0.3 + shift)}}}},
		Disclosure:   []report.Disclosure{{Method: "ours", Lambda: 0.5, Group: "phone", Opened: 0.5 + shift, Gross: new(0.1 + shift), Net: new(0.05), TrueLoss: 0.25 + shift, Without: new(0.4)}},
		Experts: []report.ExpertQuality{{ExpertFigures: builder.ExpertFigures{
			Expert: "a", Advice: "none", Threshold: new(0.5), Figures: builder.Figures{Loss: 0.2, Accuracy: new(0.8 + shift)},
		}}},
	}
	whole := &report.Report{Format: 1, Benchmark: "sample"}
	whole.Join("own", part)
	return whole
}

func TestAverageReports(t *testing.T) {
	r := averageReports([]*report.Report{splitReport(0), splitReport(0.02), splitReport(0.04)})
	ours, l2d, fixed := r.Rows[0], r.Rows[1], r.Rows[2]
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-12 {
			t.Errorf("%s is %v, want %v", what, got, want)
		}
	}
	near("mean", ours.TrueLossMean, 0.27)
	near("standard error", *ours.TrueLossSE, 0.02/math.Sqrt(3)) // deviations -0.02, 0, 0.02
	near("difference to l2d", ours.PairedL2D.Mean, 0.27-0.31)
	near("its standard error", ours.PairedL2D.SE, 0.01/math.Sqrt(3))
	near("difference to the constant", ours.PairedFixedTrain.Mean, 0.27-0.35)
	if l2d.PairedL2D != nil || fixed.PairedFixedTrain != nil || fixed.Pair != "a/none" || ours.Splits != 3 {
		t.Errorf("rows %+v", r.Rows)
	}
	near("share", r.Distribution[0].Share[0], 1)
	near("routed", r.Distribution[0].Routed, 0.52)
	near("cell", *r.Cells[0].TrueLoss[0][1], 0.32)
	if r.BestAdvice[0].Advice[0] != "help" {
		t.Errorf("best advice %+v", r.BestAdvice)
	}
	near("opened", r.Disclosure[0].Opened, 0.52)
	near("gross", *r.Disclosure[0].Gross, (0.5*0.1+0.52*0.12+0.54*0.14)/1.56) // weighted by the rows that were opened
	near("accuracy", *r.Experts[0].Accuracy, 0.82)
}

// TestSettingsGolden shows a rendered report with settings and splits.
func TestSettingsGolden(t *testing.T) {
	r := averageReports([]*report.Report{splitReport(0), splitReport(0.02)})
	var got bytes.Buffer
	if err := r.WriteText(&got); err != nil {
		t.Fatal(err)
	}
	for _, write := range []func() error{
		func() error { return r.WriteCSV(&got) },
		func() error { return r.WriteDisclosureCSV(&got) },
		func() error { return r.WriteExpertCSV(&got) },
	} {
		if err := write(); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join("testdata", "settings.txt")
	if *updateAverages {
		if err := os.WriteFile(path, got.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("settings.txt (-want +got):\n%s", diff)
	}
}
