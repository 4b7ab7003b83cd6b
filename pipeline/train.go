package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"pipe/costs"
	"pipe/internal/atomicfile"
	"pipe/internal/config"
	"pipe/internal/safetext"
	"pipe/internal/textfile"
	"pipe/models"
	"pipe/models/auto"
	"pipe/models/policy"
	"pipe/onnx/ort"
	"pipe/pipeline/stage"
)

// TrainConfig are the choices of pipe train: the `train:` section of a
// configuration file, or flags.
type TrainConfig struct {
	Recipe       string          `yaml:"recipe" json:"recipe"`   // "auto" or "paper"
	Lambdas      []float64       `yaml:"lambdas" json:"lambdas"` // one policy (per seed) for each
	Methods      []string        `yaml:"methods" json:"methods"` // besides the recipe's own: l2d, separated, separated_softmax
	Seeds        int             `yaml:"seeds" json:"seeds"`     // recipe paper and the other methods
	Seed         uint64          `yaml:"seed" json:"seed"`       // the first
	Tau          float64         `yaml:"tau" json:"tau"`
	LearningRate float64         `yaml:"learning_rate" json:"learning_rate"`
	L2DRate      float64         `yaml:"l2d_learning_rate" json:"l2d_learning_rate"`
	WeightDecay  float64         `yaml:"weight_decay" json:"weight_decay"`
	Dropout      float64         `yaml:"dropout" json:"dropout"`
	Network      models.Settings `yaml:"network" json:"network"` // recipe paper and the other methods
	Auto         auto.Settings   `yaml:"auto" json:"auto"`
}

// DefaultTrainConfig is the auto recipe at lambda 1, with L2D beside it.
func DefaultTrainConfig() TrainConfig {
	n := models.DefaultSettings()
	n.Hidden, n.Epochs, n.Schedule = []int{64}, 50, "cosine"
	return TrainConfig{
		Recipe: "auto", Lambdas: []float64{1}, Methods: []string{"l2d"}, Seeds: 4, Tau: 1,
		LearningRate: 1e-3, L2DRate: 1e-3, WeightDecay: 1e-4, Network: n, Auto: auto.DefaultSettings(),
	}
}

// with are the settings of several recipes that learn from the same costs; methods beside a recipe's own come with the
// first.
func (c TrainConfig) with(recipes []string) []TrainConfig {
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

// checkRecipes adds what is wrong with a list of recipes.
func checkRecipes(names []string, list *config.Problems) {
	list.Check(len(names) > 0, "recipes: none are listed; known are auto, paper")
	for i, name := range names {
		list.Check(name == "paper" || name == "auto", "recipes[%d]: %q, known are auto, paper", i, name)
		list.Check(!slices.Contains(names[:i], name), "recipes[%d]: %q is given twice", i, name)
	}
}

// mostSeeds bounds the models that are in memory together.
const mostSeeds = 1000

// Validate reports every problem at once.
func (c TrainConfig) Validate() error {
	var errs []error
	bad := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(c.Recipe == "auto" || c.Recipe == "paper", "recipe: %q, known are auto, paper", c.Recipe)
	bad(len(c.Lambdas) > 0, "lambdas: none given")
	for i, l := range c.Lambdas {
		bad(costs.UsableLambda(l), "lambdas: %g is not a number from 0 to %g", l, costs.MaxLambda)
		bad(!slices.Contains(c.Lambdas[:i], l), "lambdas: %g is given twice", l)
	}
	for i, m := range c.Methods {
		_, known := paperMethods[m]
		bad(known, "methods: %q, known are %s", m, strings.Join(slices.Sorted(maps.Keys(paperMethods)), ", "))
		bad(!slices.Contains(c.Methods[:i], m), "methods: %q is given twice", m)
		bad(m != "ours" || c.Recipe != "paper", "methods: %q is what the recipe paper trains anyway", m)
	}
	bad(c.Seeds > 0 && c.Seeds <= mostSeeds, "seeds: %d, not 1 to %d", c.Seeds, mostSeeds)
	bad(c.LearningRate > 0 && Num(c.LearningRate) != nil, "learning_rate: %g is not a finite positive number", c.LearningRate)
	bad(c.L2DRate > 0 && Num(c.L2DRate) != nil, "l2d_learning_rate: %g is not a finite positive number", c.L2DRate)
	bad(c.WeightDecay >= 0 && Num(c.WeightDecay) != nil, "weight_decay: %g is not a finite non-negative number", c.WeightDecay)
	bad(c.Dropout >= 0 && c.Dropout < 1, "dropout: %g is outside [0, 1)", c.Dropout)
	bad(c.Tau >= 0 && c.Tau <= 3, "tau: %g is outside [0, 3]", c.Tau)
	return errors.Join(append(errs, config.Under("network", c.Network.Validate()), config.Under("auto", c.Auto.Validate()))...)
}

// TrainOptions fixes one run of Train.
type TrainOptions struct {
	TrainConfig
	Tensor  string // cost tensor: a Parquet file or a folder of parts
	Actions string // actions JSON, where the file has no metadata
	Config  string // the file that the settings came from, which must not be replaced; empty: none
	Out     string // folder for the policies and train.json
	Split   string // rows that the report's losses are on
	Runtime ort.Config
}

// trainReportFile is what Train leaves beside the policies.
const trainReportFile = "train.json"

// DefaultTrainOptions is DefaultTrainConfig reported on validation rows.
func DefaultTrainOptions() TrainOptions {
	return TrainOptions{TrainConfig: DefaultTrainConfig(), Split: "val", Runtime: ort.DefaultConfig()}
}

// Validate reports every problem at once.
func (o TrainOptions) Validate() error {
	_, err := costs.ParseSplit(o.Split)
	return errors.Join(o.TrainConfig.Validate(), err)
}

// TrainReport says what was trained. It is the JSON object of pipe train.
type TrainReport struct {
	Format   int             `json:"format"`
	Tensor   string          `json:"tensor"`
	Rows     int             `json:"rows"`
	Repeats  []costs.Repeats `json:"repeats,omitempty"` // of the training rows and of those that the losses are on
	Policies []TrainedPolicy `json:"policies"`
	Auto     []auto.Report   `json:"auto,omitempty"`
	Seconds  float64         `json:"seconds,omitempty"` // not in train.json, whose bytes do not depend on the machine
}

// TrainedPolicy is one policy file.
type TrainedPolicy struct {
	File     string   `json:"file"`
	Method   string   `json:"method"`
	Lambda   *float64 `json:"lambda,omitempty"` // absent for l2d, which has none
	Seed     *uint64  `json:"seed,omitempty"`   // absent for averaged seeds
	TrueLoss *float64 `json:"true_loss,omitempty"`
	Fallback string   `json:"fallback,omitempty"` // the pair that the guard fell back to
}

// Train trains policies on the tensor's training rows and writes one ONNX file
// each, and train.json, into o.Out. A run that was interrupted continues from
// its checkpoints when it is started again; they are removed at the end. Policies
// that an earlier training has left there, as its train.json lists them, go. Two
// runs at once into one folder are a *filelock.InUseError for the second.
func Train(ctx context.Context, o TrainOptions, progress stage.Progress) (*TrainReport, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if err := o.files().Check(); err != nil {
		return nil, err
	}
	return stage.Alone(o.Out, func() (*TrainReport, error) { return trainTensor(ctx, o, progress) })
}

func trainTensor(ctx context.Context, o TrainOptions, progress stage.Progress) (*TrainReport, error) {
	start := time.Now()
	progress.Start(-1, "read costs")
	defer progress.Done()
	t, err := costs.Read(o.Tensor, costs.ReadOptions{Actions: o.Actions})
	if err != nil {
		return nil, err
	}
	rt, err := ort.Open(o.Runtime)
	if err != nil {
		return nil, err
	}
	defer rt.Close()
	r, err := trainInto(ctx, rt, t, o, filepath.Join(o.Out, "checkpoints"), progress)
	if err != nil {
		return nil, err
	}
	r.Seconds = time.Since(start).Seconds()
	return r, nil
}

// trainInto trains on a tensor in memory, which the report calls o.Tensor, and leaves policies and train.json in o.Out.
// The folder of checkpoints is removed when all is done.
func trainInto(ctx context.Context, rt *ort.Runtime, t *costs.Tensor, o TrainOptions, checkpoints string, progress stage.Progress) (*TrainReport, error) {
	for _, folder := range []string{o.Out, checkpoints} {
		if err := os.MkdirAll(folder, 0o777); err != nil {
			return nil, err
		}
	}
	split, err := costs.ParseSplit(o.Split)
	if err != nil {
		return nil, err
	}
	repeats := costs.RepeatsIn(t, slices.Compact([]costs.Split{costs.Train, split})...)
	for _, note := range costs.RepeatNotes(repeats) {
		progress.Note("%s", note)
	}
	save := models.CheckpointPolicy{Dir: checkpoints, Every: 20 * time.Second}
	policies, reports, err := TrainTensor(ctx, rt, t, o.TrainConfig, save, progress)
	if err != nil {
		_ = os.Remove(checkpoints) // where there are none yet
		if errors.Is(err, models.ErrOtherCheckpoint) {
			err = fmt.Errorf("%w; repeat the command that was interrupted, or remove %q", err, checkpoints)
		}
		return nil, fmt.Errorf("train on %q: %w", o.Tensor, err)
	}
	r := &TrainReport{Format: 1, Tensor: o.Tensor, Rows: len(t.Rows(costs.Train)), Repeats: repeats, Auto: reports}
	if err := dropOthers(o.Out, policies); err != nil {
		return nil, err
	}
	progress.Start(int64(len(policies)), "write policies")
	defer progress.Done()
	for _, p := range policies {
		line, err := writePolicy(ctx, rt, t, o, p)
		if err != nil {
			return nil, err
		}
		progress.Add(1)
		r.Policies = append(r.Policies, line)
	}
	if err := atomicfile.Write(filepath.Join(o.Out, trainReportFile), r.WriteJSON); err != nil {
		return nil, err
	}
	return r, os.RemoveAll(checkpoints)
}

// TrainTensor trains everything that c asks for on a tensor in memory.
func TrainTensor(ctx context.Context, rt *ort.Runtime, t *costs.Tensor, c TrainConfig, save models.CheckpointPolicy, progress stage.Progress) ([]*policy.Policy, []auto.Report, error) {
	if len(t.Rows(costs.Train)) == 0 {
		return nil, nil, &costs.DataError{Column: "split", Msg: "no row is train"}
	}
	for _, m := range c.Methods {
		if err := paperMethods[m].fits(t.Actions); err != nil {
			return nil, nil, &stage.OptionError{Err: fmt.Errorf("method %s: %w", m, err)}
		}
	}
	o := models.Options{Runtime: rt, Save: save, Progress: func(n int) { progress.Add(int64(n)) }}
	// The other methods come first: that the actions rule one out should not be
	// found out after the long search.
	var others []*policy.Policy
	for _, m := range c.Methods {
		o.Save = folder(save, m)
		more, err := trainPaper(ctx, t, c, m, o, progress)
		if err != nil {
			return nil, nil, fmt.Errorf("method %s: %w", m, err)
		}
		others = append(others, more...)
	}
	var policies []*policy.Policy
	var reports []auto.Report
	var err error
	if c.Recipe == "auto" {
		o.Save = folder(save, "auto")
		policies, reports, err = trainAuto(ctx, t, c, o, progress)
	} else {
		o.Save = folder(save, "ours")
		policies, err = trainPaper(ctx, t, c, "ours", o, progress)
	}
	if err != nil {
		return nil, nil, err
	}
	progress.Done()
	policies = append(policies, others...)
	digest := t.Digest()
	for _, p := range policies {
		p.Info["training_digest"] = digest
		if names, ok := t.Meta[costs.NamesKey]; ok {
			p.Info[policy.NamesKey] = names
		}
	}
	return policies, reports, nil
}

// trainAuto runs the auto recipe and lets its policies tell how they came about.
func trainAuto(ctx context.Context, t *costs.Tensor, c TrainConfig, o models.Options, progress stage.Progress) ([]*policy.Policy, []auto.Report, error) {
	o.Stage = func(stage string, steps int) { progress.Start(int64(steps), "train auto: "+stage) }
	s := c.Auto
	s.Seed = c.Seed
	policies, reports, err := auto.Train(ctx, t, c.Lambdas, s, o)
	if err != nil {
		return nil, nil, err
	}
	for i, p := range policies {
		p.Info["guard"] = reports[i].Guard.JSON()
		p.Info["settings"] = stage.JSON(struct {
			auto.Candidate
			Epochs int    `json:"epochs"`
			Folds  int    `json:"folds"`
			Seeds  int    `json:"seeds"`
			Seed   uint64 `json:"seed"` // the first
		}{reports[i].Chosen, reports[i].Epochs, reports[i].Folds, s.Seeds, s.Seed})
	}
	return policies, reports, nil
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

// dropOthers removes the policies that train.json of an earlier training lists and this one does not replace, so that a
// folder does not hold the policies of two trainings.
func dropOthers(folder string, policies []*policy.Policy) error {
	path := filepath.Join(folder, trainReportFile)
	text, err := textfile.ReadFile(path, textfile.MaxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var before TrainReport
	if err != nil || json.Unmarshal(text, &before) != nil {
		return err // what is no report lists no policy
	}
	stay := map[string]bool{}
	for _, p := range policies {
		stay[trainedPolicy(p).File] = true
	}
	for _, p := range before.Policies {
		if stay[p.File] || p.File != filepath.Base(p.File) || filepath.Ext(p.File) != ".onnx" {
			continue
		}
		if err := os.Remove(filepath.Join(folder, p.File)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// trainedPolicy names a policy and its file.
func trainedPolicy(p *policy.Policy) TrainedPolicy {
	line := TrainedPolicy{Method: p.Method}
	if p.Method != "l2d" {
		line.Lambda = Num(p.Lambda)
	}
	if s, err := strconv.ParseUint(p.Info["seed"], 10, 64); err == nil {
		line.Seed = &s
	}
	if p.Decoder == policy.DecoderFixed {
		line.Fallback = p.Actions.Name(p.Fixed)
	}
	line.File = policyName(line)
	return line
}

// writePolicy exports a policy with its validation figure and writes its file.
func writePolicy(ctx context.Context, rt *ort.Runtime, t *costs.Tensor, o TrainOptions, p *policy.Policy) (TrainedPolicy, error) {
	line := trainedPolicy(p)
	split, err := costs.ParseSplit(o.Split)
	if err != nil {
		return line, err
	}
	if rows := t.Rows(split); len(rows) > 0 {
		l, err := DecideRows(ctx, rt, p, t, rows)
		if err != nil {
			return line, err
		}
		line.TrueLoss = Num(t.TrueLoss(rows, l.Action, p.Lambda))
		p.Info["validation"] = stage.JSON(map[string]any{"split": o.Split, "rows": len(rows), "true_loss": line.TrueLoss, "lambda": p.Lambda})
	}
	m, err := p.Export()
	if err != nil {
		return line, err
	}
	return line, m.WriteFile(filepath.Join(o.Out, line.File))
}

// policyName is METHOD[-lambdaL][-seedS].onnx.
func policyName(p TrainedPolicy) string {
	name := p.Method
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
		fmt.Fprintf(tab, "%s\t%s\t%s\n", p.File, number(p.TrueLoss), remark)
	}
	if err := tab.Flush(); err != nil {
		return err
	}
	for _, a := range r.Auto {
		g := a.Guard
		if g.Rows == 0 {
			fmt.Fprintf(&b, "\nlambda %g: all %d training rows belong together, so that none could be left out to judge by: always %s is exported\n", a.Lambda, a.Rows, safetext.Line(g.Fixed))
			continue
		}
		fmt.Fprintf(&b, "\nlambda %g: learned %.4f against %.4f of always %s on %d left-out rows%s; gain %.4f, one-sided %g%% lower bound %.4f: %s\n",
			a.Lambda, g.Learned, g.FixedLoss, safetext.Line(g.Fixed), g.Rows, inSets(g), g.Gain, 100*g.Confidence, g.LowerBound,
			map[bool]string{true: "the constant is exported", false: "the learned policy is exported"}[g.Fallback])
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (o TrainOptions) files() stage.Files {
	return stage.Files{
		Reads:  append(stage.TensorFiles(o.Tensor, o.Actions), stage.NamedFiles(o.Config)...),
		Writes: []stage.Output{{Path: o.Out, Patterns: []string{trainReportFile, "*.onnx"}}},
	}
}
