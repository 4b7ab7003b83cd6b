package ope

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/models/offpolicy"
	"pipe/models/policy"
	"pipe/onnx/ort"
	"pipe/pipeline/fromlog"
	"pipe/pipeline/stage"
)

// Logged is the policy that made the log: all its policies, canaries and exploration together.
const Logged = "logged"

// loggedName is what it is called in reports.
const loggedName = "the logged policy"

// pairPrefix begins the name of the policy that always chooses one pair.
const pairPrefix = "pair:"

// All is the estimator of Options that means every one, the default first.
const All = "all"

// defaultEstimator is the name of the first one.
func defaultEstimator() string { return offpolicy.DefaultSettings().Estimator }

// Estimators are the names that Options.Estimator may have besides All, the default one first.
func Estimators() (names []string) {
	for _, e := range offpolicy.Estimators() {
		names = append(names, e.Name)
	}
	return names
}

// Options are the options of Run.
type Options struct {
	Log     storage.Location // folder of a decision log; or
	Costs   storage.Location // a cost tensor with propensities
	Actions storage.Location // JSON file with the actions of a tensor that does not carry them
	Splits  []costs.Split    // rows of the tensor

	Policy  string // the policy in question: a policy file, pair:EXPERT/ADVICE or Logged
	Against string // the policy that it is compared with

	Since, Until time.Time            // decisions of the log from the one and before the other; zero: all
	Money        string               // see fromlog.Options
	NoFees       bool                 // see fromlog.Options
	Fallbacks    bool                 // see fromlog.Options
	Only         func(id string) bool // decisions of the log that count; nil: all

	Prices    policy.PriceChange // at which policies decide and all costs are, see decide.Options
	PriceFile storage.Location   // of a tensor with usage: measured fees are at its prices

	Estimator  string           // one of Estimators, or All
	Propensity bool             // estimate propensities where they are not known
	Range      *[2]float64      // of task losses; nil: 0 to 1, wider if those in the log are
	Level      float64          // of intervals, in (0, 1)
	Resamples  int              // of the bootstrap
	Seed       uint64           // of the bootstrap and of the folds
	Out        storage.Location // the page; empty: none
	Device     ort.Config
}

// DefaultOptions compare with the log itself at 95%.
func DefaultOptions() Options {
	return Options{
		Splits: []costs.Split{costs.Val, costs.Test}, Against: Logged, Estimator: defaultEstimator(), Level: 0.95, Resamples: 2000, Device: ort.DefaultConfig(),
	}
}

// Validate reports the first option that cannot be; it is a *stage.OptionError.
func (o *Options) Validate() error {
	bad := func(format string, args ...any) error { return &stage.OptionError{Err: fmt.Errorf(format, args...)} }
	switch {
	case o.Log.IsZero() == o.Costs.IsZero():
		return bad("one of --log and --costs is needed")
	case o.Policy == "":
		return bad("--policy is empty; it is a policy file, %sEXPERT/ADVICE or %s", pairPrefix, Logged)
	case o.Policy == o.Against:
		return bad("--policy and --against are both %q", o.Policy)
	case o.Estimator != All && !slices.Contains(Estimators(), o.Estimator):
		return bad("--estimator is %q; it is %s or %s", o.Estimator, strings.Join(Estimators(), ", "), All)
	case !(o.Level > 0 && o.Level < 1):
		return bad("--level is %v; it is between 0 and 1", o.Level)
	case o.Resamples < 2:
		return bad("--resamples is %d; at least 2 are needed", o.Resamples)
	case float64(o.Resamples)*(1-o.Level) < 2:
		return bad("--resamples is %d; --level %v needs at least %.0f", o.Resamples, o.Level, math.Ceil(2/(1-o.Level)))
	case o.Range != nil && !(o.Range[0] < o.Range[1]):
		return bad("--range is from %v to %v", o.Range[0], o.Range[1])
	case !o.Log.IsZero() && !o.PriceFile.IsZero():
		return bad("--prices needs --costs: pipe import --log DIR --partial FILE makes a tensor of the log with what calls used")
	case !o.Costs.IsZero() && (!o.Since.IsZero() || !o.Until.IsZero() || o.Money != "" || o.NoFees || o.Fallbacks):
		return bad("--since, --until, --money, --no-fees and --fallbacks need --log")
	}
	return nil
}

// files are what a run reads and writes.
func (o *Options) files(ctx context.Context) stage.Files {
	var f stage.Files
	if o.Log.IsZero() {
		f.Reads = stage.TensorFiles(ctx, o.Costs, o.Actions)
	} else {
		f.Reads = []stage.Input{fromlog.Input(o.Log)}
	}
	for _, name := range []string{o.Policy, o.Against} {
		if isFile(name) {
			f.Reads = append(f.Reads, stage.ModelFiles(ctx, name)...)
		}
	}
	f.Reads = append(f.Reads, stage.NamedFiles(o.PriceFile)...)
	if !o.Out.IsZero() {
		f.Writes = []stage.Output{{Path: o.Out}}
	}
	return f
}

func isFile(name string) bool { return name != Logged && !strings.HasPrefix(name, pairPrefix) }

// log are the options of reading a decision log.
func (o *Options) log(pairs *costs.Actions) fromlog.Options {
	l := fromlog.DefaultOptions()
	l.Log, l.Since, l.Until, l.Money, l.NoFees, l.Fallbacks, l.Pairs = o.Log, o.Since, o.Until, o.Money, o.NoFees, o.Fallbacks, pairs
	return l
}
