package report

import (
	"cmp"
	"slices"
)

// FrontierPoint is what a method loses and spends at one price: the mean over the reported rows. Money is what is paid:
// the fees of experts, those of advice before lambda, and measured fees. Loss is the task loss alone.
type FrontierPoint struct {
	Setting string `json:"setting,omitempty"`
	Method  string `json:"method"`
	// The price: the multiplier of the fees of advice, and that of the fees of experts. Scale is the multiplier of all fees,
	// if there is one; these points show how much loss money saves.
	Lambda        float64   `json:"lambda"`
	ExpertFactor  float64   `json:"expert_factor"`
	Scale         *float64  `json:"scale,omitempty"`
	Pair          string    `json:"pair,omitempty"` // of a constant
	Loss          float64   `json:"loss"`
	LossInterval  *Interval `json:"loss_interval,omitempty"`
	Money         float64   `json:"money"`
	MoneyInterval *Interval `json:"money_interval,omitempty"`
	TrueLoss      float64   `json:"true_loss"`                       // at the price
	DiffConstant  *Interval `json:"diff_best_fixed_train,omitempty"` // true loss minus that of the best constant, paired by row
	// Own is the method that a point is compared with: for a policy, that whose policy was trained for this lambda alone; for a cascade
	// too, or else what decides once. Regret is the true loss minus that of this one, paired by row.
	Own    string    `json:"own,omitempty"`
	Regret *Interval `json:"regret,omitempty"`
	// Share is of a cascade: shares of the rows on which 1, 2, ... pairs were executed.
	Share []float64 `json:"share,omitempty"`
}

// mostExecuted is the largest number of pairs that a cascade executes on a row.
func mostExecuted(points []FrontierPoint) (most int) {
	for _, p := range points {
		most = max(most, len(p.Share))
	}
	return most
}

// ConstantPoint is what one pair loses and spends if it is used on every reported row: means over these rows. Loss and
// money are those of FrontierPoint.
type ConstantPoint struct {
	Setting       string    `json:"setting,omitempty"`
	Pair          string    `json:"pair"`
	Loss          float64   `json:"loss"`
	LossInterval  *Interval `json:"loss_interval,omitempty"`
	Money         float64   `json:"money"`
	MoneyInterval *Interval `json:"money_interval,omitempty"`
}

// cheapestOf are the constants that no other one equals or beats in both loss and money, from the cheapest to the
// dearest.
func cheapestOf(points []ConstantPoint) []ConstantPoint {
	sorted := slices.Clone(points)
	slices.SortStableFunc(sorted, func(a, b ConstantPoint) int {
		return cmp.Or(cmp.Compare(a.Money, b.Money), cmp.Compare(a.Loss, b.Loss))
	})
	var out []ConstantPoint
	for _, p := range sorted {
		if len(out) == 0 || p.Loss < out[len(out)-1].Loss {
			out = append(out, p)
		}
	}
	return out
}

// frontierMethods are the methods of the points, in their order.
func frontierMethods(points []FrontierPoint) []string {
	var names []string
	for _, p := range points {
		if !slices.Contains(names, p.Method) {
			names = append(names, p.Method)
		}
	}
	return names
}
