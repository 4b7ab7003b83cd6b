package policy

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/costs/coststest"
	"pipe/onnx"
	"pipe/onnx/ort/orttest"
)

// echoPolicy is the file of a policy with J = K+1 = 2 whose answers are its features: four scores, then action, expert
// and advice. With the features a test sets what a damaged graph would answer.
func echoPolicy(t testing.TB, change func(p *Policy)) *onnx.Model {
	t.Helper()
	const scores = 4
	g := onnx.NewGraph("echo")
	features := g.Input(FeaturesInput, onnx.Float32, onnx.Shape{onnx.Sym("batch"), onnx.Fix(scores + 3)})
	cut := func(from, to int64) *onnx.Value {
		return g.Slice(features, []int64{from}, []int64{to}, []int64{1}, []int64{1})
	}
	for i, name := range []string{ActionOutput, ExpertOutput, AdviceOutput} {
		at := int64(scores + i)
		g.Output(name, g.Cast(g.ReduceSum(cut(at, at+1), false, 1), onnx.Int64))
	}
	// 1e9 stands for NaN and 2e9 for infinity, which features must not be.
	s := cut(0, scores)
	for mark, v := range map[float64]float64{1e9: math.NaN(), 2e9: math.Inf(1), -2e9: math.Inf(-1)} {
		s = g.Where(g.Equal(s, g.Scalar(onnx.Float32, mark)), g.Scalar(onnx.Float32, v), s)
	}
	g.Output(ScoresOutput, s)
	m, err := g.Build(onnx.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p := biasPolicy(DecoderComposite, 2, 2, 0, 0, 0, 0)
	p.Dim = scores + 3
	change(p)
	m.SetMetadata(p.metadata())
	return m
}

// An answer that violates the contract of the file is an error that names the row, in batches and for single rows, and
// never a decision.
func TestDeciderRefusesAnswersThatBreakTheContract(t *testing.T) {
	const nan, inf, damaged = 1e9, 2e9, "a damaged file"
	good := []float32{0, 3, 1, 2, 1, 0, 1} // scores, action 1 = (0, 1)
	same := func(*Policy) {}
	for _, c := range []struct {
		name   string
		change func(p *Policy)
		row    []float32
		want   string
	}{
		{"good", same, good, ""},
		{"first of equals", same, []float32{3, 3, 1, 2, 0, 0, 0}, ""},
		{"NaN beside the best", same, []float32{nan, 3, 1, 2, 1, 0, 1}, "score of A/a is NaN"},
		{"NaN is the best", same, []float32{0, nan, 1, 2, 1, 0, 1}, "score of A/b is NaN"},
		{"infinity is the best", same, []float32{0, inf, 1, 2, 1, 0, 1}, "score of A/b is +Inf"},
		{"minus infinity elsewhere", same, []float32{0, 3, 1, -inf, 1, 0, 1}, "score of B/b is -Inf"},
		{"all NaN", same, []float32{nan, nan, nan, nan, 4, 2, 0}, "score of A/a is NaN"},
		{"beyond the actions", same, []float32{0, 3, 1, 2, 4, 2, 0}, "answers action 4 (expert 2, advice 0)"},
		{"below the actions", same, []float32{0, 3, 1, 2, -1, 0, -1}, "answers action -1"},
		{"another expert", same, []float32{0, 3, 1, 2, 1, 1, 1}, "answers action 1 (expert 1, advice 1)"},
		{"another advice", same, []float32{0, 3, 1, 2, 1, 0, 0}, "answers action 1 (expert 0, advice 0)"},
		{"not the best", same, []float32{0, 3, 1, 2, 3, 1, 1}, "answers B/b, but its scores prefer A/b"},
		{"the second of equals", same, []float32{3, 3, 1, 2, 1, 0, 1}, "answers A/b, but its scores prefer A/a"},
		{"an excluded pair", same, []float32{excludedScore, excludedScore, excludedScore, excludedScore, 0, 0, 0}, "answers A/a, which it must never choose"},
		{"an unavailable pair", func(p *Policy) { p.Actions.Unavailable = []costs.Pair{{Expert: 0, Advice: 1}} }, good, "answers A/b, which it must never choose"},
		{"another constant", func(p *Policy) { p.Decoder, p.Members, p.Fixed = DecoderFixed, nil, 2 }, good, "always chooses B/a, but it answers A/b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := NewDecider(orttest.Open(t, 0), echoPolicy(t, c.change))
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			_, one := d.DecideOne(context.Background(), nil, c.row)
			_, batch := d.Decide(context.Background(), append(append([]float32{}, c.row...), c.row...), 2)
			for _, err := range []error{one, batch} {
				var row *RowError
				switch {
				case c.want == "" && err != nil:
					t.Error(err)
				case c.want != "" && (!errors.As(err, &row) || row.Row != 0 || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), damaged)):
					t.Errorf("error %v, want one about row 0 and %q", err, c.want)
				}
			}
		})
	}
}

// The second row of a batch is named as such.
func TestDeciderNamesTheRowOfABadScore(t *testing.T) {
	d, err := NewDecider(orttest.Open(t, 0), echoPolicy(t, func(*Policy) {}))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	_, err = d.Decide(context.Background(), []float32{0, 3, 1, 2, 1, 0, 1, 0, 3, 1e9, 2, 1, 0, 1}, 2)
	var row *RowError
	if !errors.As(err, &row) || row.Row != 1 || !strings.Contains(err.Error(), "score of B/a is NaN") {
		t.Error(err)
	}
}

// Metadata that contradicts the graph or itself is refused on reading.
func TestParsePolicyRefusesContradictions(t *testing.T) {
	guard := func(fallback bool) string { return fmt.Sprintf(`{"fixed":"A/a","rows":40,"fallback":%t}`, fallback) }
	for _, c := range []struct {
		name     string
		decoder  Decoder
		key, val string
		want     string // "": accepted
	}{
		{"as it is", DecoderComposite, "recipe", "paper", ""},
		{"wider", DecoderComposite, "dim", "3", "not float32 of width 3, as its metadata says"},
		{"narrower", DecoderComposite, "dim", "1", "not float32 of width 1, as its metadata says"},
		{"other actions of the same number", DecoderComposite, "actions", string(coststest.Actions(make([]float64, 4), []float64{0}).JSON()), ""},
		{"fewer actions", DecoderComposite, "actions", string(coststest.Actions([]float64{0}, []float64{0, 0}).JSON()), "its actions are 2"},
		{"actions of other features", DecoderComposite, "actions", `{"format":1,"experts":[{"name":"A","fee":0},{"name":"B","fee":0}],"advice":[{"name":"a"},{"name":"b","fee":0}],"features":{"name":"x","dim":7}}`, "pipe.dim is 2, pipe.actions say 7"},
		{"another source", DecoderComposite, "feature_source", "elsewhere", `pipe.feature_source is "elsewhere", pipe.actions say ""`},
		{"negative fee", DecoderComposite, "actions", `{"format":1,"experts":[{"name":"A","fee":-1},{"name":"B","fee":0}],"advice":[{"name":"a"},{"name":"b","fee":0}]}`, "fees must be finite and not negative"},
		{"infinite lambda", DecoderComposite, "lambda", "+Inf", "pipe.lambda"},
		{"negative lambda", DecoderComposite, "lambda", "-1", "pipe.lambda"},
		{"minus zero", DecoderComposite, "lambda", "-0", "pipe.lambda"},
		{"tau", DecoderComposite, "tau", "NaN", "pipe.tau"},
		{"no method", DecoderComposite, "method", "", "pipe.method is empty"},
		{"a constant of no members", DecoderComposite, "members", "0", "pipe.members is 0 under the decoder composite"},
		{"members of a constant", DecoderFixed, "members", "2", "pipe.members is 2 under the decoder fixed"},
		{"a constant beyond the actions", DecoderFixed, "fixed", "4", "pipe.fixed"},
		{"a fallback that chooses", DecoderComposite, "guard", guard(true), "the guard fell back to a fixed pair, but the decoder is composite"},
		{"a learned policy", DecoderComposite, "guard", guard(false), ""},
		{"a fallback", DecoderFixed, "guard", guard(true), ""},
		{"no guard", DecoderComposite, "guard", "[]", "pipe.guard"},
		{"an encoder that is not there", DecoderComposite, "encoder.format", "1", "its metadata says that an encoder is in front"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := biasPolicy(DecoderComposite, 2, 2, 0, 1, 2, 3)
			if c.decoder == DecoderFixed {
				p = NewFixed(p.Actions, make([]float64, 4), 1, 2)
				p.Method = "auto"
			}
			m, err := p.Export()
			if err != nil {
				t.Fatal(err)
			}
			meta := m.Metadata()
			meta["pipe."+c.key] = c.val
			m.SetMetadata(meta)
			info, err := Parse(m)
			switch {
			case c.want == "" && (err != nil || c.key == "guard" && info.Guard.Rows != 40):
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want one about %q", err, c.want)
			}
		})
	}
}

// A file without an encoder whose input is not features is not a policy that can be run.
func TestParsePolicyRefusesOtherInputs(t *testing.T) {
	m, err := biasPolicy(DecoderComposite, 2, 2, 0, 1, 2, 3).Export()
	if err != nil {
		t.Fatal(err)
	}
	name := "pixels"
	for _, n := range m.Proto.Graph.Node {
		for i, in := range n.Input {
			if in == FeaturesInput {
				n.Input[i] = name
			}
		}
	}
	m.Proto.Graph.Input[0].Name = &name
	if _, err := Parse(m); err == nil || !strings.Contains(err.Error(), `takes inputs "pixels", not "features" alone, and its metadata names no encoder`) {
		t.Error(err)
	}
}
