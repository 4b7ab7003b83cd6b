package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"pipe/costs"
	"pipe/costs/outcome"
	"pipe/internal/atomicfile"
	"pipe/internal/config"
	"pipe/internal/safetext"
	"pipe/internal/storage"
	"pipe/internal/textfile"
	"pipe/models"
	"pipe/models/auto"
	"pipe/models/paper"
	"pipe/models/policy"
	"pipe/onnx/ort"
	"pipe/pipeline/decide"
	"pipe/pipeline/methods"
	"pipe/pipeline/report"
	"pipe/pipeline/stage"
)

// TrainConfig are the settings of pipe train: the `train:` section of a configuration file, or flags.
type TrainConfig struct {
	Recipe         string            `yaml:"recipe" json:"recipe"`                 // "auto" or "paper"
	Lambdas        []float64         `yaml:"lambdas" json:"lambdas"`               // one policy (per seed) for each
	HalfLife       auto.HalfLife     `yaml:"half_life" json:"half_life,omitempty"` // recipe auto: age at which a training row counts half; 0: all rows count alike
	AnyPrice       bool              `yaml:"any_price" json:"any_price"`           // recipe auto: one policy for all prices of Prices, instead of one for each of Lambdas
	Prices         policy.PriceRange `yaml:"prices" json:"prices"`
	Methods        []string          `yaml:"methods" json:"methods"` // besides the recipe's own: l2d, separated, separated_softmax
	paper.Settings `yaml:",inline"`  // recipe paper and the other methods
	Auto           auto.Settings     `yaml:"auto" json:"auto"`
	// Own are methods from outside package models that Methods may name.
	Own        []models.Method `yaml:"-" json:"-"`
	OthersOnly bool            `yaml:"-" json:"-"` // the recipe's own method is not trained
}

// DefaultTrainConfig is the recipe auto at lambda 1, and L2D.
func DefaultTrainConfig() TrainConfig {
	return TrainConfig{
		Recipe: auto.Name, Lambdas: []float64{1}, Methods: []string{models.L2D}, Prices: policy.DefaultPriceRange(),
		Settings: paper.DefaultSettings(), Auto: auto.DefaultSettings(),
	}
}

// ForRecipes are the settings of several recipes on the same costs; the methods besides a recipe's own are trained with
// the first recipe.
func (c TrainConfig) ForRecipes(recipes []string) []TrainConfig {
	var out []TrainConfig
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
func (c TrainConfig) Validate() error {
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
	bad(!c.AnyPrice || c.usesLambdas() || slices.Equal(c.Lambdas, DefaultTrainConfig().Lambdas),
		"lambdas: no policy is trained for %v, since an any-price policy serves every lambda; prices.lambda is the range that its guard checks", c.Lambdas)
	errs = append(errs, costs.CheckLambdas(c.Lambdas), config.Under("prices", c.Prices.Check()))
	for i, name := range c.Methods {
		_, err := models.MethodNamed(name, c.Own...)
		bad(err == nil, "methods: %w", err)
		bad(!slices.Contains(c.Methods[:i], name), "methods: %q is a duplicate", name)
		bad(name != models.Ours || c.Recipe != paper.Name, "methods: %q is always trained by the recipe paper", name)
	}
	errs = append(errs, methods.CheckOwn(c.Own))
	return errors.Join(append(errs, c.Settings.Validate(), config.Under("auto", c.Auto.Validate()))...)
}

// usesLambdas reports whether a method besides the recipe's own depends on lambda.
func (c TrainConfig) usesLambdas() bool {
	return slices.ContainsFunc(c.Methods, func(name string) bool { return !methods.Named(name, c.Own...).NoAdvice })
}

// TrainOptions are the options of one run of Train.
type TrainOptions struct {
	TrainConfig
	Tensor  string // cost tensor: a Parquet file or a folder of parts
	Actions string // actions JSON, if the file has no metadata
	Config  string // the file that the settings came from, which must not be replaced; empty: none
	Out     string // folder for the policies and train.json
	Warm    string // an older policy, which is used where it is shown to be better than the new one; empty: none
	Split   string // rows that the report's losses are on
	Runtime ort.Config
}

// TrainReportFile is the report that Train writes beside the policies.
const TrainReportFile = "train.json"

// DefaultTrainOptions is DefaultTrainConfig, with losses on validation rows.
func DefaultTrainOptions() TrainOptions {
	return TrainOptions{TrainConfig: DefaultTrainConfig(), Split: "val", Runtime: ort.DefaultConfig()}
}

// Validate reports every problem at once.
func (o TrainOptions) Validate() error {
	_, err := costs.ParseSplit(o.Split)
	if o.Warm != "" && (o.Recipe != auto.Name || o.AnyPrice) {
		err = errors.Join(err, errors.New("warm: only policies of the recipe auto for one lambda are compared with an older one"))
	}
	return errors.Join(o.TrainConfig.Validate(), err)
}

// TrainReport describes the trained policies. It is the JSON object of pipe train.
type TrainReport struct {
	Format   int             `json:"format"`
	Tensor   string          `json:"tensor"`
	Rows     int             `json:"rows"`
	Repeats  []costs.Repeats `json:"repeats,omitempty"` // of the training rows and of the rows of the losses
	Policies []TrainedPolicy `json:"policies"`
	Auto     []auto.Report   `json:"auto,omitempty"`
	Notes    []string        `json:"notes,omitempty"`   // settings that change nothing
	Seconds  float64         `json:"seconds,omitempty"` // not in train.json, whose bytes do not depend on the machine
}

// TrainedPolicy is one policy file.
type TrainedPolicy struct {
	File     string             `json:"file"`
	Method   string             `json:"method"`
	Lambda   *float64           `json:"lambda,omitempty"` // absent for l2d, which has none, and for any-price policies
	Prices   *policy.PriceRange `json:"prices,omitempty"` // of an any-price policy; its losses are at lambda 1
	Seed     *uint64            `json:"seed,omitempty"`   // absent for averaged seeds
	TrueLoss *float64           `json:"true_loss,omitempty"`
	Fallback string             `json:"fallback,omitempty"` // the pair that the guard fell back to
	Warm     string             `json:"warm,omitempty"`     // the older policy that this file is
}

// Train trains policies on the tensor's training rows and writes one ONNX file with its description each, and train.json, into o.Out. If an
// interrupted run is started again, it continues from its checkpoints, which are removed at the end. Policies of an
// earlier training in the folder, as listed in its train.json, are removed. If another run is using the folder, the
// error is a *stage.InUseError.
func Train(ctx context.Context, o TrainOptions, progress stage.Progress) (*TrainReport, error) {
	progress = stage.OrQuiet(progress)
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := o.Files().Check(); err != nil {
		return nil, err
	}
	return stage.Alone(o.Out, func() (*TrainReport, error) { return trainTensor(ctx, o, progress) })
}

func trainTensor(ctx context.Context, o TrainOptions, progress stage.Progress) (*TrainReport, error) {
	start := time.Now()
	progress.Start(-1, "read costs")
	defer progress.Done()
	t, err := costs.Read(o.Tensor, costs.ReadOptions{Actions: o.Actions, Unknown: o.Recipe == auto.Name})
	if err != nil {
		return nil, err
	}
	rt, err := ort.Open(o.Runtime)
	if err != nil {
		return nil, err
	}
	defer rt.Close()
	work, err := storage.Work(o.Out)
	if err != nil {
		return nil, err
	}
	r, err := TrainInto(ctx, rt, t, o, filepath.Join(work, "checkpoints"), progress)
	if err != nil {
		return nil, err
	}
	r.Seconds = time.Since(start).Seconds()
	return r, nil
}

// TrainInto trains on a tensor in memory, which the report calls o.Tensor, and writes policies and train.json into
// o.Out. It removes the checkpoint folder when everything is done. A tensor that is not valid is an
// error of costs.Tensor.Validate.
func TrainInto(ctx context.Context, rt *ort.Runtime, t *costs.Tensor, o TrainOptions, checkpoints string, progress stage.Progress) (_ *TrainReport, err error) {
	progress = stage.OrQuiet(progress)
	if err := o.checkTensor(rt, t, o.Validate()); err != nil {
		return nil, err
	}
	for _, folder := range []string{o.Out, checkpoints} {
		if _, err := atomicfile.MkdirAll(folder); err != nil {
			return nil, err
		}
	}
	split, err := costs.ParseSplit(o.Split)
	if err != nil {
		return nil, err
	}
	repeats := costs.RepeatsIn(t, slices.Compact([]costs.Split{costs.Train, split})...)
	if note := outcome.Unserved(t); note != "" {
		progress.Note("%s", note)
	}
	for _, note := range costs.RepeatNotes(repeats) {
		progress.Note("%s", note)
	}
	var warm *warmPolicy
	if o.Warm != "" {
		if warm, o.Auto.Warm, err = openWarm(ctx, rt, t, o); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, warm.decider.Close()) }()
	}
	save := models.CheckpointPolicy{Dir: checkpoints, Every: 20 * time.Second}
	policies, reports, err := TrainTensor(ctx, rt, t, o.TrainConfig, save, progress)
	if err != nil {
		_ = os.Remove(checkpoints) // removed only if empty
		if errors.Is(err, models.ErrOtherCheckpoint) {
			err = fmt.Errorf("%w; repeat the command that was interrupted, or remove %q", err, checkpoints)
		}
		return nil, fmt.Errorf("train on %q: %w", o.Tensor, err)
	}
	r := &TrainReport{Format: 1, Tensor: o.Tensor, Rows: len(t.Rows(costs.Train)), Repeats: repeats, Auto: reports, Notes: o.idle(t)}
	stay := map[string]bool{}
	for _, p := range policies {
		stay[o.trained(p).File] = true
	}
	if err := DropPolicies(o.Out, stay); err != nil {
		return nil, err
	}
	progress.Start(int64(len(policies)), "write policies")
	defer progress.Done()
	for i, p := range policies {
		var line TrainedPolicy
		if i < len(reports) && reports[i].Warm != nil && reports[i].Warm.Used {
			line, err = warm.write(ctx, t, o, p, *reports[i].Warm)
		} else {
			line, err = writePolicy(ctx, rt, t, o, p)
		}
		if err != nil {
			return nil, err
		}
		progress.Add(1)
		r.Policies = append(r.Policies, line)
	}
	if err := atomicfile.Write(filepath.Join(o.Out, TrainReportFile), r.WriteJSON); err != nil {
		return nil, err
	}
	return r, os.RemoveAll(checkpoints)
}

// TrainTensor trains everything that c specifies on a tensor in memory: the policies of the recipe, then those of the
// other methods. The checkpoints of every method are in a folder with its name. A tensor that is not valid is an error of
// costs.Tensor.Validate; without training rows, the error is a *costs.DataError.
func TrainTensor(ctx context.Context, rt *ort.Runtime, t *costs.Tensor, c TrainConfig, save models.CheckpointPolicy, progress stage.Progress) ([]*policy.Policy, []auto.Report, error) {
	progress = stage.OrQuiet(progress)
	if err := c.checkTensor(rt, t, c.Validate()); err != nil {
		return nil, nil, err
	}
	if len(t.Rows(costs.Train)) == 0 {
		return nil, nil, &costs.DataError{Column: "split", Msg: "there are no training rows"}
	}
	others, err := c.OtherMethods(t, progress)
	if err != nil {
		return nil, nil, err
	}
	if c.Recipe == auto.Name {
		if err := c.Auto.Ready(t.Actions.Len()); err != nil {
			return nil, nil, fmt.Errorf("auto: %w", err)
		}
	}
	o := models.Options{Runtime: rt, Save: save, Progress: func(n int) { progress.Add(int64(n)) }}
	o.Stage = func(name string, steps int) { progress.Start(int64(steps), "train "+name) }
	// The other methods come first, so that a method that cannot be trained for the actions is reported before the long
	// search.
	var more []*policy.Policy
	for _, m := range others {
		o.Save = folder(save, m.Name)
		trained, err := paper.Train(ctx, t, m, c.Lambdas, c.Settings, o)
		if err != nil {
			return nil, nil, fmt.Errorf("method %s: %w", m.Name, err)
		}
		more = append(more, trained...)
	}
	policies, reports, err := trainRecipe(ctx, t, c, save, o, progress)
	if err != nil {
		return nil, nil, err
	}
	progress.Done()
	return append(policies, more...), reports, nil
}

// idle says, a sentence each, which settings change nothing on a tensor.
func (c TrainConfig) idle(t *costs.Tensor) []string {
	notes := t.IdlePrices(c.Lambdas, c.AnyPrice)
	if !c.AnyPrice && c.Prices != DefaultTrainConfig().Prices {
		notes = append(notes, "prices has no effect without any_price: it is the range of an any-price policy.")
	}
	rows := t.Rows(costs.Train)
	if c.HalfLife > 0 && !slices.ContainsFunc(rows, func(n int) bool { return t.Times[n] != t.Times[rows[0]] }) {
		notes = append(notes, "half_life has no effect: all training rows have the same time.")
	}
	return notes
}

// checkTensor checks a tensor in memory. Recipe auto can use unknown outcomes.
func (c TrainConfig) checkTensor(rt *ort.Runtime, t *costs.Tensor, options error) error {
	if c.Recipe != auto.Name {
		return checkInMemory(rt, t, options)
	}
	if err := checkReady(rt, options); err != nil {
		return err
	}
	return t.ValidatePartial()
}

// OtherMethods are those besides the recipe's own. Methods by default are left out where they cannot be trained.
func (c TrainConfig) OtherMethods(t *costs.Tensor, progress stage.Progress) ([]models.Method, error) {
	a, out := t.Actions, []models.Method(nil)
	if len(c.Methods) > 0 && t.UnknownCells() > 0 {
		if slices.Equal(c.Methods, DefaultTrainConfig().Methods) {
			progress.Note("%s is left out: it needs all outcomes, and some are unknown", strings.Join(c.Methods, ", "))
			return nil, nil
		}
		return nil, &stage.OptionError{Err: fmt.Errorf("methods: %s need all outcomes, and some are unknown; only the recipe auto learns from such rows", strings.Join(c.Methods, ", "))}
	}
	if len(c.Methods) > 0 && c.HalfLife > 0 {
		progress.Note("%s counts all rows alike: half_life is of the recipe auto", strings.Join(c.Methods, ", "))
	}
	for _, name := range c.Methods {
		m, err := models.MethodNamed(name, c.Own...)
		if err == nil {
			err = m.Fits(a)
		}
		if err != nil {
			return nil, &stage.OptionError{Err: fmt.Errorf("method %s: %w", name, err)}
		}
		out = append(out, m)
	}
	return out, nil
}

// trainRecipe trains the recipe's own method.
func trainRecipe(ctx context.Context, t *costs.Tensor, c TrainConfig, save models.CheckpointPolicy, o models.Options, progress stage.Progress) ([]*policy.Policy, []auto.Report, error) {
	if c.OthersOnly {
		return nil, nil, nil
	}
	if c.Recipe == paper.Name {
		ours, err := models.MethodNamed(models.Ours)
		if err != nil {
			return nil, nil, err
		}
		o.Save = folder(save, ours.Name)
		policies, err := paper.Train(ctx, t, ours, c.Lambdas, c.Settings, o)
		return policies, nil, err
	}
	o.Save = folder(save, auto.Name)
	o.Stage = func(name string, steps int) { progress.Start(int64(steps), "train auto: "+name) }
	s := c.Auto
	s.Seed, s.HalfLife = c.Seed, c.HalfLife
	if !c.AnyPrice {
		return auto.Train(ctx, t, c.Lambdas, s, o)
	}
	p, r, err := auto.TrainAnyPrice(ctx, t, c.Prices, s, o)
	return []*policy.Policy{p}, []auto.Report{r}, err
}

func folder(p models.CheckpointPolicy, name string) models.CheckpointPolicy {
	if p.Dir != "" {
		p.Dir = filepath.Join(p.Dir, name)
	}
	return p
}

// WriteJSON writes the report as one indented JSON object.
func (r *TrainReport) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// DropPolicies removes policies listed in the train.json of an earlier training, but for those whose names stay, so that a
// folder does not contain the policies of two trainings.
func DropPolicies(folder string, stay map[string]bool) error {
	path := filepath.Join(folder, TrainReportFile)
	text, err := textfile.ReadFile(path, textfile.MaxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var before TrainReport
	if err != nil || json.Unmarshal(text, &before) != nil {
		return err // an invalid report lists no policies
	}
	for _, p := range before.Policies {
		if stay[p.File] || p.File != filepath.Base(p.File) || filepath.Ext(p.File) != ".onnx" {
			continue
		}
		file := filepath.Join(folder, p.File)
		if err := decide.RemoveDescription(file); err != nil {
			return err
		}
		if err := storage.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// trained returns the report line and file name of a policy.
func (o TrainOptions) trained(p *policy.Policy) TrainedPolicy {
	line := TrainedPolicy{Method: p.Method}
	switch {
	case p.Estimate != nil && p.Estimate.Prices != nil:
		line.Prices = p.Estimate.Prices
	case !methods.Named(p.Method, o.Own...).NoAdvice:
		line.Lambda = report.Num(p.Lambda)
	}
	if s, err := strconv.ParseUint(p.Info[policy.SeedKey], 10, 64); err == nil {
		line.Seed = &s
	}
	if p.Decoder == policy.DecoderFixed {
		line.Fallback = p.Actions.Name(p.Fixed)
	}
	if g := new(policy.Guard); line.Prices != nil && json.Unmarshal([]byte(p.Info[policy.GuardKey]), g) == nil && g.Fallback {
		line.Fallback = "the best fixed pair of the price"
	}
	line.File = policyName(line)
	return line
}

// writePolicy exports a policy with its validation loss and writes its file.
func writePolicy(ctx context.Context, rt *ort.Runtime, t *costs.Tensor, o TrainOptions, p *policy.Policy) (TrainedPolicy, error) {
	line := o.trained(p)
	split, err := costs.ParseSplit(o.Split)
	if err != nil {
		return line, err
	}
	if rows := t.CompleteRows(t.Rows(split)); len(rows) > 0 {
		l, err := exportAndDecide(ctx, rt, p, t, rows)
		if err != nil {
			return line, err
		}
		line.TrueLoss = report.Num(t.TrueLoss(rows, l.Action, p.Lambda))
		p.Info["validation"] = stage.JSON(map[string]any{"split": o.Split, "rows": len(rows), "true_loss": line.TrueLoss, "lambda": p.Lambda})
	}
	m, err := p.Export()
	if err != nil {
		return line, err
	}
	_, err = decide.WritePolicy(filepath.Join(o.Out, line.File), m)
	return line, err
}

// policyName is METHOD[-lambdaL or -any-price][-seedS].onnx.
func policyName(p TrainedPolicy) string {
	name := p.Method
	if p.Prices != nil {
		name += "-any-price"
	}
	if p.Lambda != nil {
		name += "-lambda" + strconv.FormatFloat(*p.Lambda, 'g', -1, 64)
	}
	if p.Seed != nil {
		name += "-seed" + strconv.FormatUint(*p.Seed, 10)
	}
	return name + ".onnx"
}

// WriteText writes the report for a reader at a terminal.
func (r *TrainReport) WriteText(w io.Writer) error {
	var b strings.Builder
	tab := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tab, "policy\ttrue loss\tremark")
	for _, p := range r.Policies {
		remark := ""
		if p.Fallback != "" {
			remark = "guard: always " + safetext.Line(p.Fallback)
		}
		if p.Warm != "" {
			remark = "the older policy " + safetext.Line(p.Warm)
		}
		fmt.Fprintf(tab, "%s\t%s\t%s\n", p.File, report.Number(p.TrueLoss), remark)
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "\nnote: %s\n", safetext.Line(note))
	}
	for _, a := range r.Auto {
		writeAuto(&b, a)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Files are what Train reads and writes.
func (o TrainOptions) Files() stage.Files {
	return stage.Files{
		Reads:  append(stage.TensorFiles(o.Tensor, o.Actions), stage.NamedFiles(o.Config, o.Warm)...),
		Writes: []stage.Output{{Path: o.Out, Patterns: []string{TrainReportFile, "*.onnx", "*" + stage.DescriptionEnding}}},
	}
}
