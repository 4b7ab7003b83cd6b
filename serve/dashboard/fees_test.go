package dashboard

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"pipe/pipeline/decisionlog"
)

// Fees of pairs are part of every cost and saving on the page, computed again in the plainest way, and such decisions count
// as made at other prices.
func TestPairFees(t *testing.T) {
	c, _ := timed()
	info, r := planted(), rand.New(rand.NewPCG(11, 12))
	const n = 2000
	of := []float64{0.25, 0.125, 0.5, 0}
	var measured, residual, expected float64
	saving := map[string]float64{} // sums against every pair, by what they follow from
	for i := range n {
		rec, loss := draw(r, info, strconv.Itoa(i), 0.5)
		if i%4 == 0 {
			rec.PairFees = of
			for k := range 3 {
				rec.ExpectedCost[k] += float32(of[k])
			}
		}
		c.Add("p", "d", info, []*decisionlog.Record{rec})
		value := loss(rec.Action)
		c.Outcome(decisionlog.Outcome{ID: rec.ID, Loss: &value})
		chosen := float64(rec.ExpectedCost[rec.Action])
		cost := value + info.Actions.Fees(info.Lambda)[rec.Action]
		if rec.PairFees != nil {
			cost += of[rec.Action]
		}
		measured, residual, expected = measured+cost, residual+cost-chosen, expected+chosen
		for k := range 3 {
			pair := float64(rec.ExpectedCost[k])
			saving[info.Actions.Name(k)+byExpectations] += pair - chosen
			if k == rec.Action {
				pair += (cost - pair) / rec.Propensity[k]
			}
			saving[info.Actions.Name(k)+byOutcomes] += pair - cost
		}
	}
	p := c.State(1).Policies[0]
	if p.OtherPrices != n/4 || len(p.Savings) < 2 {
		t.Errorf("%d decisions at other prices, %d savings", p.OtherPrices, len(p.Savings))
	}
	near(t, "expected cost", *p.Costs.ExpectedCost, expected/n)
	near(t, "measured cost", p.Costs.MeasuredCost.Mean, measured/n)
	near(t, "residual", p.Costs.Residual.Mean, residual/n)
	for _, s := range p.Savings {
		near(t, "saving by "+s.By+" against "+s.Against, s.Mean.Mean, saving[s.Against+s.By]/n)
	}
}
