package build

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"

	"pipe/costs"
)

// splitByColumn takes the split that the source names for every instance.
func splitByColumn(s *Setup, settings map[string]any) ([]costs.Split, error) {
	if err := s.Settings(settings, &struct{}{}); err != nil {
		return nil, err
	}
	entries := s.Source.Entries()
	splits := make([]costs.Split, len(entries))
	for n, e := range entries {
		if e.Split == "" {
			return nil, errors.New("the instances name no split column")
		}
		split, err := costs.ParseSplit(e.Split)
		if err != nil {
			return nil, fmt.Errorf("instance %q: %w", e.ID, err)
		}
		splits[n] = split
	}
	return splits, nil
}

type stratifiedSettings struct {
	Validation float64 `json:"validation"` // share of every label
	Seed       uint64  `json:"seed"`
}

// splitStratified draws the validation share of every label. The draw depends
// on the seed and on the ids of the label's instances, not on their order.
func splitStratified(s *Setup, settings map[string]any) ([]costs.Split, error) {
	cfg := stratifiedSettings{Validation: 0.25}
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	if !(cfg.Validation > 0 && cfg.Validation < 1) {
		return nil, fmt.Errorf("validation is %v; a share between 0 and 1 is needed", cfg.Validation)
	}
	return stratify(s.Source.Entries(), cfg.Validation, cfg.Seed), nil
}

func stratify(entries []Entry, share float64, seed uint64) []costs.Split {
	byLabel := make(map[string][]int)
	for n, e := range entries {
		byLabel[e.Label] = append(byLabel[e.Label], n)
	}
	splits := make([]costs.Split, len(entries))
	for label, rows := range byLabel {
		slices.SortFunc(rows, func(a, b int) int { return cmp.Compare(entries[a].ID, entries[b].ID) })
		h := fnv.New64a()
		h.Write([]byte(label))
		r := rand.New(rand.NewPCG(seed, h.Sum64()))
		r.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		for _, n := range rows[:int(math.Round(share*float64(len(rows))))] {
			splits[n] = costs.Val
		}
	}
	return splits
}
