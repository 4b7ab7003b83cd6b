package report

import (
	"bytes"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/pipeline/report/page"
)

// cascadeReport has a cascade that is better than one and worse than another of what decides once, and one that looks at nothing.
func cascadeReport() *Report {
	loss := 0.25
	return &Report{Benchmark: "eval", Money: &costs.Money{Currency: "USD", PerLoss: 40}, Cascades: []Cascade{{
		Lambda: 1, Policy: "looks.onnx", Rows: 40, Share: []float64{0.625, 0.375}, Paid: CascadePaid{Loss: 0.125, Money: 0.0625, TrueLoss: 0.1875},
		Others: []CascadeOther{
			{Name: "once.onnx", Role: CascadePolicy, Diff: &Interval{Mean: -0.05, Low: -0.07, High: -0.03}},
			{Name: "small/none", Role: CascadeConstant, Diff: &Interval{Mean: 0.05, Low: 0.03, High: 0.07}},
			{Name: "oracle", Role: CascadeOracle, Paid: CascadePaid{Money: 0.5, MoneyInterval: &Interval{Mean: 0.5, Low: 0.25, High: 0.75}}, Diff: &Interval{Mean: 0.1, Low: 0.08, High: 0.12}},
		},
		Pairs: []CascadePairUse{{Pair: "small/none", First: 1, Executed: 1, Accepted: 0.625, Loss: &loss}},
	}, {
		Lambda: 2, Policy: "blind.onnx", OneShot: true, Rows: 40, Share: []float64{1, 0}, Paid: CascadePaid{TrueLoss: 0.2},
		Others: []CascadeOther{{Name: "small/none", Role: CascadeConstant, Diff: &Interval{Low: -0.1, High: 0.1}}},
	}}}
}

// Sentences say what is certain, what is not, and when a cascade looks at nothing. Money is in the currency of the report. They are written
// anew when a report is read.
func TestCascadeWords(t *testing.T) {
	r := cascadeReport()
	want := []string{
		"At lambda 1 the cascade looks.onnx saves 0.050 [0.030, 0.070] per request against once.onnx, which decides once; it costs 0.050 [0.030, 0.070] per request more than small/none, the best fixed pair of the training rows. It executes one pair on 62.5% of the rows, 2 on 37.5%.",
		"At lambda 2 the cascade blind.onnx accepts every first answer: in training, to look at answers was not shown to be better. It costs 0.2000 per request.",
	}
	for i, c := range r.cascades() {
		if c.Sentence != want[i] {
			t.Errorf("%q, want %q", c.Sentence, want[i])
		}
	}
	var file, text, html bytes.Buffer
	if err := r.WriteJSON(&file); err != nil {
		t.Fatal(err)
	}
	back, err := Read(bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := back.WriteJSON(&again); err != nil || again.String() != file.String() || back.Cascades[0].Sentence != "" {
		t.Errorf("%v: written again: %s, want %s", err, &again, &file)
	}
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "20.0000 [10.0000, 30.0000]") || !strings.Contains(text.String(), "2.5000") || !strings.Contains(text.String(), "fees paid (95%), USD") {
		t.Errorf("%v\n%s", err, &text)
	}
	if err := r.WriteHTML(&html); err != nil || !strings.Contains(html.String(), "What cascades do with each pair") || !strings.Contains(html.String(), want[1]) {
		t.Errorf("%v\n%s", err, &html)
	}
	r.Cascades[0].Others[0].Diff.High = 0.01
	if got := r.cascades()[0].Sentence; !strings.Contains(got, "which decides once, but that is not certain") {
		t.Errorf("%q", got)
	}
	r.Cascades[0].Others[1].Diff.Low = -0.01
	if got := r.cascades()[0].Sentence; !strings.Contains(got, "it costs 0.050 [-0.010, 0.070] per request more than small/none, the best fixed pair of the training rows, but that is not certain") {
		t.Errorf("%q", got)
	}
	r.Cascades[1].Origin = true
	if got := r.cascades()[1].Sentence; got != want[1]+" But it was trained on another table: it may have learned from some of these rows." {
		t.Errorf("%q", got)
	}
	whole := &Report{}
	whole.Join("one", r)
	if got := whole.Of("one").cascades(); len(got) != 2 || !strings.HasPrefix(got[0].Sentence, "one: at lambda 1 the cascade looks.onnx") || len(whole.Of("two").Cascades) != 0 {
		t.Errorf("joined: %+v", got)
	}
}

// A cascade is good news only where it is certain to cost less than something, and than all that there is.
func TestCascadeTone(t *testing.T) {
	less, unsure := &Interval{Mean: -2, Low: -3, High: -1}, &Interval{Mean: -1, Low: -3, High: 1}
	oracle := CascadeOther{Role: CascadeOracle, Diff: unsure}
	for want, others := range map[string][][]CascadeOther{
		page.Good:    {{{Role: CascadeConstant, Diff: less}, oracle}, {{Role: CascadePolicy, Diff: less}, {Role: CascadeConstant, Diff: less}}},
		page.Keep:    {{{Role: CascadePolicy, Diff: less}, {Role: CascadeConstant, Diff: unsure}}, {{Role: CascadePolicy}, oracle}},
		page.Unknown: {{oracle}, nil},
	} {
		for _, o := range others {
			if got := (&Cascade{Others: o}).tone(); got != want {
				t.Errorf("%s, want %s: %+v", got, want, o)
			}
		}
	}
}
