package costs

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// maxActions and maxDim bound the action set and the features of an instance,
// so that a damaged description cannot request an absurd amount of memory.
const (
	maxActions = 1 << 20
	maxDim     = 1 << 24
)

// Expert is a model, a program or a person that can act on an instance.
type Expert struct {
	Name string  `json:"name" yaml:"name"`
	Fee  float64 `json:"fee" yaml:"fee"` // beta_j, cost units per consultation, >= 0
}

// Advice is what an expert may be shown before it acts. Advice 0 of an action
// set is the absence of advice, whatever it is called.
type Advice struct {
	Name string  `json:"name" yaml:"name"`
	Fee  float64 `json:"fee" yaml:"fee"` // gamma_k, multiplied by lambda, >= 0; 0 for advice 0
}

// Pair names one action by the indices of its expert and its advice.
type Pair struct {
	Expert, Advice int
}

// FeatureDigest is the key in Actions.Digests for the digest of what made the
// features: the names of the columns, the encoder. Where a policy and a tensor
// both have it, the two must agree. It does not depend on the instances.
const FeatureDigest = "features"

// DecoderDigest is the key in Actions.Digests for the decoder of the images
// from which the features were made: a name with a version.
const DecoderDigest = "decoder"

// FeatureSource says where the features come from.
type FeatureSource struct {
	Name string `json:"name" yaml:"name"` // an encoder, a table; free text
	Dim  int    `json:"dim" yaml:"dim"`   // values per instance; 0 if not recorded
}

// Actions describes the set a policy chooses from. It is kept in every cost
// tensor and every policy file; see ParseActions for the JSON form.
type Actions struct {
	Experts     []Expert
	Advice      []Advice
	Unavailable []Pair            // pairs that do not exist; their losses are NaN
	Features    FeatureSource     // what the features of the instances are
	Digests     map[string]string // name of an input -> digest; all but [FeatureDigest] are provenance only
}

// Len returns the number of actions, J*(K+1), unavailable ones included.
func (a *Actions) Len() int { return len(a.Experts) * len(a.Advice) }

// Index returns the action of expert j under advice k.
func (a *Actions) Index(j, k int) int { return j*len(a.Advice) + k }

// Pair returns the expert and the advice of action i.
func (a *Actions) Pair(i int) (j, k int) { return i / len(a.Advice), i % len(a.Advice) }

// Name returns "expert/advice" for action i.
func (a *Actions) Name(i int) string {
	j, k := a.Pair(i)
	return a.Experts[j].Name + "/" + a.Advice[k].Name
}

// Names returns the name of every action, in order.
func (a *Actions) Names() []string {
	names := make([]string, a.Len())
	for i := range names {
		names[i] = a.Name(i)
	}
	return names
}

// Available reports whether action i exists. It searches Unavailable; use Mask
// in a loop over actions.
func (a *Actions) Available(i int) bool {
	j, k := a.Pair(i)
	return !slices.Contains(a.Unavailable, Pair{j, k})
}

// Mask returns Available for every action, in order.
func (a *Actions) Mask() []bool {
	mask := make([]bool, a.Len())
	for i := range mask {
		mask[i] = true
	}
	for _, p := range a.Unavailable {
		mask[a.Index(p.Expert, p.Advice)] = false
	}
	return mask
}

// Fees returns the deployed fee beta_j + lambda*gamma_k of every action.
func (a *Actions) Fees(lambda float64) []float64 {
	fees := make([]float64, a.Len())
	for i := range fees {
		fees[i] = a.fee(i, lambda)
	}
	return fees
}

func (a *Actions) fee(i int, lambda float64) float64 {
	j, k := a.Pair(i)
	return a.Experts[j].Fee + lambda*a.Advice[k].Fee
}

// ExpertIndex returns the index of the named expert, or -1.
func (a *Actions) ExpertIndex(name string) int {
	return slices.IndexFunc(a.Experts, func(e Expert) bool { return e.Name == name })
}

// AdviceIndex returns the index of the named advice, or -1.
func (a *Actions) AdviceIndex(name string) int {
	return slices.IndexFunc(a.Advice, func(v Advice) bool { return v.Name == name })
}

// SameSet reports whether both describe the same choices: the same experts and
// advice in the same order, and the same missing pairs. Fees, features and
// digests may differ. The error names the first difference.
func (a *Actions) SameSet(b *Actions) error {
	if len(a.Experts) != len(b.Experts) || len(a.Advice) != len(b.Advice) {
		return fmt.Errorf("%d experts and %d advice levels, not %d and %d",
			len(a.Experts), len(a.Advice), len(b.Experts), len(b.Advice))
	}
	for j := range a.Experts {
		if a.Experts[j].Name != b.Experts[j].Name {
			return fmt.Errorf("expert %d is %q, not %q", j, a.Experts[j].Name, b.Experts[j].Name)
		}
	}
	for k := range a.Advice {
		if a.Advice[k].Name != b.Advice[k].Name {
			return fmt.Errorf("advice %d is %q, not %q", k, a.Advice[k].Name, b.Advice[k].Name)
		}
	}
	other := b.Mask()
	for i, available := range a.Mask() {
		if available != other[i] {
			return fmt.Errorf("action %q is unavailable in only one of the two", a.Name(i))
		}
	}
	return nil
}

// Validate reports every problem of the description at once.
func (a *Actions) Validate() error {
	if a == nil {
		return errors.New("there are no actions")
	}
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if len(a.Experts) == 0 {
		add("actions have no expert")
	}
	if len(a.Advice) == 0 {
		add("actions have no advice level; the first one is the absence of advice")
	}
	if len(a.Advice) > 0 && len(a.Experts) > maxActions/len(a.Advice) {
		add("actions have %d experts and %d advice levels; at most %d pairs are supported",
			len(a.Experts), len(a.Advice), maxActions)
	}
	expertNames := make(map[string]bool)
	for j, e := range a.Experts {
		checkEntry(add, "expert", j, e.Name, e.Fee, expertNames)
	}
	adviceNames := make(map[string]bool)
	for k, v := range a.Advice {
		checkEntry(add, "advice", k, v.Name, v.Fee, adviceNames)
		if k == 0 && v.Fee > 0 {
			add("advice 0 (%q) has fee %v; the absence of advice is free", v.Name, v.Fee)
		}
	}
	a.checkUnavailable(add)
	if d := a.Features.Dim; d < 0 || d > maxDim {
		add("features have dimension %d; at most %d are supported", d, maxDim)
	}
	return errors.Join(problems...)
}

func checkEntry(add func(string, ...any), kind string, i int, name string, fee float64, seen map[string]bool) {
	switch {
	case name == "":
		add("%s %d has no name", kind, i)
	case seen[name]:
		add("duplicate %s %q", kind, name)
	}
	seen[name] = true
	if !(fee >= 0) || math.IsInf(fee, 0) {
		add("%s %q has fee %v; fees must be finite and not negative", kind, name, fee)
	}
}

func (a *Actions) checkUnavailable(add func(string, ...any)) {
	seen := make(map[Pair]bool)
	for _, p := range a.Unavailable {
		switch {
		case p.Expert < 0 || p.Expert >= len(a.Experts) || p.Advice < 0 || p.Advice >= len(a.Advice):
			add("unavailable pair (%d, %d) is outside %d experts x %d advice levels",
				p.Expert, p.Advice, len(a.Experts), len(a.Advice))
		case seen[p]:
			add("duplicate unavailable pair %q", a.Name(a.Index(p.Expert, p.Advice)))
		}
		seen[p] = true
	}
	if len(seen) > 0 && len(seen) == a.Len() {
		add("every pair is unavailable")
	}
}

// AdviceRate is the share of actions that buy advice: any level but the first, which is none. It is 0 for no actions.
func (a *Actions) AdviceRate(actions []int) float64 {
	bought := 0
	for _, i := range actions {
		if _, k := a.Pair(i); k != 0 {
			bought++
		}
	}
	return float64(bought) / float64(max(1, len(actions)))
}
