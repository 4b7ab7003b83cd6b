package learn_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"pipe/models/offpolicy"
	"pipe/pipeline/decisionlog"
	"pipe/pipeline/learn/learntest"
)

// A program reads a decision log row by row, and estimates what a rule of its own would have cost: large where the first feature is
// above 0, against always small, which is deployed. The truth is 0.15 and 0.30.
func Example() {
	dir, err := os.MkdirTemp("", "log")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := learntest.Week(context.Background(), []string{dir}); err != nil { // makes live.onnx and the folder log
		log.Fatal(err)
	}
	decisions, err := decisionlog.Read(dir + "/log")
	if err != nil {
		log.Fatal(err)
	}
	rows := &offpolicy.Log{Pairs: 2}
	for d, err := range decisions.Decisions() {
		if err != nil {
			log.Fatal(err)
		}
		cost, known := d.Cost()
		if !known { // it has no outcome yet
			continue
		}
		rows.Executed, rows.Cost = append(rows.Executed, d.Answered()), append(rows.Cost, cost)
		rows.Logged, rows.Baseline = append(rows.Logged, d.Propensity...), append(rows.Baseline, 1, 0)
		if d.Features[0] > 0 {
			rows.Target = append(rows.Target, 0, 1)
		} else {
			rows.Target = append(rows.Target, 1, 0)
		}
	}
	settings := offpolicy.DefaultSettings()
	settings.Estimator = "snips"
	r, err := offpolicy.Estimate(rows, settings)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d rows\n", rows.Len())
	fmt.Printf("the rule costs %.2f; the gain is %.2f [%.2f, %.2f]\n", r.Target.Mean, r.Gain.Mean, r.Gain.Low, r.Gain.High)
	// Output:
	// 2000 rows
	// the rule costs 0.14; the gain is 0.30 [0.27, 0.33]
}
