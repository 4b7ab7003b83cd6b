package builder

import (
	"math"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
	"pipe/internal/storage"
)

// TestConstantAnswersLoseHalf: under the weighted loss every constant answer
// loses 0.5 over the training rows, whatever the shares of the labels.
func TestConstantAnswersLoseHalf(t *testing.T) {
	w := newTabularWorld(t, 600)
	w.cfg.TaskLoss = part.Part{Kind: "weighted"}
	p := w.learnt(t)
	for _, label := range p.Labels {
		sum, rows, val := 0.0, 0, 0.0
		for n, e := range p.Source.Entries() {
			loss, err := p.Loss.Loss(&part.Instance{Entry: e}, part.Prediction{Label: label})
			if err != nil {
				t.Fatal(err)
			}
			if p.splits[n] == costs.Train {
				sum, rows = sum+float64(loss), rows+1
			} else {
				val += float64(loss)
			}
		}
		if got := sum / float64(rows); math.Abs(got-0.5) > 1e-6 {
			t.Errorf("always %q loses %v over training rows", label, got)
		}
		if val == 0 {
			t.Errorf("always %q loses nothing over validation rows", label)
		}
	}
	if _, err := p.Loss.Loss(&part.Instance{}, part.Prediction{Label: "no"}); err == nil {
		t.Error("an instance without a label was judged")
	}
}

// moneyWorld is a table with an amount column of which one cell is bad.
func moneyWorld(t *testing.T, settings map[string]any) (*world, error) {
	t.Helper()
	w := newWorld(t, 6)
	w.write(t, "instances.csv", "id,label,split,x,y\nr0,cat,train,10,1\nr1,dog,train,20,2\nr2,owl,train,30,3\nr3,cat,val,40,4\nr4,dog,train,-5,5\nr5,owl,train,60,\n")
	w.cfg.TaskLoss = part.Part{Kind: "money", Settings: settings}
	o := Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir)}
	p, _, err := prepare(t.Context(), &w.cfg, &o)
	if err != nil {
		return w, err
	}
	t.Cleanup(func() { p.Close() })
	rows, err := p.Source.Load(t.Context(), []int{0, 1, 2, 3, 4, 5})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		row    int
		answer string
		loss   float32
		want   string
	}{
		{0, "cat", 0, ""},
		{0, "owl", 0, ""},        // wrong, but nothing was at stake
		{1, "dog", 0, ""},        // right
		{1, "cat", 2*20 + 3, ""}, // missed
		{2, "dog", 7, ""},        // a false alarm
		{4, "cat", 0, "column x: is -5"},
	} {
		got, err := p.Loss.Loss(&rows[c.row], part.Prediction{Label: c.answer})
		if got != c.loss || (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("row %d answered %q: got %v, %v, want %v, %q", c.row, c.answer, got, err, c.loss, c.want)
		}
	}
	return w, nil
}

func TestMoneyLossCountsWhatIsAtStake(t *testing.T) {
	_, err := moneyWorld(t, map[string]any{
		"positive":       "dog",
		"false_negative": map[string]any{"column": "x", "factor": 2, "amount": 3},
		"false_positive": map[string]any{"amount": 7},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestMoneyLossRefusesWhatHasNoPrice(t *testing.T) {
	amount, column := map[string]any{"amount": 7}, map[string]any{"column": "x"}
	for want, settings := range map[string]map[string]any{
		`positive is "fish"; the labels are cat, dog, owl`: {"positive": "fish", "false_negative": amount, "false_positive": amount},
		"false_positive: neither an amount nor a column":   {"positive": "dog", "false_negative": column},
		"false_negative: amount is -1":                     {"positive": "dog", "false_negative": map[string]any{"amount": -1}, "false_positive": amount},
		"false_negative: a factor without a column":        {"positive": "dog", "false_negative": map[string]any{"amount": 1, "factor": 2}, "false_positive": amount},
		"column price: is missing":                         {"positive": "dog", "false_negative": map[string]any{"column": "price"}, "false_positive": amount},
	} {
		if _, err := moneyWorld(t, settings); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// TestMoneyLossReadsTheEncodedTable: amounts are in the unit of the file, not
// standardised.
func TestMoneyLossReadsTheEncodedTable(t *testing.T) {
	w := newTabularWorld(t, 200)
	w.cfg.TaskLoss = part.Part{Kind: "money", Settings: map[string]any{
		"positive": "fraud", "false_negative": map[string]any{"column": "amount"}, "false_positive": map[string]any{"amount": 10},
	}}
	_, tensor := w.build(t)
	amount, found := parttest.Frame(200, 1).Columns[0].Numbers, map[string]int{}
	for n := range tensor.Len() {
		want, kind := float32(0), "right"
		switch answer := tensor.Predictions[n*3]; {
		case answer == "no" && tensor.Labels[n] == "fraud":
			want, kind = amount[n], "missed"
		case answer == "fraud" && tensor.Labels[n] == "no":
			want, kind = 10, "alarm"
		}
		found[kind]++
		if got := tensor.Losses(n)[0]; got != want {
			t.Errorf("row %d (%s): loss %v, want %v", n, kind, got, want)
		}
	}
	if len(found) != 3 {
		t.Errorf("only %v occurred", found)
	}
	w.cfg.TaskLoss.Settings["false_negative"] = map[string]any{"column": "city"}
	if _, err := Run(t.Context(), w.cfg, w.options(t)); err == nil || !strings.Contains(err.Error(), `there is no numeric column "city"; known are amount, serial, age, score`) {
		t.Errorf("got %v", err)
	}
}
