package report

import (
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"pipe/costs"
	"pipe/experts/builder"
	"pipe/experts/builder/part"
	"pipe/internal/atomicfile"
	"pipe/internal/storage"
	"pipe/models/policy"
	"pipe/pipeline/report/figure"
)

var update = flag.Bool("update", false, "rewrite golden files")

// sampleReport has one of everything that a report can contain.
func sampleReport() *Report {
	return &Report{
		Format: 1, Benchmark: "sample", Title: "Sample <report> | with * marks",
		Rows: []Row{
			{Method: "best_fixed", Lambda: new(1.0), N: 500, TrueLossMean: 0.4, Pair: "a/none", AdviceRate: new(0.0)},
			{
				Method: "ours", Lambda: new(1.0), N: 500, Seeds: 2, TrueLossMean: 0.281, TrueLossStd: new(0.001), ExcessMean: new(0.001), ExcessStd: new(0.001),
				DiffBestFixed: &Interval{Mean: -0.119, Low: -0.13, High: -0.1}, DiffL2D: &Interval{Mean: -0.061, Low: -0.07, High: -0.05}, AdviceRate: new(0.496), BayesMatch: new(0.993),
				Regions: []Region{{"x_1 < 0", new(0.381), new(0.993)}, {"x_1 >= 0", new(0.181), nil}},
			},
			{Method: "ours", Lambda: new(1.0), N: 250, Seeds: 2, TrueLossMean: 0.3, TrueLossStd: new(0.01), ExcessMean: new(0.02), ExcessStd: new(0.01)},
			{Method: "l2d", Lambda: new(1.0), N: 500, Seeds: 2, TrueLossMean: 0.342, TrueLossStd: new(0.001), ExcessMean: new(0.062), ExcessStd: new(0.001)},
			{Method: "l2d", Lambda: new(1.0), N: 250, Seeds: 2, TrueLossMean: 0.345, TrueLossStd: new(0.002), ExcessMean: new(0.065), ExcessStd: new(0.002)},
			{Method: "ours", Lambda: new(0.0), N: 500, Seeds: 2, TrueLossMean: 0.25, TrueLossStd: new(0.0)},
			{Method: "oracle", Lambda: new(1.0), N: 500, TrueLossMean: 0.1},
			{
				Method: "auto", Lambda: new(1.0), N: 500, Seeds: 2, TrueLossMean: 0.4, Pair: "a/none", Plays: "a/none", Fallback: map[string]int{"a/none": 2},
				ChangedFees: []costs.FeeChange{{Kind: "expert", Name: "a", Trained: 0.1, Here: 0.2}},
			},
			{Method: "best_fixed_train", Lambda: new(1.0), N: 500, TrueLossMean: 0.4, Pair: "a/none"},
			{Method: "best_fixed_train", Lambda: new(0.0), N: 500, TrueLossMean: 0.2, Pair: "b/help"},
			{Method: "knn", Lambda: new(1.0), N: 500, TrueLossMean: 0.2},
			{Method: "random_pair", Lambda: new(0.0), N: 500, TrueLossMean: 0.05},
		},
		Verdict: []Verdict{
			{
				Lambda: 1, Deploy: DeployPolicy, Policy: "auto-lambda1.onnx", Method: "auto", Rows: 500,
				Savings: []Saving{
					{
						Against: []string{AgainstToday, AgainstStrongest}, Pair: "b/help", Reference: 0.31, Cost: Interval{0.071, 0.0452, 0.0931}, Share: &Interval{0.229, 0.15, 0.301},
						Loss: Interval{-0.01, -0.02, 0.001}, Money: Interval{3.2, 2.9, 3.5},
					},
					{Against: []string{AgainstFixed}, Pair: "a/none", Reference: -0.1, Cost: Interval{0.02, 0.01, 0.03}, Loss: Interval{0.02, 0.01, 0.03}},
				},
				Experts: []ExpertUse{{"a", 0.75, 0.2, 0.01}, {"b", 0.25, 0.1, 0.2}},
			},
			{
				Lambda: 2, Deploy: DeployConstant, Policy: "auto-lambda2.onnx", Method: "auto", Pair: "a/none", As: []string{AgainstFixed}, Reason: NotCertain, Origin: true, Rows: 500,
				Savings:       []Saving{{Against: []string{AgainstToday, AgainstStrongest}, Pair: "b/help", Reference: 0.5, Cost: Interval{0.1, 0.08, 0.12}, Share: &Interval{0.2, 0.16, 0.24}}},
				PolicySavings: []Saving{{Against: []string{AgainstFixed}, Pair: "a/none", Reference: 0.4, Cost: Interval{0.003, -0.002, 0.008}, Share: &Interval{0.0075, -0.005, 0.02}}},
				Experts:       []ExpertUse{{"a", 1, 0.4, 0}},
			},
		},
		Money: &costs.Money{Currency: "USD", PerLoss: 40},
		Segments: []Segments{{
			Lambda: 1, Policy: "auto-lambda1.onnx", Pair: "a/none", Rows: 500, Compared: 3,
			Segments: []Segment{
				{By: ByCategory, Name: "topic=law", Rows: 200, Sets: 190, Mean: 0.2, Saved: &Interval{0.2, 0.1, 0.3}, Effect: 0.08, Finding: Helps, Chosen: []PairShare{{"b/help", 0.9}, {"a/none", 0.1}}},
				{By: ByCluster, Name: "cluster 1", Like: "x | y", Rows: 100, Sets: 1, Mean: -0.05, Effect: -0.01, Chosen: []PairShare{{"a/none", 1}}},
				{By: ByLabel, Name: "other", Merged: 4, Rows: 40, Sets: 40, Mean: -0.1, Saved: &Interval{-0.1, -0.15, -0.05}, Effect: -0.008, Finding: Harms, Chosen: []PairShare{{"a/help", 1}}},
			},
			LeftOut: []LeftOut{{By: ByCategory, Name: "topic", Segments: 2, Rows: 9}},
		}},
		Examples: []Examples{{
			Lambda: 1, Policy: "auto-lambda1.onnx", Pair: "a/none", Kind: Won, Rows: 20, Shown: []Example{{
				ID: "q-1", Label: "yes", Text: "Is <b>this</b> | a\n question?", Policy: Outcome{Pair: "b/help", Answer: "yes", Fee: 0.2}, Constant: Outcome{Pair: "a/none", Answer: "no", Loss: 1},
				Expected: new(0.05), Saved: 0.8,
			}},
		}},
		Learning: []Learning{{
			Lambda: 1, Method: "auto", Rows: 500, Points: []LearningPoint{{250, 3, Interval{0.3, 0.28, 0.32}}, {500, 1, Interval{0.28, 0.26, 0.3}}},
			Doubling: &Interval{-0.02, -0.03, -0.01},
		}},
		BestAdvice: []BestAdvice{{Lambda: 1, Experts: []string{"a", "b"}, Advice: []string{"none", ""}, Cost: []float64{0.4, 0}}},
		Distribution: []AdviceShares{
			{Method: "ours", Lambda: 1, Routed: 1, Advice: []string{"none", "help"}, Share: []float64{0.504, 0.496}},
			{Method: "ours", Lambda: 1, Expert: "a", Routed: 0.7, Advice: []string{"none", "help"}, Share: []float64{0.3, 0.7}},
		},
		Cells: []CellTable{{
			Name: "validation", Lambda: 1, Experts: []string{"a", "b"}, Advice: []string{"none", "help"},
			TrueLoss: [][]*float64{{new(0.4), new(0.5)}, {new(0.45), nil}},
		}},
		Disclosure: []Disclosure{
			{Method: "ours", Lambda: 1, Group: "phone", Opened: 0.496, Gross: new(0.2), Net: new(-0.01), TrueLoss: 0.281, Without: new(0.3)},
			{Method: "ours", Lambda: 1, Group: "address", TrueLoss: 0.281},
		},
		Experts: []ExpertQuality{{Rate: 0.035, ExpertFigures: builder.ExpertFigures{
			Expert: "a", Advice: "help", Threshold: new(0.5), Figures: builder.Figures{
				Loss: 0.1, Accuracy: new(0.9), BalancedAccuracy: new(0.8), AUC: new(0.85), Recall: new(0.7), Brier: new(0.08),
				CalibrationError: new(0.1), MeanProbability: new(0.2),
			},
		}}},
		Calibration: []Calibration{{
			Policy: "auto-lambda1.onnx", Method: "auto", Rows: 30, Estimates: 60, Error: 0.05,
			Chosen: []ChosenCalibration{{Lambda: 1, CalibrationMeans: CalibrationMeans{Estimate: 0.2, Loss: 0.25, Error: 0.06, Diff: &Interval{Mean: 0.05, Low: -0.01, High: 0.11}}}},
			Bins:   []policy.CalibrationBin{{Estimate: 0.1, Loss: 0.15, Count: 30}, {Estimate: 0.5, Loss: 0.45, Count: 30}},
			Pairs: []PairCalibration{
				{"a/none", CalibrationMeans{Estimate: 0.4, Loss: 0.4, Error: 0.01, Diff: &Interval{Mean: 0, Low: -0.1, High: 0.1}}},
				{"b/help", CalibrationMeans{Estimate: 0.2, Loss: 0.21, Error: 0.02}},
			},
		}},
		StandIn:  "models with random weights.",
		Pictures: []PairPictures{{Method: "ours", Lambda: 1, Expert: "a", Advice: "help", Routed: 0.5, Shown: []Picture{{"x.jpg", "cat", "dog", 1}}}},
		Latency:  []builder.PairLatency{{Expert: "a", Advice: "help", Seconds: 0.0125, Fee: 0.0025}},
		Skipped:  []part.BadImage{{ID: "y.jpg", Reason: "the file is empty"}},
		Settings: map[string]string{"epochs": "120", "batch": "256"},
		Notes:    []string{"a note with <tags> & signs"},
	}
}

func TestReportGoldens(t *testing.T) {
	r := sampleReport()
	forms := map[string]func(io.Writer) error{
		"report.txt": r.WriteText, "report.md": r.WriteMarkdown, "report.csv": r.WriteCSV, "report.json": r.WriteJSON,
	}
	for name, write := range forms {
		var got bytes.Buffer
		if err := write(&got); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", name)
		if *update {
			if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got.String()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestReportJSONRoundTrip(t *testing.T) {
	var b bytes.Buffer
	if err := sampleReport().WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	got, err := Read(&b)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sampleReport(), got); diff != "" {
		t.Error(diff)
	}
	if _, err := Read(strings.NewReader(`{"format":2,"rows":[]}`)); err == nil {
		t.Error("a newer format was accepted")
	}
}

func TestBestIgnoresOraclesAndOtherRegimes(t *testing.T) {
	rows := sampleReport().headline()
	var best []string
	for _, row := range rows {
		if isBest(row, rows) {
			best = append(best, Number(row.Lambda)+" "+row.Method)
		}
	}
	if diff := cmp.Diff([]string{"0 ours", "1 ours"}, best); diff != "" {
		t.Error(diff)
	}
}

func TestCSVHasOneLinePerRowAndEqualWidths(t *testing.T) {
	var b bytes.Buffer
	if err := sampleReport().WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	records, err := csv.NewReader(&b).ReadAll() // fails on lines of different width
	if err != nil || len(records) != 1+len(sampleReport().Rows) {
		t.Errorf("%d lines, error %v; want %d lines", len(records), err, 1+len(sampleReport().Rows))
	}
}

func TestPageIsSelfContained(t *testing.T) {
	r := sampleReport()
	r.Figures = []figure.Figure{*ExcessFigure(r.Rows)}
	var b bytes.Buffer
	if err := r.WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, bad := range []string{"<script src", "<link", "src=", "@import", "url(", "<?xml", "<tags>"} {
		if strings.Contains(text, bad) {
			t.Errorf("page holds %q", bad)
		}
	}
	for _, want := range []string{"<svg", "&lt;tags&gt;", "prefers-color-scheme: dark", "0.281 ± 0.001"} {
		if !strings.Contains(text, want) {
			t.Errorf("page lacks %q", want)
		}
	}
}

func TestWriteReportLeavesEveryForm(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	r := sampleReport()
	r.Figures = []figure.Figure{{Name: "f", Body: &figure.Plot{Series: []figure.Series{{Points: []figure.Point{{X: 1, Y: 1}}}}}}}
	if err := Write(t.Context(), storage.File(dir), r); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if diff := cmp.Diff([]string{"calibration.csv", "calibration.svg", "disclosure.csv", "excess.svg", "experts.csv", "f.svg", "flow_ours.svg", "learning.svg", "loss.svg", "report.csv", "report.html", "report.json", "report.md", "segments_lambda1.svg"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestWriteFileLeavesNothingBehindAFailure(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.csv")
	if err := os.WriteFile(path, []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	err := atomicfile.Write(path, func(w io.Writer) error { _, _ = io.WriteString(w, "half"); return io.ErrUnexpectedEOF })
	if err != io.ErrUnexpectedEOF {
		t.Fatalf("error %v", err)
	}
	entries, _ := os.ReadDir(dir)
	if text, _ := os.ReadFile(path); string(text) != "before" || len(entries) != 1 {
		t.Errorf("file holds %q, folder has %d entries", text, len(entries))
	}
}

func TestNum(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if Num(v) != nil {
			t.Errorf("Num(%v) is a number", v)
		}
	}
	if p := Num(0.5); p == nil || *p != 0.5 {
		t.Errorf("Num(0.5) = %v", p)
	}
}

// TestPicturesOfPairs: the page has a line for every pair with pictures, and shows the answers.
func TestPicturesOfPairs(t *testing.T) {
	jpeg := []byte("not really a picture")
	r := sampleReport()
	r.Pictures = []PairPictures{
		{Method: "ours", Lambda: 1, Expert: "a", Advice: "help", Routed: 0.7, Shown: []Picture{{ID: "x<1>.jpg", Label: "cat", Answer: "dog", Loss: 1}, {ID: "y.jpg", Label: "cat", Answer: "cat"}}},
		{Method: "ours", Lambda: 1, Expert: "b", Advice: "none", Routed: 0.3, Shown: []Picture{{ID: "z.jpg", Label: "owl", Answer: "owl"}}},
	}
	r.Album = &builder.Album{JPEG: map[string][]byte{"x<1>.jpg": jpeg, "y.jpg": jpeg}, Names: map[string]string{"dog": "a dog"}}
	var page bytes.Buffer
	if err := r.WriteHTML(&page); err != nil {
		t.Fatal(err)
	}
	source := "data:image/jpeg;base64," + base64.StdEncoding.EncodeToString(jpeg)
	for text, want := range map[string]int{
		source: 2, "a, help: 70.0 % of the rows": 1, "b, none": 0, "x&lt;1&gt;.jpg, label cat, answer a dog": 2, "<s>a dog</s>": 1, "<s>cat</s>": 0,
		"Images by pair: ours at lambda 1": 1,
	} {
		if got := bytes.Count(page.Bytes(), []byte(text)); got != want {
			t.Errorf("%q is there %d times, want %d", text, got, want)
		}
	}
}

// TestNamesOfFilesStayInTheirCells: for any name of a file or a class folder, reports are lines of printable UTF-8.
func TestNamesOfFilesStayInTheirCells(t *testing.T) {
	const name = "a\x1b[2J\nb\t\xff|.jpg"
	r := sampleReport()
	r.Skipped = []part.BadImage{{ID: name, Reason: "its name is\x07 odd"}}
	r.Latency[0].Expert = "a\x1b[0m"
	r.Pictures[0].Shown = []Picture{{ID: name, Label: "cat\x1b", Answer: "dog\n"}}
	r.Album = &builder.Album{JPEG: map[string][]byte{name: []byte("no picture")}}
	for form, write := range map[string]func(io.Writer) error{"text": r.WriteText, "Markdown": r.WriteMarkdown, "HTML": r.WriteHTML} {
		var b bytes.Buffer
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		if !utf8.Valid(b.Bytes()) || strings.ContainsAny(b.String(), "\x1b\x07\ufffd") {
			t.Errorf("%s has what does not print", form)
		}
		if !strings.Contains(b.String(), `a\x1b[2J\nb\t\xff`) {
			t.Errorf("%s does not name the file", form)
		}
	}
}
