package pipeline_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pipe/costs"
	"pipe/pipeline/findings"
	"pipe/pipeline/report"
)

// TestPermutedSegmentsOfARealTable: on a real table two services have fees that make them equally dear, a policy draws between
// them, and labels and features belong to other rows. Then at most one permutation in twenty may have a finding, up to chance.
func TestPermutedSegmentsOfARealTable(t *testing.T) {
	if testing.Short() {
		t.Skip("long arithmetic in one goroutine: it has no races to find")
	}
	const permutations = 60
	table := realTable(t, "import-frugalml-ferplus.yaml")
	rows := table.Rows(costs.Val)
	two := []int{2, 3}
	means := costs.Summarize(table, rows, 1).TaskLoss
	actions := *table.Actions
	actions.Experts = slices.Clone(actions.Experts)
	for _, i := range two {
		j, _ := actions.Pair(i)
		actions.Experts[j].Fee = 1 - means[i]
	}
	found := 0
	for seed := range uint64(permutations) {
		r := rand.New(rand.NewPCG(seed, 0x7065726d))
		other := table.Subset(r.Perm(table.Len()))
		mixed := *table
		mixed.Actions, mixed.Features, mixed.Labels = &actions, other.Features, other.Labels
		e := findings.Evidence{Tensor: &mixed, Rows: rows, Together: costs.NewClusters(len(rows)), Today: two[0], Resamples: 2}
		p := findings.Policy{Name: "drawn"}
		for range rows {
			p.Action = append(p.Action, two[r.IntN(2)])
		}
		s, err := e.Segments(1, &p)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Segments) < 10 {
			t.Fatalf("%d segments", len(s.Segments))
		}
		if slices.ContainsFunc(s.Segments, func(g report.Segment) bool { return g.Finding != "" }) {
			found++
		}
	}
	t.Logf("findings in %d of %d permutations", found, permutations)
	if found > 8 { // of a binomial distribution with probability 0.05, more in 1 of 200
		t.Errorf("findings in %d of %d permutations", found, permutations)
	}
}
