package report

import (
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
	// Own is the method whose policy was trained for this lambda alone, and Regret the true loss minus that of this policy,
	// paired by row.
	Own    string    `json:"own,omitempty"`
	Regret *Interval `json:"regret,omitempty"`
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
