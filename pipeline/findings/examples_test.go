package findings

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"pipe/costs"
	"pipe/pipeline/report"
)

func TestExamples(t *testing.T) {
	x := two(40, 0, 1)
	x.Predictions = make([]string, 4*x.Len())
	for i := range x.Predictions {
		x.Predictions[i] = fmt.Sprint("answer ", i)
	}
	e := evidenceOf(x)
	p := perfect(e)
	p.Action[7], p.Action[8] = 0, 2 // wrong on an odd row, as the constant is, and on an even one, which the constant has right
	p.Expected = make([]float32, 4*len(e.Rows))
	p.Expected[4*8+2] = 0.25
	kinds := map[string]report.Examples{}
	for _, k := range e.Examples(1, p, 3) {
		kinds[k.Kind] = k
	}
	won, lost, surprising := kinds[report.Won], kinds[report.Lost], kinds[report.Surprising]
	if won.Rows != 19 || len(won.Shown) != 3 || won.Pair != "small/none" || math.Abs(won.Shown[0].Saved-0.8) > 1e-9 {
		t.Errorf("won %+v", won)
	}
	want := report.Example{
		ID: "row-48", Policy: report.Outcome{Pair: "large/none", Answer: "answer 194", Loss: 1, Fee: 0.2},
		Constant: report.Outcome{Pair: "small/none", Answer: "answer 192"}, Expected: new(0.25), Saved: -1.2,
	}
	if lost.Rows != 1 || lost.Shown[0].ID != want.ID || lost.Shown[0].Policy != want.Policy || lost.Shown[0].Constant != want.Constant ||
		*lost.Shown[0].Expected != 0.25 || math.Abs(lost.Shown[0].Saved+1.2) > 1e-9 {
		t.Errorf("lost %+v", lost)
	}
	if surprising.Rows != 2 || surprising.Shown[0].ID != "row-47" || surprising.Shown[1].ID != "row-48" {
		t.Errorf("surprising %+v", surprising)
	}
	e.Together = costs.NewClusters(len(e.Rows), slices.Repeat([]int{1, 2}, 20)) // two sets
	if set := e.Examples(1, p, 3)[0]; set.Rows != 19 || len(set.Shown) != 1 {
		t.Errorf("%d examples of rows that belong together", len(set.Shown))
	}
	if none := e.Examples(1, p, 0); none != nil {
		t.Errorf("%+v", none)
	}
}

// A learning curve trains on nested parts of whole sets, and compares all rows with half of them.
func TestLearning(t *testing.T) {
	x := two(160, 0.2, 3)
	for n := range x.Len() {
		x.Groups = append(x.Groups, fmt.Sprint(n/4))
		x.Features[2*n+1] = float32(n)
	}
	e := evidenceOf(x)
	var trained []*costs.Tensor
	learn := func(_ context.Context, t *costs.Tensor) ([][]int, bool, error) {
		trained = append(trained, t)
		p := perfect(e)
		for k := range p.Action {
			if k%160 >= t.Len() { // the policy is right on as many rows as it was trained on
				p.Action[k] = 3
			}
		}
		return [][]int{p.Action, e.constant(3)}, t.Len() > 25, nil
	}
	curves, err := e.Learning(t.Context(), []float64{1, 2}, "mine", learn)
	if err != nil || len(curves) != 2 {
		t.Fatal(curves, err)
	}
	var rows []int
	for _, p := range curves[0].Points {
		rows = append(rows, p.Rows)
	}
	if c := curves[0]; fmt.Sprint(rows) != "[40 80 160]" || c.Method != "mine" || c.Rows != 160 || c.Points[0].Draws != 3 || c.Points[2].Draws != 1 || !(c.Doubling.High < 0) {
		t.Errorf("%+v", c)
	}
	if d := curves[1].Doubling; *d != (report.Interval{}) || len(curves[1].Points) != 3 {
		t.Errorf("a policy that learns nothing: %+v", curves[1])
	}
	near(t, "doubling", curves[0].Doubling.Mean, curves[0].Points[2].Cost.Mean-curves[0].Points[1].Cost.Mean)
	quarter, half := trained[1], trained[4] // after the eighth, which was too small
	for _, id := range quarter.IDs {
		if !slices.Contains(half.IDs, id) {
			t.Errorf("%s is in the quarter and not in the half of the same draw", id)
		}
	}
	groups := map[string]int{}
	for _, g := range half.Groups {
		groups[g]++
	}
	for g, n := range groups {
		if n != 4 {
			t.Errorf("%d rows of group %s", n, g)
		}
	}
	broken := errors.New("broken")
	if _, err := e.Learning(t.Context(), []float64{1}, "mine", func(context.Context, *costs.Tensor) ([][]int, bool, error) { return nil, false, broken }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}
