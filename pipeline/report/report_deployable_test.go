package report

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"pipe/models"
	"pipe/pipeline/methods"
)

// For any losses, only a policy is marked, and the constant beside it is the one of the training rows.
func TestOnlyPoliciesAndConstantsCanBeDeployed(t *testing.T) {
	for _, m := range methods.All() {
		rows := []Row{
			{Method: "ours", Lambda: new(1.0), TrueLossMean: 0.5},
			{Method: "auto", Lambda: new(1.0), TrueLossMean: 0.6},
			{Method: "best_fixed_train", Lambda: new(1.0), TrueLossMean: 0.55, Pair: "a/none"},
		}
		rows = slices.DeleteFunc(rows, func(r Row) bool { return r.Method == m.Name })
		rows = append(rows, Row{Method: m.Name, Lambda: new(1.0), TrueLossMean: 0.1, Pair: "b/none"})
		var marked []string
		for _, row := range rows {
			if isBest(row, rows) {
				marked = append(marked, row.Method)
			}
		}
		var b bytes.Buffer
		if err := (&Report{Rows: rows}).WriteJSON(&b); err != nil {
			t.Fatal(err)
		}
		var got Report
		if err := json.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		d, policy, constant := got.Deployable[0], "ours", "best_fixed_train"
		switch m.Role {
		case models.RolePolicy:
			policy = m.Name
		case models.RoleConstant:
			constant = m.Name
		}
		if !slices.Equal(marked, []string{policy}) || d.Policy != policy || d.Constant != constant || len(got.Deployable) != 1 {
			t.Errorf("with %s at 0.1: marked %v, deployable %+v", m.Name, marked, d)
		}
		if last := got.Rows[len(rows)-1]; last.Role != m.Role || m.Role == "" {
			t.Errorf("%s has the role %q in JSON", m.Name, last.Role)
		}
	}
}

// Equal losses are marked alike, regardless of the order of summation.
func TestTiesAreMarkedTogether(t *testing.T) {
	rows := []Row{{Method: "ours", TrueLossMean: 0.1 + 0.2}, {Method: "auto", TrueLossMean: 0.3}, {Method: "l2d", TrueLossMean: 0.3001}}
	if !isBest(rows[0], rows) || !isBest(rows[1], rows) || isBest(rows[2], rows) {
		t.Error("0.1 + 0.2 and 0.3 are not the same, or 0.3001 is")
	}
}
