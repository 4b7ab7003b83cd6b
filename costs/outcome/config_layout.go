package outcome

import (
	"maps"
	"slices"

	"pipe/internal/storage"
	"pipe/internal/tablefile"
)

// Layout says how the rows of a table are found in its files, if it is not
// simply a table.
type Layout struct {
	// Rows is the key of the list in a JSON file whose objects are the rows.
	Rows string `yaml:"rows"`
	// Paths is a pattern of the files of a folder, such as
	// "{dataset}/{split:train|test}/*.json"; what a {name} stands for is a column.
	Paths string `yaml:"paths"`
	// Cut are columns that are parts of another, by its name, such as id: '(?<user>.+)-\d+'.
	Cut map[string]string `yaml:"cut"`
	// Combine are columns made of others, such as id: "{dataset}/{index}", or
	// constants.
	Combine map[string]string `yaml:"combine"`
}

// WidePattern are patterns of the names of columns of a wide table, such as
// "{expert}|total_cost" or "{expert}.{advice}.fee". Exactly one of Loss,
// Correct, Score and Answer is set.
type WidePattern struct {
	Loss       string   `yaml:"loss"`
	Correct    string   `yaml:"correct"`
	Score      string   `yaml:"score"`
	Answer     string   `yaml:"answer"`
	Fee        string   `yaml:"fee"`
	Prediction string   `yaml:"prediction"`
	Observed   Observed `yaml:"observed"`
	Usage      `yaml:",inline"`
}

// The names in a WidePattern.
const (
	expertName = "expert"
	adviceName = "advice"
)

// isWide reports whether a row has all outcomes of an instance.
func (t *Table) isWide() bool {
	return len(t.Wide.Pairs) > 0 || t.Wide.WidePattern.isSet()
}

// isSet reports whether there are patterns.
func (w *WidePattern) isSet() bool { return len(w.keys()) > 0 }

// at is where a table is.
func (l *Layout) at(path storage.Location) tablefile.Layout {
	return tablefile.Layout{Path: path, Rows: l.Rows, Paths: l.Paths, Cut: l.Cut, Combine: l.Combine}
}

// layout is where the table is.
func (t *Table) layout() tablefile.Layout {
	l := t.Layout.at(t.File)
	l.Part, l.All = t.part, t.Wide.WidePattern.isSet() // a model of which the first row has nothing is a model
	return l
}

// isSet reports whether any of the settings is set.
func (l *Layout) isSet() bool { return l.Rows+l.Paths != "" || len(l.Cut)+len(l.Combine) > 0 }

// check reports the problems of the layout of a table of this name.
func (l *Layout) check(table string, add func(bool, string, ...any)) {
	_, err := tablefile.ParsePaths(l.Paths)
	add(err != nil, "%s.paths: %v", table, err)
	for column, expression := range l.Cut {
		_, err := tablefile.ParseCut(expression)
		add(err != nil, "%s.cut.%s: %v", table, column, err)
	}
	for name, pattern := range l.Combine {
		_, err := tablefile.ParsePattern(pattern)
		add(err != nil, "%s.combine.%s: %v", table, name, err)
	}
}

// value is what the outcomes are, and the pattern of their columns.
func (w *WidePattern) value() (kind, pattern string) {
	for _, c := range []struct{ kind, pattern string }{{"loss", w.Loss}, {"correct", w.Correct}, {"score", w.Score}, {"answer", w.Answer}} {
		if c.pattern != "" {
			kind, pattern = c.kind, c.pattern
		}
	}
	return kind, pattern
}

// patternKey is a pattern and the place of the column that it finds.
type patternKey struct {
	key     string
	pattern string
	column  func(*WideColumn) *string // nil for a fact
	fact    string
}

// keys are the patterns that are set.
func (w *WidePattern) keys() []patternKey {
	kind, value := w.value()
	all := []patternKey{
		{kind, value, func(c *WideColumn) *string { return &c.Column }, ""},
		{"fee", w.Fee, func(c *WideColumn) *string { return &c.Fee }, ""},
		{"prediction", w.Prediction, func(c *WideColumn) *string { return &c.Prediction }, ""},
		{"tokens_in", w.TokensIn, func(c *WideColumn) *string { return &c.TokensIn }, ""},
		{"tokens_cached", w.TokensCached, func(c *WideColumn) *string { return &c.TokensCached }, ""},
		{"tokens_out", w.TokensOut, func(c *WideColumn) *string { return &c.TokensOut }, ""},
		{"chars_in", w.CharsIn, func(c *WideColumn) *string { return &c.CharsIn }, ""},
		{"chars_out", w.CharsOut, func(c *WideColumn) *string { return &c.CharsOut }, ""},
		{"latency", w.Latency, func(c *WideColumn) *string { return &c.Latency }, ""},
	}
	for _, name := range slices.Sorted(maps.Keys(w.Observed)) {
		all = append(all, patternKey{key: "observed." + name, pattern: w.Observed[name], fact: name})
	}
	return slices.DeleteFunc(all, func(k patternKey) bool { return k.pattern == "" })
}

func (c *Config) checkPatterns(add func(bool, string, ...any)) {
	w := &c.Outcomes.Wide
	add(len(w.Pairs) > 0 || w.Value != "", "outcomes.wide has patterns; it cannot also have pairs or a value")
	values := 0
	for _, pattern := range []string{w.Loss, w.Correct, w.Score, w.Answer} {
		if pattern != "" {
			values++
		}
	}
	add(values != 1, "exactly one of outcomes.wide.loss, correct, score and answer is needed, not %d", values)
	add(c.Outcomes.ScoreRange != nil && w.Score == "", "outcomes.score_range needs outcomes.wide.score")
	narrow, withAdvice := false, 0
	for _, k := range w.keys() {
		p, err := tablefile.ParsePattern(k.pattern)
		if err != nil {
			add(true, "outcomes.wide.%s: %v", k.key, err)
			continue
		}
		names := p.Names()
		add(!slices.Contains(names, expertName), "outcomes.wide.%s: %q has no {expert}", k.key, k.pattern)
		if slices.Contains(names, adviceName) {
			withAdvice++
		}
		for _, name := range names {
			add(name != expertName && name != adviceName, "outcomes.wide.%s: {%s} is not known; there are {expert} and {advice}", k.key, name)
		}
		narrow = narrow || k.pattern != bareExpert
	}
	add(withAdvice > 0 && withAdvice < len(w.keys()), "outcomes.wide: either all patterns have {advice} or none")
	add(!narrow && len(c.Experts) == 0, "outcomes.wide: %q fits every column; list the experts", bareExpert)
}

// bareExpert is the pattern of columns whose name is that of the expert.
const bareExpert = "{" + expertName + "}"
