package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pipe/internal/lists"
	"pipe/models"
	"pipe/pipeline/methods"
)

// Deployable compares what can be deployed in one regime: the policy file with the lowest true loss, and the constant
// with the lowest, which needs no file. Either may be missing.
type Deployable struct {
	Setting      string   `json:"setting,omitempty"`
	Lambda       *float64 `json:"lambda,omitempty"`
	Policy       string   `json:"policy,omitempty"` // its method
	PolicyLoss   *float64 `json:"policy_loss,omitempty"`
	Constant     string   `json:"constant,omitempty"` // its method
	Pair         string   `json:"pair,omitempty"`     // of the constant
	ConstantLoss *float64 `json:"constant_loss,omitempty"`
}

// deployable compares policies with constants for every setting and regime. Controls, knn and oracles are neither.
func (r *Report) deployable() []Deployable {
	var out []Deployable
	for _, setting := range r.SettingNames() {
		rows := r.Of(setting).headline()
		for i, row := range rows {
			if i > 0 && compareLambda(row.Lambda, rows[i-1].Lambda) == 0 {
				continue
			}
			same := lists.Keep(rows, func(o Row) bool { return compareLambda(o.Lambda, row.Lambda) == 0 })
			d := Deployable{Setting: setting, Lambda: row.Lambda}
			if p := lowestOf(same, models.RolePolicy); p != nil {
				d.Policy, d.PolicyLoss = p.Method, Num(p.TrueLossMean)
			}
			if c := lowestOf(same, models.RoleConstant); c != nil {
				d.Constant, d.Pair, d.ConstantLoss = c.Method, c.Pair, Num(c.TrueLossMean)
			}
			if d.Policy != "" || d.Constant != "" {
				out = append(out, d)
			}
		}
	}
	return out
}

// lowestOf is the first row of a role with the smallest true loss, nil if no row has the role.
func lowestOf(rows []Row, as models.Role) *Row {
	var best *Row
	for i, row := range rows {
		if methods.Named(row.Method).Role == as && (best == nil || row.TrueLossMean < best.TrueLossMean-lossTie) {
			best = &rows[i]
		}
	}
	return best
}

// lossTie is the difference below which two true losses are the same: sums of equal costs in another order.
const lossTie = 1e-12

// isBest reports whether row is a policy with the lowest true loss of its regime in rows.
func isBest(row Row, rows []Row) bool {
	best := lowestOf(lists.Keep(rows, func(o Row) bool { return compareLambda(o.Lambda, row.Lambda) == 0 }), models.RolePolicy)
	return best != nil && methods.Named(row.Method).Role == models.RolePolicy && row.TrueLossMean <= best.TrueLossMean+lossTie
}

// Remark describes a policy beyond its figures: that it is a constant, or was trained with other fees.
func (r Row) Remark() string {
	var parts []string
	runs := max(1, r.Seeds) * max(1, r.Splits)
	for _, pair := range slices.Sorted(maps.Keys(r.Fallback)) {
		part := "guard: always " + pair
		if n := r.Fallback[pair]; n < runs {
			part += fmt.Sprintf(" in %d of %d", n, runs)
		}
		parts = append(parts, part)
	}
	if len(r.Fallback) == 0 && r.Plays != "" && r.Pair == "" {
		parts = append(parts, fmt.Sprintf("%s on every row", r.Plays))
	}
	if len(r.ChangedFees) > 0 {
		parts = append(parts, "trained with other fees")
	}
	return strings.Join(parts, "; ")
}

// compareLambda orders regimes; rows without one come first.
func compareLambda(a, b *float64) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return cmp.Compare(*a, *b)
}

// headline returns the rows of the main table: if there are several training sizes, those of the largest.
func (r *Report) headline() []Row {
	ns := r.sizes()
	var rows []Row
	for _, row := range r.Rows {
		if len(ns) < 2 || row.N == 0 || row.N == ns[len(ns)-1] {
			rows = append(rows, row)
		}
	}
	slices.SortStableFunc(rows, func(a, b Row) int {
		if c := compareLambda(a.Lambda, b.Lambda); c != 0 {
			return c
		}
		return methods.Rank(a.Method) - methods.Rank(b.Method)
	})
	return rows
}
