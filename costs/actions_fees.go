package costs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"pipe/internal/dataerror"
	"pipe/internal/storage"
	"pipe/internal/strictjson"
	"pipe/internal/textfile"
)

// FeeList are fees by the names of experts and advice.
type FeeList struct {
	Experts, Advice map[string]float64
}

// ReadFees reads fees from a JSON file {"experts": {NAME: FEE}, "advice":
// {NAME: FEE}}. Other keys are ignored, and a null is no fee. Bad content is a
// *DataError.
func ReadFees(ctx context.Context, path storage.Location) (FeeList, error) {
	var file struct {
		Experts map[string]*float64 `json:"experts"`
		Advice  map[string]*float64 `json:"advice"`
	}
	b, err := textfile.ReadFileAt(ctx, path, textfile.MaxConfig)
	if err != nil {
		return FeeList{}, dataerror.FromText(err)
	}
	if err := strictjson.Unmarshal(b, &file); err != nil {
		return FeeList{}, &DataError{File: path.String(), Msg: "is not a table of fees", Err: strictjson.Plain(err)}
	}
	return FeeList{given(file.Experts), given(file.Advice)}, nil
}

func given(fees map[string]*float64) map[string]float64 {
	out := make(map[string]float64, len(fees))
	for name, fee := range fees {
		if fee != nil {
			out[name] = *fee
		}
	}
	return out
}

// FeeList returns the fees by name.
func (a *Actions) FeeList() FeeList {
	f := FeeList{Experts: map[string]float64{}, Advice: map[string]float64{}}
	for _, e := range a.Experts {
		f.Experts[e.Name] = e.Fee
	}
	for _, v := range a.Advice {
		f.Advice[v.Name] = v.Fee
	}
	return f
}

// Set adds a fee that is written expert=NAME:FEE or advice=NAME:FEE.
func (f *FeeList) Set(text string) error {
	fail := func() error { return fmt.Errorf("fee %q is neither expert=NAME:FEE nor advice=NAME:FEE", text) }
	kind, rest, named := strings.Cut(text, "=")
	colon := strings.LastIndexByte(rest, ':')
	if !named || colon < 1 {
		return fail()
	}
	to := map[string]*map[string]float64{"expert": &f.Experts, "advice": &f.Advice}[kind]
	if to == nil {
		return fail()
	}
	fee, err := textfile.ParseNumber(rest[colon+1:])
	if err == nil && fee < 0 {
		err = errors.New("it is negative")
	}
	if err != nil {
		return fmt.Errorf("fee %q: %w", text, err)
	}
	if *to == nil {
		*to = map[string]float64{}
	}
	(*to)[rest[:colon]] = fee
	return nil
}

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
