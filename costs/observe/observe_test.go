package observe

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pipe/costs"
)

// TestFactsOfAnAnswer compares facts with figures that were counted by hand.
func TestFactsOfAnAnswer(t *testing.T) {
	none := math.NaN()
	text := func(s string) Answer {
		a := Unknown()
		a.Written, a.Text = true, s
		return a
	}
	for _, c := range []struct {
		name         string
		answer       Answer
		length, json float64
	}{
		{"nothing is known", Unknown(), none, none},
		{"an empty text", text(""), 0, 0},
		{"outer space", text("  ab c\n"), 4, 0},
		{"characters are not bytes", text("né — ß"), 6, 0},
		{"thoughts", text("<think>{}</think>\n{\"a\": [1]}"), 10, 1},
		{"thoughts that were cut", text("<think>so"), 0, 0},
		{"a number", text("42"), 2, 1},
		{"JSON that ends early", text(`{"a": `), 5, 0},
		{"two values", text("{} {}"), 5, 0},
		{"no UTF-8", text("\xff\xfe"), 2, 0},
	} {
		if got := c.answer.Number(Length); !same(got, c.length) {
			t.Errorf("%s: length is %v, not %v", c.name, got, c.length)
		}
		if got := c.answer.Number(JSON); !same(got, c.json) {
			t.Errorf("%s: json is %v, not %v", c.name, got, c.json)
		}
	}
}

// TestNothingIsKnown checks that what is not known is never a number.
func TestNothingIsKnown(t *testing.T) {
	a := Unknown()
	for _, name := range append(Names(), "other") {
		if IsCategory(name) && a.Category(name) != "" || a.Number(name) == a.Number(name) {
			t.Errorf("%s: got %v, %q", name, a.Number(name), a.Category(name))
		}
	}
	dst := []float32{1, 1, 1, 1}
	Fill(dst, []costs.Fact{{Name: Label, Values: []string{"", "a"}}, {Name: Length}, {Name: "other"}, {Name: "other", Values: []string{"a"}}}, &a)
	for i, v := range dst {
		if v == v {
			t.Errorf("fact %d is %v", i, v)
		}
	}
}

// TestFilledFacts writes facts beside values that a table had.
func TestFilledFacts(t *testing.T) {
	facts := []costs.Fact{{Name: Label, Values: []string{"NO", "YES"}}, {Name: Finish, Values: []string{"length", "stop"}}, {Name: Confidence}, {Name: LogProb}, {Name: Cosine}, {Name: Length}}
	none := float32(math.NaN())
	for _, c := range []struct {
		answer Answer
		want   []float32
	}{
		{Answer{Label: "YES", Finish: "stop", Confidence: 0.75, LogProb: -0.5, Cosine: 0.25}, []float32{1, 1, 0.75, -0.5, 0.25, none}},
		{Answer{Written: true, Text: "I say: **no**.", Finish: "tool_calls", Confidence: math.NaN()}, []float32{0, none, none, 0, 0, 14}},
		{Answer{Written: true, Text: "yes or no", Finish: "length"}, []float32{none, 0, 0, 0, 0, 9}},
		{Answer{Label: "MAYBE", Written: true, Text: "yes"}, []float32{none, none, 0, 0, 0, 3}},
	} {
		got := make([]float32, len(facts))
		Fill(got, facts, &c.answer)
		for i := range got {
			if !same(float64(got[i]), float64(c.want[i])) {
				t.Errorf("%+v: %s is %v, not %v", c.answer, facts[i].Name, got[i], c.want[i])
			}
		}
	}
}

// TestLawsOfTexts checks what holds for any text.
func TestLawsOfTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := Unknown()
		plain := rapid.String().Filter(func(text string) bool { return !strings.Contains(text, "think>") })
		a.Written, a.Text = true, plain.Draw(t, "text")
		padded := a
		padded.Text = "\n <think>a thought</think> " + a.Text + "\t"
		for _, name := range []string{Length, JSON} {
			if x, y := a.Number(name), padded.Number(name); x != y || x < 0 || x != x {
				t.Fatalf("%s is %v, and %v with thoughts and space around it", name, x, y)
			}
		}
		if a.Number(Length) > float64(len(a.Text)) || a.Number(JSON) > 1 {
			t.Fatalf("length %v, json %v", a.Number(Length), a.Number(JSON))
		}
	})
}

// TestNumbersAreFinite checks that what no table could hold is not known.
func TestNumbersAreFinite(t *testing.T) {
	a := Answer{Confidence: math.Inf(1), LogProb: math.Inf(-1), Cosine: 1e300}
	for _, name := range []string{Confidence, LogProb, Cosine} {
		if v := a.Number(name); v == v {
			t.Errorf("%s is %v", name, v)
		}
	}
}

func TestCosines(t *testing.T) {
	for _, c := range []struct {
		a, b []float32
		want float64
	}{
		{[]float32{3, 4}, []float32{6, 8}, 1},
		{[]float32{3, 4}, []float32{-3, -4}, -1},
		{[]float32{3, 4}, []float32{4, -3}, 0},
		{[]float32{1, 0}, []float32{3, 4}, 0.6},
		{[]float32{0, 0}, []float32{3, 4}, math.NaN()},
	} {
		if got := CosineOf(c.a, c.b); !same(got, c.want) && !(math.Abs(got-c.want) < 1e-12) {
			t.Errorf("%v, %v: %v, not %v", c.a, c.b, got, c.want)
		}
	}
}

func TestCheckNames(t *testing.T) {
	if err := CheckNames(Names()); err != nil {
		t.Error(err)
	}
	for _, list := range [][]string{{"lable"}, {""}, {Label, Length, Label}} {
		if CheckNames(list) == nil {
			t.Errorf("%q was accepted", list)
		}
	}
}

func same(a, b float64) bool { return a == b || a != a && b != b }
