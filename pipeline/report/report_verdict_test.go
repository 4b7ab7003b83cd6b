package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pipe/costs"
)

// TestAVerdictSaysWhatItsFiguresSay: the numbers of the sentence are those of the JSON and of the table, in each the same
// digits.
func TestAVerdictSaysWhatItsFiguresSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &Report{Benchmark: "eval", Verdict: []Verdict{drawVerdict(t)}}
		if rapid.Bool().Draw(t, "money") {
			r.Money = &costs.Money{Currency: "EUR", PerLoss: 2}
		}
		var js, text, markdown bytes.Buffer
		for _, err := range []error{r.WriteJSON(&js), r.WriteText(&text), r.WriteMarkdown(&markdown)} {
			if err != nil {
				t.Fatal(err)
			}
		}
		var read struct{ Verdict []Verdict }
		if err := json.Unmarshal(js.Bytes(), &read); err != nil {
			t.Fatal(err)
		}
		v := read.Verdict[0]
		printed := strings.Join(strings.Fields(text.String()), " ")
		if !strings.HasPrefix(printed, strings.Join(strings.Fields(v.Sentence), " ")) {
			t.Errorf("the text does not begin with %q", v.Sentence)
		}
		if !strings.Contains(markdown.String(), "**"+escapeMarkdown(v.Sentence)+"**") {
			t.Errorf("Markdown without %q", v.Sentence)
		}
		for _, s := range v.Savings {
			said := []string{Amount(positive3(s.Cost)) + " per request", s.Pair}
			if s.Share != nil {
				said = append(said, percents(positive3(*s.Share)))
			}
			for _, want := range said {
				if !strings.Contains(v.Sentence, want) {
					t.Errorf("%q without %q", v.Sentence, want)
				}
			}
			if !strings.Contains(text.String(), Amount(s.Cost)) || !strings.Contains(text.String(), Amount(s.Money)) {
				t.Errorf("no table with %s and %s in\n%s", Amount(s.Cost), Amount(s.Money), &text)
			}
		}
		if v.Deploy == DeployPolicy && !strings.Contains(v.Sentence, " per 1,000 requests") {
			t.Errorf("nothing per 1,000 requests in %q", v.Sentence)
		}
	})
}

// positive3 is a difference as it is said: more or less than another.
func positive3(v Interval) Interval {
	if v.Mean < 0 {
		return v.negative()
	}
	return v
}

func drawVerdict(t *rapid.T) Verdict {
	interval := func(name string, positive bool) Interval {
		mean := rapid.Float64Range(-1, 1).Draw(t, name)
		if positive {
			mean = math.Abs(mean)
		}
		half := rapid.SampledFrom([]float64{0, 1e-6, 0.003, 0.3, 1}).Draw(t, name+" half")
		return Interval{mean, mean - half, mean + half}
	}
	saving := func(name, pair string, positive bool) Saving {
		s := Saving{Against: []string{AgainstFixed}, Pair: pair, Reference: 1, Cost: interval(name, positive), Loss: interval(name+" loss", false), Money: interval(name+" money", false)}
		if rapid.Bool().Draw(t, name+" has a share") {
			s.Share = &s.Cost
		}
		return s
	}
	v := Verdict{Lambda: 0.5, Rows: 10, Policy: "a.onnx", Method: "auto", Deploy: DeployPolicy, Savings: []Saving{saving("first", "x/none", true), saving("second", "y/none", true)}}
	if rapid.Bool().Draw(t, "constant") {
		v.Deploy, v.Pair, v.As, v.Reason = DeployConstant, "z/none", []string{AgainstFixed}, NotCertain
		v.Savings = []Saving{saving("third", "y/none", false)}
		v.PolicySavings = []Saving{saving("of the policy", "z/none", false)}
	}
	return v
}

// Every reason has its words, and every sentence ends.
func TestSentencesOfEveryReason(t *testing.T) {
	seen := map[string]string{}
	for _, deploy := range []string{DeployConstant, DeployNothing} {
		for _, reason := range []string{NoPolicy, GuardFell, OnePair, NotCertain, Dearer, TrainedOn, OneDraw, NoComparison} {
			v := Verdict{Lambda: 2, Deploy: deploy, Reason: reason, Policy: "a.onnx", Pair: "x/none", Rows: 7, PolicySavings: []Saving{{Pair: "x/none", Cost: Interval{-0.1, -0.2, 0.1}}}}
			s := v.sentence(nil)
			if other, known := seen[s]; known {
				t.Errorf("%s and %s: %q", reason, other, s)
			}
			seen[s] = reason
			if !strings.HasPrefix(s, "At lambda 2 ") || !strings.HasSuffix(s, ".") || strings.Contains(s, "%!") {
				t.Errorf("%s: %q", reason, s)
			}
		}
	}
}

var number = regexp.MustCompile(`-?[0-9.]+(e[-+][0-9]+)?`)

// TestAmounts: the three numbers have the same decimals, are within half a unit of the last digit, and have no negative zero.
func TestAmounts(t *testing.T) {
	for want, v := range map[string]Interval{
		"0.071 [0.045, 0.093]":     {0.0709, 0.0451, 0.0931},
		"71 [45, 93]":              {70.9, 45.1, 93.1},
		"0.0007 [-0.0021, 0.0034]": {0.0007, -0.0021, 0.0034},
		"0 [0, 0]":                 {},
		"0.2 [0.2, 0.2]":           {0.2, 0.2, 0.2},
		"0.0 [-2.0, 2.0]":          {-0.01, -2, 2},
	} {
		if got := Amount(v); got != want {
			t.Errorf("%+v is %q, want %q", v, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		v := Interval{rapid.Float64().Draw(t, "mean"), rapid.Float64().Draw(t, "low"), rapid.Float64().Draw(t, "high")}
		if v.High < v.Low {
			v.Low, v.High = v.High, v.Low
		}
		got := number.FindAllString(Amount(v), -1)
		if half := (v.High - v.Low) / 2; len(got) != 3 || !(half > 1e-9) || math.IsInf(half, 0) {
			return
		}
		for i, want := range []float64{v.Mean, v.Low, v.High} {
			printed, err := strconv.ParseFloat(got[i], 64)
			if err != nil || math.Abs(printed-want) > (v.High-v.Low)/2/10+1e-9*math.Abs(want) {
				t.Errorf("%g is printed as %s in %q (%v)", want, got[i], Amount(v), err)
			}
			if strings.HasPrefix(got[i], "-") && printed == 0 {
				t.Errorf("negative zero in %q", Amount(v))
			}
		}
	})
}

// What a learning curve says follows from its interval.
func TestSentencesOfLearning(t *testing.T) {
	points := []LearningPoint{{Rows: 50, Cost: Interval{Mean: 0.4}}, {Rows: 100, Cost: Interval{Mean: 0.3}}}
	for want, d := range map[string]Interval{
		"more rows would probably help":                  {-0.02, -0.03, -0.01},
		"the same pairs were chosen":                     {},
		"more rows would hardly help":                    {0.001, -0.005, 0.005},
		"whether more rows would help is not certain":    {-0.01, -0.03, 0.01},
		"check whether the rows of training and of the ": {0.02, 0.01, 0.03},
	} {
		l := Learning{Lambda: 1, Points: points, Doubling: &d}
		if s := l.sentence(); !strings.Contains(s, want) || !strings.Contains(s, fmt.Sprintf("from 50 to 100 training rows changed the cost by %s per request", Amount(d))) {
			t.Errorf("%q, want %q", s, want)
		}
	}
	if s := (&Learning{Points: points[:1]}).sentence(); s != "" {
		t.Errorf("one point: %q", s)
	}
}

// Names and texts of data cannot break out of the page.
func TestFindingsAreSafe(t *testing.T) {
	bad := "<script>alert(1)</script>\u202e\x1b[31m|"
	r := &Report{
		Benchmark: "eval",
		Verdict:   []Verdict{{Deploy: DeployPolicy, Policy: bad, Savings: []Saving{{Pair: bad, Against: []string{bad}}}, Experts: []ExpertUse{{Expert: bad}}}},
		Money:     &costs.Money{Currency: bad, PerLoss: 1},
		Segments:  []Segments{{Policy: bad, Pair: bad, Segments: []Segment{{By: bad, Name: bad, Like: bad, Finding: bad, Chosen: []PairShare{{bad, 1}}}}, LeftOut: []LeftOut{{By: bad, Name: bad}}}},
		Examples:  []Examples{{Policy: bad, Pair: bad, Kind: bad, Shown: []Example{{ID: bad, Label: bad, Text: bad, Policy: Outcome{Pair: bad, Answer: bad}}}}},
		Learning:  []Learning{{Method: bad, Points: []LearningPoint{{Rows: 1}, {Rows: 2}}, Doubling: &Interval{}}},
	}
	var page, text, markdown bytes.Buffer
	for _, err := range []error{r.WriteHTML(&page), r.WriteText(&text), r.WriteMarkdown(&markdown)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, out := range map[string]string{"page": page.String(), "Markdown": markdown.String()} {
		if strings.Contains(out, "<script>alert") {
			t.Errorf("%s has a tag of the data", name)
		}
	}
	for name, out := range map[string]string{"page": page.String(), "text": text.String(), "Markdown": markdown.String()} {
		if strings.ContainsAny(out, "\x1b\u202e") {
			t.Errorf("%s has control characters", name)
		}
	}
}
