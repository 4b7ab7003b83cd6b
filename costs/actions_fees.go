package costs

import (
	"fmt"
	"strings"
)

// FeeChange is a fee that two descriptions of the same choices set differently.
type FeeChange struct {
	Kind    string  `json:"kind"` // "expert" or "advice"
	Name    string  `json:"name"`
	Trained float64 `json:"trained"` // the fee with which a policy was trained
	Here    float64 `json:"here"`    // the fee of the table at hand
}

// String returns `expert "large" 0.05, here 0.08`.
func (f FeeChange) String() string {
	return fmt.Sprintf("%s %q %g, here %g", f.Kind, f.Name, f.Trained, f.Here)
}

// ChangedFees lists the fees of a that b sets differently, experts first; both
// must describe the same choices (SameSet). Measured fees, which a column of
// the tensor holds, are not compared.
func (a *Actions) ChangedFees(b *Actions) []FeeChange {
	var out []FeeChange
	for j, e := range a.Experts {
		if here := b.Experts[j].Fee; here != e.Fee {
			out = append(out, FeeChange{"expert", e.Name, e.Fee, here})
		}
	}
	for k, v := range a.Advice {
		if here := b.Advice[k].Fee; here != v.Fee {
			out = append(out, FeeChange{"advice", v.Name, v.Fee, here})
		}
	}
	return out
}

// ListFees lists the first eight changes as text and counts the others.
func ListFees(changes []FeeChange) string {
	const shown = 8
	var words []string
	for i, f := range changes {
		if i == shown {
			words = append(words, fmt.Sprintf("and %d more", len(changes)-shown))
			break
		}
		words = append(words, f.String())
	}
	return strings.Join(words, "; ")
}
