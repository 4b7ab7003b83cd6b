package offpolicy_test

import (
	"context"
	"fmt"
	"log"

	"pipe/models/offpolicy"
)

// A log in which the small model (pair 0) is asked nine times of ten and the large one (pair 1) else. It fails long questions,
// which the target would ask the large one.
func ExampleEstimate() {
	l := &offpolicy.Log{Pairs: 2}
	x := offpolicy.Features{Dim: 1}
	for i := range 400 {
		long := i%4 == 0
		executed := 0
		if i/4%10 == 7 {
			executed = 1
		}
		cost := []float64{0.1, 0.3}[executed]
		if long && executed == 0 {
			cost = 0.9
		}
		target := []float64{1, 0}
		if long {
			target = []float64{0, 1}
		}
		l.Executed, l.Cost = append(l.Executed, executed), append(l.Cost, cost)
		l.Logged = append(l.Logged, 0.9, 0.1)
		l.Target, l.Baseline = append(l.Target, target...), append(l.Baseline, 1, 0)
		l.Cluster = append(l.Cluster, i/4) // a user asks four questions
		x.Values = append(x.Values, map[bool]float32{true: 1}[long])
	}
	s := offpolicy.DefaultSettings()
	estimator, err := offpolicy.EstimatorNamed(s.Estimator)
	if err != nil {
		log.Fatal(err)
	}
	if l.Estimates, err = offpolicy.FitCosts(context.Background(), l, x, offpolicy.DefaultFitSettings(estimator)); err != nil {
		log.Fatal(err)
	}
	r, err := offpolicy.Estimate(l, s)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("cost %.2f, gain %.2f, certain: %v\n", r.Target.Mean, r.Gain.Mean, r.Gain.Low > 0)
	fmt.Printf("%d rows count as %.0f; the largest ratio is %.0f\n", r.Support.Rows, r.Support.Effective, r.Support.Largest[0].Ratio)
	// Output:
	// cost 0.15, gain 0.15, certain: true
	// 400 rows count as 120; the largest ratio is 10
}
