package models

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/models/policy"
)

// Role says how a method can be used by someone who wants to deploy one.
type Role string

// The roles.
const (
	RolePolicy    Role = "policy"    // trained: a policy file, which can be deployed
	RoleConstant  Role = "constant"  // one pair for every row, chosen without the reported rows: it needs no file
	RoleReference Role = "reference" // fitted or drawn for comparison: it has no file
	RoleOracle    Role = "oracle"    // knows the outcomes of the reported rows: a bound, not a competitor
)

// Method is one way to choose actions, under the name that configuration, policy files and reports use. A method with a
// surrogate is trained by pipe/models/paper; it may come from any module.
type Method struct {
	Name  string // in configuration, file names, policy files and reports
	Role  Role
	About string // one line for the captions of reports

	Surrogate Surrogate // the training loss; nil: the method is not trained with one
	Head      string    // the last layer that the surrogate needs, as in [Settings]; empty: that of the settings
	// NoAdvice excludes the pairs with advice: the method chooses among experts only. Lambda multiplies the fees of
	// advice, so one policy serves every lambda.
	NoAdvice bool
}

// Names of the methods of this package.
const (
	Ours             = "ours"
	L2D              = "l2d"
	Separated        = "separated"
	SeparatedSoftmax = "separated_softmax"
)

// methods is the registry: a new surrogate is a file and a line here.
var methods = []Method{
	{Name: Ours, Surrogate: compSum{}, About: "the composite policy over expert-advice pairs, trained by the paper's recipe"},
	{Name: L2D, Surrogate: compSum{}, Head: "linear", NoAdvice: true, About: "learning to defer: the same network choosing an expert without advice; independent of lambda"},
	{Name: Separated, Surrogate: separated{}, Head: "linear", About: "router and query scores trained by the separated surrogate, which is not consistent (two experts, one advice)"},
	{Name: SeparatedSoftmax, Surrogate: separatedSoftmax{}, Head: "linear", About: "our generalisation of the separated surrogate to any number of experts and advice"},
}

// Methods returns the methods of this package, in the order of tables, followed by own. Own methods get the role of a
// policy, whatever role they state.
func Methods(own ...Method) []Method {
	all := slices.Concat(methods, own)
	for i := range all {
		all[i].Role = RolePolicy
	}
	return all
}

// MethodNamed returns the method with this name among those of this package and own. The error lists the known names.
func MethodNamed(name string, own ...Method) (Method, error) {
	var known []string
	for _, m := range Methods(own...) {
		if m.Name == name {
			return m, nil
		}
		known = append(known, m.Name)
	}
	slices.Sort(known)
	return Method{}, fmt.Errorf("%q, known are %s", name, strings.Join(known, ", "))
}

// longestName keeps the names of files within what file systems take.
const longestName = 64

// checkName reports a name of a method or surrogate that cannot be a part of file names and of reports. A name has 1 to
// 64 letters, digits, "_", "-" and ".", and does not start with ".". Policy files add "-lambda" and "-seed" to the name
// of their method, so it contains neither: two policies would share a file.
func checkName(name string) error {
	if name == "" || len(name) > longestName || name[0] == '.' || strings.ContainsFunc(name, notInNames) {
		return fmt.Errorf("the name %q is not 1 to %d letters, digits, _, - and . without a leading dot", name, longestName)
	}
	for _, part := range []string{"-lambda", "-seed"} {
		if strings.Contains(name, part) {
			return fmt.Errorf("the name %q contains %s, which file names of policies add", name, part)
		}
	}
	return nil
}

// notInNames reports whether a name cannot contain a character.
func notInNames(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("_-.", r)
}

// CheckNames reports a name of the method or of its surrogate that checkName refuses.
func (m Method) CheckNames() error {
	errs := []error{checkName(m.Name)}
	if m.Surrogate != nil {
		if err := checkName(m.Surrogate.Name()); err != nil {
			errs = append(errs, fmt.Errorf("its surrogate: %w", err))
		}
	}
	return errors.Join(errs...)
}

// Composite reports whether a trained policy of the method scores every pair. If so, baselines can take half of a
// decision from it, and reports show its advice.
func (m Method) Composite() bool {
	return m.Surrogate != nil && !m.NoAdvice && m.Surrogate.Decoder() == policy.DecoderComposite
}

// Serves reports whether a policy of the method trained for one lambda can be used for another.
func (m Method) Serves(trained, lambda float64) bool { return m.NoAdvice || trained == lambda }

// Decoder says how the outputs of a trained policy become an action.
func (m Method) Decoder() policy.Decoder {
	if m.NoAdvice {
		return policy.DecoderL2D
	}
	return m.Surrogate.Decoder()
}

// Fits returns why the method cannot be trained for the given actions; nil if it can.
func (m Method) Fits(a *costs.Actions) error {
	if err := m.CheckNames(); err != nil {
		return err
	}
	switch {
	case m.Surrogate == nil:
		return errors.New("it has no surrogate")
	case m.NoAdvice && m.Surrogate.Decoder() != policy.DecoderComposite:
		return fmt.Errorf("it chooses without advice, which the decoder %s of its surrogate cannot", m.Surrogate.Decoder())
	case m.NoAdvice && !anyWithoutAdvice(a):
		return errors.New("it chooses without advice, and no expert is available without advice")
	case !m.Surrogate.Masks() && (m.NoAdvice || len(a.Unavailable) > 0):
		return errors.New("it scores every pair, and some are unavailable")
	}
	outputs, err := m.Surrogate.Outputs(len(a.Experts), len(a.Advice))
	if err != nil {
		return err
	}
	if err := m.Decoder().Fits(a, outputs); err != nil {
		return fmt.Errorf("its surrogate %s: %w", m.Surrogate.Name(), err)
	}
	return nil
}

func anyWithoutAdvice(a *costs.Actions) bool {
	for j := range a.Experts {
		if a.Available(a.Index(j, 0)) {
			return true
		}
	}
	return false
}

// Mask lists the actions that the method chooses among, for [Spec]; nil: all.
func (m Method) Mask(a *costs.Actions) []bool {
	if !m.NoAdvice {
		return nil
	}
	mask := make([]bool, a.Len())
	for j := range a.Experts {
		mask[a.Index(j, 0)] = true
	}
	return mask
}

// surrogates are those that settings can name: of methods and of classifiers.
func surrogates() map[string]Surrogate {
	known := map[string]Surrogate{weighted{}.Name(): weighted{}}
	for _, m := range methods {
		known[m.Surrogate.Name()] = m.Surrogate
	}
	return known
}

func surrogateNamed(name string) (Surrogate, error) {
	known := surrogates()
	if s, ok := known[name]; ok {
		return s, nil
	}
	return nil, fmt.Errorf("surrogate: %q, known are %s", name, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
}
