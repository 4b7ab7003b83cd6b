package train

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"pipe/costs"
	"pipe/costs/prices"
	"pipe/internal/config"
	"pipe/internal/storage"
	"pipe/models"
	"pipe/models/auto"
	"pipe/models/cascade/fit"
	"pipe/models/paper"
	"pipe/models/policy"
	"pipe/onnx/ort"
	"pipe/pipeline/calibrate"
	"pipe/pipeline/fromlog"
	"pipe/pipeline/methods"
	"pipe/pipeline/replay"
	"pipe/pipeline/stage"
)

// Settings are the settings of pipe train: the `train:` section of a configuration file, or flags.
type Settings struct {
	Recipe         string            `yaml:"recipe" json:"recipe"`                 // "auto" or "paper"
	Lambdas        []float64         `yaml:"lambdas" json:"lambdas"`               // one policy (per seed) for each
	HalfLife       auto.HalfLife     `yaml:"half_life" json:"half_life,omitempty"` // recipe auto: age at which a training row counts half; 0: all rows count alike
	AnyPrice       bool              `yaml:"any_price" json:"any_price"`           // recipe auto: one policy, and one cascade, for all prices of Prices, instead of one for each of Lambdas
	Prices         policy.PriceRange `yaml:"prices" json:"prices"`
	Cascade        bool              `yaml:"cascade" json:"cascade,omitempty"` // recipe auto: also cascades, which look at answers
	Stages         int               `yaml:"stages" json:"stages"`             // of a cascade: pairs that are executed on a row, at most
	Methods        []string          `yaml:"methods" json:"methods"`           // besides the recipe's own: l2d, separated, separated_softmax
	paper.Settings `yaml:",inline"`  // recipe paper and the other methods
	Auto           auto.Settings     `yaml:"auto" json:"auto"`
	// Guarantee is what policies of the recipe auto promise of the decisions that they accept; a risk of 0: nothing. It is calibrated on
	// the rows of Options.Split.
	Guarantee calibrate.Settings `yaml:"guarantee" json:"guarantee"`
	// Own are methods from outside package models that Methods may name.
	Own []models.Method `yaml:"-" json:"-"`
}

// DefaultSettings is the recipe auto at lambda 1, and L2D.
func DefaultSettings() Settings {
	return Settings{
		Recipe: auto.Name, Lambdas: []float64{1}, Stages: fit.DefaultSettings().Stages, Methods: []string{models.L2D}, Prices: policy.DefaultPriceRange(),
		Guarantee: calibrate.DefaultSettings(), Settings: paper.DefaultSettings(), Auto: auto.DefaultSettings(),
	}
}

// ForRecipes are the settings of several recipes on the same costs; the methods besides a recipe's own are trained with
// the first recipe.
func (c Settings) ForRecipes(recipes []string) []Settings {
	var out []Settings
	for i, name := range recipes {
		of := c
		of.Recipe = name
		if i > 0 {
			of.Methods = nil
		}
		out = append(out, of)
	}
	return out
}

// CheckRecipes reports every problem of a list of recipes.
func CheckRecipes(names []string) error {
	var list config.Problems
	list.Check(len(names) > 0, "recipes: the list is empty; known are auto, paper")
	for i, name := range names {
		list.Check(name == paper.Name || name == auto.Name, "recipes[%d]: %q, known are auto, paper", i, name)
		list.Check(!slices.Contains(names[:i], name), "recipes[%d]: %q is a duplicate", i, name)
	}
	return list.Err()
}

// Validate reports every problem at once.
func (c Settings) Validate() error {
	_, err := c.check()
	return err
}

// check returns the methods besides the recipe's own. The error names every problem of the settings.
func (c Settings) check() (list []models.Method, err error) {
	var errs []error
	bad := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(c.Recipe == auto.Name || c.Recipe == paper.Name, "recipe: %q, known are auto, paper", c.Recipe)
	bad(c.HalfLife >= 0, "half_life: it is negative")
	bad(c.HalfLife == 0 || c.Recipe == auto.Name, "half_life: only the recipe auto counts rows by their age")
	bad(!c.AnyPrice || c.Recipe == auto.Name, "any_price: only the recipe auto trains any-price policies")
	bad(!c.Cascade || c.Recipe == auto.Name, "cascade: only the recipe auto trains cascades")
	bad(!c.Cascade || c.Stages >= 2, "stages: %d, a cascade has at least 2", c.Stages)
	bad(!c.AnyPrice || c.usesLambdas() || slices.Equal(c.Lambdas, DefaultSettings().Lambdas),
		"lambdas: no policy is trained for %v, since an any-price policy serves every lambda; prices.lambda is the range that its guard checks", c.Lambdas)
	errs = append(errs, costs.CheckLambdas(c.Lambdas), config.Under("prices", c.Prices.Check()))
	for i, name := range c.Methods {
		m, err := models.MethodNamed(name, c.Own...)
		list = append(list, m)
		bad(err == nil, "methods: %w", err)
		bad(!slices.Contains(c.Methods[:i], name), "methods: %q is a duplicate", name)
		bad(name != models.Ours || c.Recipe != paper.Name, "methods: %q is always trained by the recipe paper", name)
	}
	if c.promises() {
		bad(c.Recipe == auto.Name, "guarantee: only the recipe auto estimates losses; pipe calibrate can accept all decisions of another policy, or none")
		errs = append(errs, config.Under("guarantee", c.Guarantee.Validate()))
	}
	errs = append(errs, methods.CheckOwn(c.Own))
	return list, errors.Join(append(errs, c.Settings.Validate(), config.Under("auto", c.Auto.Validate()))...)
}

// promises reports whether policies of the recipe auto have a guarantee.
func (c Settings) promises() bool { return c.Guarantee.Risk != 0 }

// usesLambdas reports whether a method besides the recipe's own depends on lambda.
func (c Settings) usesLambdas() bool {
	return slices.ContainsFunc(c.Methods, func(name string) bool { return !methods.Named(name, c.Own...).NoAdvice })
}

// Options are the options of Run.
type Options struct {
	Settings
	Tensor    storage.Location // cost tensor: a Parquet file or a folder of parts
	Log       fromlog.Options  // in place of a tensor: the folder of a decision log, and which decisions of it
	Actions   storage.Location // actions JSON, if the file has no metadata
	PriceFile storage.Location // prices of models, at which the fees of the tensor are; empty: as they are
	Config    storage.Location // the file that the settings came from, which must not be replaced; empty: none
	Out       storage.Location // folder for the policies and train.json
	Deployed  storage.Location // the policy that a new one must be better than; empty: the one that the log names, or the best fixed pair
	Warm      storage.Location // an older policy, which is used where it is shown to be better than the new one; empty: none
	Split     string           // rows that the report's losses are on
	Runtime   ort.Config
}

// ReportFile is the report that Run writes beside the policies.
const ReportFile = "train.json"

// DefaultOptions is DefaultSettings, with losses on validation rows.
func DefaultOptions() Options {
	return Options{Settings: DefaultSettings(), Log: fromlog.DefaultOptions(), Split: "val", Runtime: ort.DefaultConfig()}
}

// Validate reports every problem at once.
func (o Options) Validate() error {
	_, err := o.job()
	return err
}

// checkCascade reports what does not go with cascades.
func (o Options) checkCascade() error {
	switch {
	case !o.Cascade:
		return nil
	case !o.Log.Log.IsZero():
		return errors.New("cascade: a log has the answer of one pair for each request, and a cascade learns from those of all pairs; pipe costs and pipe import make such tables")
	case !o.Deployed.IsZero() || !o.Warm.IsZero():
		return errors.New("cascade: a cascade is compared with the policy that decides once, and not with an older one (deployed, warm)")
	}
	return nil
}

// Files are what Run reads and writes.
func (o Options) Files(ctx context.Context) stage.Files {
	reads := stage.TensorFiles(ctx, o.Tensor, o.Actions)
	if !o.Log.Log.IsZero() {
		reads = []stage.Input{fromlog.Input(o.Log.Log)}
	}
	return stage.Files{
		Reads:  append(reads, stage.NamedFiles(o.PriceFile, o.Config, o.Warm, o.Deployed)...),
		Writes: []stage.Output{{Path: o.Out, Patterns: []string{ReportFile, "*.onnx", "*" + stage.DescriptionEnding}}},
	}
}

// idle says, a sentence each, which settings change nothing on a tensor. Of policies with usage, prices of tokens are prices too.
func (c Settings) idle(t *costs.Tensor, trained []*policy.Policy) (notes []string) {
	if !slices.ContainsFunc(trained, func(p *policy.Policy) bool { return p != nil && p.Estimate != nil && p.Estimate.Usage != nil }) {
		notes = t.IdlePrices(c.Lambdas, c.AnyPrice)
	}
	if !c.Cascade && c.Stages != DefaultSettings().Stages {
		notes = append(notes, "stages has no effect without cascade.")
	}
	if !c.AnyPrice && c.Prices != DefaultSettings().Prices {
		notes = append(notes, "prices has no effect without any_price: it is the range of an any-price policy.")
	}
	rows := t.Rows(costs.Train)
	if c.HalfLife > 0 && !slices.ContainsFunc(rows, func(n int) bool { return t.Times[n] != t.Times[rows[0]] }) {
		notes = append(notes, "half_life has no effect: all training rows have the same time.")
	}
	return notes
}

// job is a training whose options have been checked once, and its tensor.
type job struct {
	Options
	split      costs.Split     // of the rows of the losses
	others     []models.Method // besides the recipe's own
	othersOnly bool            // the recipe's own method is not trained
	t          *costs.Tensor
	greedy     []int   // of a log: the pair that its policy alone would have chosen, by row
	window     *Window // of a log: what was read
	table      string  // digest of the tensor before a price file replaced its fees; "" without one
	rt         *ort.Runtime
}

// job checks the options. The error names every problem. The job has no tensor yet.
func (o Options) job() (j job, err error) {
	others, wrong := o.check()
	split, err := costs.ParseSplit(o.Split)
	if !o.Warm.IsZero() && (o.Recipe != auto.Name || o.AnyPrice) {
		err = errors.Join(err, errors.New("warm: only policies of the recipe auto for one lambda are compared with an older one"))
	}
	if o.promises() {
		_, wrongSplit := calibrate.ParseSplit(o.Split)
		err = errors.Join(err, wrongSplit)
		if !o.Warm.IsZero() || !o.Log.Log.IsZero() {
			err = errors.Join(err, errors.New("guarantee: not with an older policy (warm) or a log, of which only the losses of executed pairs are known; pipe calibrate takes any policy, and a table with all losses"))
		}
	}
	return job{Options: o, split: split, others: others}, errors.Join(wrong, err, o.checkDeployed(), o.checkLog(), o.checkCascade())
}

// jobOn is the job on a tensor in memory. Recipe auto can use unknown outcomes.
func (o Options) jobOn(rt *ort.Runtime, t *costs.Tensor) (job, error) {
	j, err := o.job()
	j.rt, j.t = rt, t
	switch {
	case err != nil:
	case o.Recipe != auto.Name:
		err = replay.Check(rt, t, nil)
	case rt == nil:
		err = ort.ErrNoRuntime
	default:
		err = t.ValidatePartial()
	}
	return j, err
}

// jobOnFiles checks options and files. The tensor is read by open.
func (o Options) jobOnFiles(ctx context.Context) (job, error) {
	j, err := o.job()
	if err == nil {
		err = o.Files(ctx).Check(ctx)
	}
	return j, err
}

func (j *job) open(ctx context.Context) (err error) {
	if !j.Log.Log.IsZero() {
		if err := j.readLog(ctx); err != nil {
			return err
		}
		j.rt, err = ort.Open(j.Runtime)
		return err
	}
	if j.t, err = costs.Read(ctx, j.Tensor, costs.ReadOptions{Actions: j.Actions, Unknown: j.Recipe == auto.Name}); err != nil {
		return err
	}
	if !j.PriceFile.IsZero() {
		j.table = j.t.Digest()
		if j.t, err = prices.AtFile(ctx, j.t, j.PriceFile); err != nil {
			return fmt.Errorf("fees of %q at other prices: %w", j.Tensor, err)
		}
	}
	j.rt, err = ort.Open(j.Runtime)
	return err
}

// folder is a checkpoint folder within that of the run.
func folder(p models.CheckpointPolicy, name string) models.CheckpointPolicy {
	if p.Dir != "" {
		p.Dir = filepath.Join(p.Dir, name)
	}
	return p
}
