package fromlog

import (
	"strings"
	"testing"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/pipeline/decisionlog"
)

// A visitor sees the decisions of an export, and the answered ones without an outcome.
func TestVisit(t *testing.T) {
	o := DefaultOptions()
	o.Log = storage.File(replay(t, decisionlog.FullFeatures))
	var known, missing []string
	r, err := Visit(t.Context(), o, func(d Priced) error {
		if loss, _ := d.Outcome.LossOf(); d.Cost != loss+d.Fees[d.Answered()] {
			t.Errorf("%s costs %v with the loss %v and the fees %v", d.ID, d.Cost, loss, d.Fees)
		}
		known = append(known, d.Request)
		return nil
	}, func(d decisionlog.Decision) { missing = append(missing, d.Request) })
	if err != nil || len(known) != r.Exported || r.Fallbacks != 2 || strings.Join(missing, " ") != "none" {
		t.Errorf("%v, %v: %+v, %v", known, missing, r, err)
	}
	o.Pairs = &costs.Actions{Experts: []costs.Expert{{Name: "other"}}, Advice: []costs.Advice{{Name: "none"}}}
	if _, err := Visit(t.Context(), o, nil, nil); err == nil || !strings.Contains(err.Error(), "which has other pairs") {
		t.Error(err)
	}
}
