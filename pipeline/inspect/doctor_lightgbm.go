package inspect

import (
	"context"
	"errors"
	"fmt"

	"pipe/models/lightgbm"
)

// TreesCheck describes LightGBM, which only boosted trees need: its absence is not a failure.
type TreesCheck struct {
	OK      bool     `json:"ok"`
	Library string   `json:"library,omitempty"`
	Tried   []string `json:"tried"`
	Run     string   `json:"run,omitempty"` // result of the trial run
	Error   string   `json:"error,omitempty"`
	Hint    string   `json:"hint,omitempty"`
	missing bool
}

func (c *Checkup) checkTrees(ctx context.Context) {
	r := &c.LightGBM
	r.Library, r.Tried, _ = lightgbm.Locate("") // Open below reports the same error
	var err error
	r.Run, err = tryTrees(ctx)
	r.OK = err == nil
	if err != nil {
		r.Error, r.Hint = err.Error(), hintOf(err)
		var missing *lightgbm.MissingLibraryError
		r.missing = errors.As(err, &missing)
	}
}

// tryTrees trains one tree on forty rows of two kinds, which it must separate.
func tryTrees(ctx context.Context) (run string, err error) {
	l, err := lightgbm.Open("")
	if err != nil {
		return "", err
	}
	const rows = 40
	var x, label [rows]float32
	for i := range x {
		x[i], label[i] = float32(i%2), float32(i%2)
	}
	p := lightgbm.DefaultParams()
	p.Rounds, p.Leaves, p.MinLeaf, p.Threads = 1, 2, 5, 1
	b, err := l.Train(ctx, x[:], rows, 1, label[:], nil, p, nil)
	if err != nil {
		return "", fmt.Errorf("trial run: %w", err)
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	probability, err := b.Predict(x[:], rows)
	if err != nil {
		return "", fmt.Errorf("trial run: %w", err)
	}
	for i, p := range probability {
		if (p > 0.5) != (label[i] == 1) {
			return "", fmt.Errorf("trial run: row %d of %d has probability %g", i, rows, p)
		}
	}
	return "one tree separated two kinds of rows", nil
}

// lines are the lines of the checkup for a terminal, with captions.
func (r *TreesCheck) lines() [][2]string {
	switch {
	case r.OK:
		return [][2]string{{"LightGBM", "ok: " + r.Run + ", at " + r.Library}}
	case r.missing:
		return [][2]string{{"LightGBM", "not found (only boosted trees need it)"}, {"", r.Hint}}
	default:
		return [][2]string{{"LightGBM", "not usable (only boosted trees need it): " + r.Error}, {"", r.Hint}}
	}
}
