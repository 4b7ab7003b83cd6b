package outcome

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"pipe/costs"
	"pipe/costs/grade"
	"pipe/internal/storage"
	"pipe/internal/tablefile"
)

// Config says how existing outcome tables become a cost tensor. Start
// from DefaultImportConfig; see docs/import.md.
type Config struct {
	// Preset names the preset that the configuration began with; errors about
	// the layout of the tables say what it expects.
	Preset   string `yaml:"preset"`
	Outcomes Table  `yaml:"outcomes"`
	// Experts and Advice fix the order. If empty, it is the order of first appearance, with the absence of advice
	// moved to the front. A name in the data that is not listed is an error; with IgnoreUnlisted its rows are
	// skipped.
	Experts        []string `yaml:"experts"`
	Advice         []string `yaml:"advice"`
	IgnoreUnlisted bool     `yaml:"ignore_unlisted"`
	// None is the name for the absence of advice. If it is empty, it is the
	// first one of Advice, else the one called "none".
	None string `yaml:"none"`
	// Unavailable lists the pairs that do not exist.
	Unavailable []PairName     `yaml:"unavailable"`
	Fees        FeeTable       `yaml:"fees"`
	Features    []FeatureTable `yaml:"features"`
	// FeatureName is the name of the features in the tensor; if empty, the
	// names of their files.
	FeatureName string    `yaml:"feature_name"`
	Time        TimeRule  `yaml:"time"`
	Split       SplitRule `yaml:"split"`
	// Missing says what happens to instances that are not complete: MissingError
	// or "", MissingDrop, MissingKeep. DropIncomplete is an older name of
	// MissingDrop.
	Missing        string `yaml:"missing"`
	DropIncomplete bool   `yaml:"drop_incomplete"`
	// Base is the tensor that the rows are added to; nil: there is none.
	Base *Base `yaml:"-" json:"-"`
	// OpenText and OpenImage open the encoders of texts and of images; nil: there
	// are none.
	OpenText  OpenEncoder `yaml:"-" json:"-"`
	OpenImage OpenEncoder `yaml:"-" json:"-"`
	// OpenGrader opens the grader of answers; nil: grade.Open without models.
	OpenGrader OpenGrader `yaml:"-" json:"-"`
}

// DrawsSplit reports whether splits are drawn: no table has a column of splits.
func (c *Config) DrawsSplit() bool {
	return c.Outcomes.Columns.Split == "" && !slices.ContainsFunc(c.Features, func(f FeatureTable) bool { return f.Split != "" })
}

// PairName names a pair by its expert and advice.
type PairName struct {
	Expert string `yaml:"expert"`
	Advice string `yaml:"advice"`
}

// Table is a CSV, JSONL (each also gzipped) or Parquet file with the outcomes
// of the experts. In long form it has one row per instance and pair. In wide
// form, if Wide names pairs, it has one row per instance.
type Table struct {
	File    storage.Location `yaml:"file"`
	Columns Columns          `yaml:"columns"`
	// ScoreRange is the worst and the best score: a score becomes the loss
	// (best-score)/(best-worst). Without it a score lies in [0, 1] and becomes
	// 1-score.
	ScoreRange []float64 `yaml:"score_range"`
	// Grade judges recorded answers: their loss is 1 - score.
	Grade grade.Config `yaml:"grade"`
	// ReferenceList says that a cell of references is a JSON list of texts.
	ReferenceList bool `yaml:"reference_list"`
	// EmptyAnswers says what an empty cell of answers is: missing or "", a missing
	// outcome; wrong, an answer without a text.
	EmptyAnswers string `yaml:"empty_answers"`
	// ObservedKinds says of facts whether they are numbers or texts. Of others the
	// values decide, but for those of package observe.
	ObservedKinds map[string]string `yaml:"observed_kinds"`
	// Propensity is "unknown" where each row is a decision of which it is not known how probable it was; else "".
	Propensity string   `yaml:"propensity"`
	Wide       WideForm `yaml:"wide"`
	Layout     `yaml:",inline"`

	part *[2]int // the pieces that are read, see tablefile.Layout; nil: all
}

// propensityUnknown is the value of Table.Propensity.
const propensityUnknown = "unknown"

// Columns maps the terms of this program to column names. In long form exactly
// one of Loss, Correct, Score and Answer is set; Advice may be empty, and then there is
// none.
type Columns struct {
	ID         string `yaml:"id"`
	Expert     string `yaml:"expert"`
	Advice     string `yaml:"advice"`
	Loss       string `yaml:"loss"`
	Correct    string `yaml:"correct"`
	Score      string `yaml:"score"`
	Answer     string `yaml:"answer"` // judged by the grader; it is also the prediction
	Fee        string `yaml:"fee"`
	Prediction string `yaml:"prediction"`
	Reference  string `yaml:"reference"` // what answers are compared with
	Question   string `yaml:"question"`  // for graders that ask a model
	Label      string `yaml:"label"`
	Split      string `yaml:"split"`
	Group      string `yaml:"group"` // group of instances that belong together: user, session, page
	Time       string `yaml:"time"`  // when the outcome was recorded; an instance has the latest of its rows
	// Propensity is the probability with which the pair of the row was executed; every row is one decision then.
	Propensity string   `yaml:"propensity"`
	Observed   Observed `yaml:"observed"` // what could be seen of the answer
	Usage      `yaml:",inline"`
}

// TimeRule says how a column of times is read.
type TimeRule struct {
	Unit tablefile.TimeUnit `yaml:"unit"` // of numbers: what they count since 1970; "": numbers are an error
}

// WideForm lists the columns of a table that has one row per instance, or gives
// patterns of their names.
type WideForm struct {
	Value       string       `yaml:"value"` // what the columns hold: loss, correct, score or answer
	Pairs       []WideColumn `yaml:"pairs"`
	WidePattern `yaml:",inline"`
}

// WideColumn is one pair of a wide table. An empty advice is no advice.
type WideColumn struct {
	Expert     string   `yaml:"expert"`
	Advice     string   `yaml:"advice"`
	Column     string   `yaml:"column"`
	Fee        string   `yaml:"fee"`
	Prediction string   `yaml:"prediction"`
	Observed   Observed `yaml:"observed"`
	Usage      `yaml:",inline"`
}

// FeeTable sets the fixed fees: a JSON file {"experts": {NAME: FEE}, "advice": {NAME:
// FEE}}, or the same inline, which takes precedence. With neither, everything
// is free; otherwise every expert and every advice but the absence of advice
// needs a fee. The other keys say how the fee of each outcome is measured: money
// times FeeScale, where money is that of a column, or of the tokens at the prices of a
// file (package prices), and that of the latency.
type FeeTable struct {
	File    storage.Location   `yaml:"file"`
	Experts map[string]float64 `yaml:"experts"`
	Advice  map[string]float64 `yaml:"advice"`

	Prices        storage.Location  `yaml:"prices"`          // a price file
	Models        map[string]string `yaml:"models"`          // expert -> its name in the price file, where that differs
	CharsPerToken float64           `yaml:"chars_per_token"` // estimates tokens from characters
	Latency       LatencyPrice      `yaml:"latency"`
	FeeScale      float64           `yaml:"fee_scale"` // measured fee per unit of money; 0: a column of fees has the unit of the losses
	Currency      string            `yaml:"currency"`  // of money, such as USD; "": that of the price file
	As            string            `yaml:"as"`        // row or "": a fee per outcome; mean: a fixed fee per expert
}

// FeatureTable is a table with one row per instance, joined by id.
type FeatureTable struct {
	File   storage.Location `yaml:"file"` // empty: the outcome table itself; in long form, the rows of an instance must agree
	Layout `yaml:",inline"` // of a table with a file
	ID     string           `yaml:"id"` // empty: the name of the column in the outcome table
	// Columns are numeric ones: names, globs such as "px*", or ranges such as
	// "px0..px47" in the order of the file. Globs and ranges skip columns that
	// the configuration uses otherwise.
	Columns []string `yaml:"columns"`
	// List is a column with a list of numbers.
	List string `yaml:"list"`
	// Length lists text columns whose length in characters is a feature.
	Length []string `yaml:"length"`
	// Categorical columns become one feature per value, 1 where it is the
	// instance's and 0 elsewhere, in the order of the sorted values.
	Categorical []string `yaml:"categorical"`
	// Text columns become the vector that an encoder makes of them.
	Text TextColumns `yaml:"text"`
	// An Image column has paths of images, which become the vectors of an encoder.
	Image ImageColumn `yaml:"image"`
	Label string      `yaml:"label"`
	Split string      `yaml:"split"`
	Group string      `yaml:"group"`
	Time  string      `yaml:"time"`
	// Reference and Question are those of Columns.
	Reference string `yaml:"reference"`
	Question  string `yaml:"question"`
}

// SplitRule says which instances are held out if no table has a split column.
type SplitRule struct {
	Kind       string  `yaml:"kind"`       // see SplitDraw; "": according to Stratify, or SplitHash without it
	Validation float64 `yaml:"validation"` // share of the instances
	Test       float64 `yaml:"test"`
	Seed       uint64  `yaml:"seed"`
	// Stratify is an alternative to Kind: true is SplitStratified, false is
	// SplitRandom.
	Stratify *bool `yaml:"stratify"`
	// Names maps the values of a split column to train, val and test; values
	// that are not listed must be one of the three.
	Names map[string]string `yaml:"names"`
}

// Draw is how splits are drawn.
func (r SplitRule) Draw() costs.SplitDraw {
	kind := r.Kind
	switch {
	case kind != "":
	case r.Stratify == nil:
		kind = costs.SplitHash
	case *r.Stratify:
		kind = costs.SplitStratified
	default:
		kind = costs.SplitRandom
	}
	return costs.SplitDraw{Kind: kind, Validation: r.Validation, Test: r.Test, Seed: r.Seed}
}

// DefaultConfig holds out a quarter for validation, by the hash of the id
// and seed 0.
func DefaultConfig() Config {
	return Config{Split: SplitRule{Validation: 0.25}}
}

// Validate reports every problem of the configuration at once.
func (c *Config) Validate() error {
	var problems []error
	add := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	add(c.Outcomes.File.IsZero(), "outcomes.file is empty")
	add(c.Outcomes.Columns.ID == "", "outcomes.columns.id is empty")
	if c.Outcomes.isWide() {
		c.checkWide(add)
	} else {
		c.checkLong(add)
	}
	c.Outcomes.Layout.check("outcomes", add)
	if r := c.Outcomes.ScoreRange; r != nil {
		add(len(r) != 2 || !(r[0] != r[1]), "outcomes.score_range must be the worst and the best score, not %v", r)
	}
	add(len(c.Advice) > 0 && c.None != "" && c.Advice[0] != c.None,
		"advice starts with %q, but none is %q; the absence of advice must come first", first(c.Advice), c.None)
	add(c.IgnoreUnlisted && len(c.Experts) == 0 && len(c.Advice) == 0, "ignore_unlisted needs a list of experts or advice")
	add(!slices.Contains([]string{"", MissingError, MissingDrop, MissingKeep}, c.Missing), "missing is %q; it must be error, drop or keep", c.Missing)
	add(c.Missing != "" && c.DropIncomplete, "missing and drop_incomplete are both set; set missing only")
	add(len(c.Features) == 0, "features is empty")
	c.checkFees(add)
	c.checkFacts(add)
	c.checkFeatures(add)
	s := c.Split
	if err := s.Draw().Validate(); err != nil {
		add(true, "split: %w", err)
	}
	if err := c.Time.Unit.Check(); err != nil {
		add(true, "time.unit: %w", err)
	}
	add(s.Kind != "" && s.Stratify != nil, "split.kind and split.stratify are both set; set kind only")
	for from, to := range s.Names {
		_, err := costs.ParseSplit(to)
		add(err != nil, "split.names: %q: %v", from, err)
	}
	return errors.Join(problems...)
}

func first(s []string) string {
	if len(s) == 0 {
		return ""
	}
	return s[0]
}

func (c *Config) checkLong(add func(bool, string, ...any)) {
	o := c.Outcomes.Columns
	add(o.Expert == "", "outcomes.columns.expert is empty (a table in wide form has outcomes.wide)")
	add(c.Outcomes.Wide.Value != "", "outcomes.wide.value is set, but outcomes.wide.pairs is empty")
	values := 0
	for _, name := range []string{o.Loss, o.Correct, o.Score, o.Answer} {
		if name != "" {
			values++
		}
	}
	add(values != 1, "exactly one of outcomes.columns.loss, correct, score and answer is needed, not %d", values)
	add(c.Outcomes.ScoreRange != nil && o.Score == "", "outcomes.score_range needs outcomes.columns.score")
	said := c.Outcomes.Propensity
	add(said != "" && said != propensityUnknown, "outcomes.propensity is %q; it may only be %s, and outcomes.columns.propensity names a column", said, propensityUnknown)
	add(said != "" && o.Propensity != "", "outcomes.propensity is %q, but outcomes.columns.propensity names a column; set one of them", said)
}

func (c *Config) checkWide(add func(bool, string, ...any)) {
	o, w := c.Outcomes.Columns, c.Outcomes.Wide
	add(o.Expert+o.Advice+o.Loss+o.Correct+o.Score+o.Answer+o.Fee+o.Prediction+o.Propensity+c.Outcomes.Propensity != "" || o.Usage != Usage{} || len(o.Observed) > 0,
		"a table in wide form has only id, label, split, group, time, reference and question in outcomes.columns")
	if w.WidePattern.isSet() {
		c.checkPatterns(add)
		return
	}
	add(!slices.Contains([]string{"loss", "correct", "score", "answer"}, w.Value),
		"outcomes.wide.value is %q; it must be loss, correct, score or answer", w.Value)
	add(c.Outcomes.ScoreRange != nil && w.Value != "score", "outcomes.score_range needs outcomes.wide.value score")
	seen := make(map[PairName]bool)
	for i, p := range w.Pairs {
		add(p.Expert == "" || p.Column == "", "outcomes.wide.pairs[%d] needs expert and column", i)
		name := PairName{p.Expert, p.Advice}
		add(seen[name], "outcomes.wide.pairs[%d]: expert %q with advice %q is a duplicate", i, p.Expert, p.Advice)
		seen[name] = true
		add((p.Fee == "") != (w.Pairs[0].Fee == ""), "outcomes.wide.pairs[%d]: either all pairs have a fee or none", i)
		add((p.Prediction == "") != (w.Pairs[0].Prediction == ""), "outcomes.wide.pairs[%d]: either all pairs have a prediction or none", i)
		add(p.Usage.named() != w.Pairs[0].Usage.named(), "outcomes.wide.pairs[%d]: either all pairs have columns of the same usage or none", i)
	}
}

func (c *Config) checkFeatures(add func(bool, string, ...any)) {
	places := make(map[string]int)
	count := func(c instanceColumns) {
		for word, column := range c.byKey() {
			if column != "" {
				places[word]++
			}
		}
	}
	count(c.Outcomes.Columns.instance())
	for i, f := range c.Features {
		count(f.instance())
		add(f.File.IsZero() && f.Layout.isSet(), "features[%d] has no file, so it is the outcome table: rows, paths, cut and combine belong to outcomes", i)
		f.Layout.check(fmt.Sprintf("features[%d]", i), add)
		f.checkEncoded(i, add)
		add(len(f.Columns)+len(f.Length)+len(f.Categorical)+len(f.Text.names()) == 0 && f.List+f.Image.Column == "" && f.instance() == instanceColumns{},
			"features[%d] uses no column", i)
	}
	c.checkGrade(add, places)
	for _, word := range slices.Sorted(maps.Keys(instanceColumns{}.byKey())) {
		add(places[word] > 1, "%s is taken from %d places", word, places[word])
	}
	add(c.Split.Kind == costs.SplitTime && places["time"] == 0 && places["split"] == 0, "split.kind is time, but no table has a column time")
}
