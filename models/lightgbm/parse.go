package lightgbm

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ParseModel reads a model in LightGBM's text format: a binary objective or squared error, splits on numbers, constant leaves. Errors
// name the tree and the field. It uses memory in proportion to the size of the text.
func ParseModel(text []byte) (*Model, error) {
	m, err := parseModel(string(text))
	if err != nil {
		return nil, fmt.Errorf("lightgbm: parse model: %w", err)
	}
	return m, nil
}

func parseModel(text string) (*Model, error) {
	text, _, whole := strings.Cut(text, "\nend of trees")
	if !whole {
		return nil, errors.New(`no "end of trees": not a LightGBM model, or truncated`)
	}
	parts := strings.Split(text, "\nTree=")
	m, err := parseHeader(readFields(parts[0]))
	if err != nil {
		return nil, err
	}
	for i, part := range parts[1:] {
		number, body, _ := strings.Cut(part, "\n")
		if strings.TrimSpace(number) != strconv.Itoa(i) {
			return nil, fmt.Errorf("tree %d: is called %q", i, number)
		}
		t, err := parseTree(readFields(body), m.Columns)
		if err != nil {
			return nil, fmt.Errorf("tree %d: %w", i, err)
		}
		m.Trees = append(m.Trees, t)
	}
	if len(m.Trees) == 0 {
		return nil, errors.New("no trees")
	}
	return m, nil
}

// fields are lines "name=value"; if a name is repeated, the first counts.
type fields map[string]string

func readFields(text string) fields {
	f := fields{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), "=")
		if _, seen := f[name]; !seen {
			f[name] = value
		}
	}
	return f
}

func parseHeader(f fields) (*Model, error) {
	for _, want := range []struct{ name, value string }{{"num_class", "1"}, {"num_tree_per_iteration", "1"}} {
		if got := f[want.name]; got != want.value {
			return nil, fmt.Errorf("%s is %q: only %s is known", want.name, got, want.value)
		}
	}
	if v := f["version"]; v != "v3" && v != "v4" {
		return nil, fmt.Errorf("version is %q: only v3 and v4 are known", v)
	}
	if _, averaged := f["average_output"]; averaged {
		return nil, errors.New("average_output: a random forest is not supported")
	}
	last, err := strconv.ParseInt(f["max_feature_idx"], 10, 32)
	if err != nil || last < 0 || last == math.MaxInt32 {
		return nil, fmt.Errorf("max_feature_idx is %q: must be a column number", f["max_feature_idx"])
	}
	m := &Model{Columns: int(last) + 1}
	m.Objective, m.Sigmoid, err = parseObjective(f["objective"])
	return m, err
}

// parseObjective parses "regression", or "binary sigmoid:1" with its slope. Words after "regression" would change the
// loss or the estimate.
func parseObjective(s string) (o Objective, sigmoid float64, err error) {
	words := strings.Fields(s)
	switch {
	case s == Regression.String():
		return Regression, 0, nil
	case len(words) == 0 || words[0] != Binary.String():
		return 0, 0, fmt.Errorf("objective is %q: only binary and regression are supported", s)
	}
	sigmoid, err = parseSigmoid(s, words)
	return Binary, sigmoid, err
}

func parseSigmoid(s string, words []string) (sigmoid float64, err error) {
	sigmoid = 1
	for _, w := range words[1:] {
		if v, ok := strings.CutPrefix(w, "sigmoid:"); ok {
			sigmoid, err = strconv.ParseFloat(v, 64)
			if err != nil || !(sigmoid > 0) || math.IsInf(sigmoid, 0) {
				return 0, fmt.Errorf("objective is %q: the sigmoid must be a positive number", s)
			}
		}
	}
	return sigmoid, nil
}

// Bits of decision_type.
const (
	bitCategorical = 1
	bitDefaultLeft = 2
	shiftMissing   = 2
)

func parseTree(f fields, columns int) (Tree, error) {
	for _, name := range []string{"num_cat", "is_linear"} {
		if v := f[name]; v != "0" && (v != "" || name == "num_cat") {
			return Tree{}, fmt.Errorf("%s is %q: only 0 is supported", name, v)
		}
	}
	leaves, err := strconv.ParseInt(f["num_leaves"], 10, 32)
	if err != nil || leaves < 1 {
		return Tree{}, fmt.Errorf("num_leaves is %q: must be 1 or more", f["num_leaves"])
	}
	n := int(leaves) - 1
	r := reader{fields: f}
	values := r.leaves(n + 1)
	column, threshold := r.ints("split_feature", n, 0, columns-1), r.floats("threshold", n)
	decision := r.ints("decision_type", n, 0, math.MaxInt8)
	left, right := r.ints("left_child", n, -n-1, n-1), r.ints("right_child", n, -n-1, n-1)
	if r.err != nil {
		return Tree{}, r.err
	}
	t := Tree{Leaves: values, Splits: make([]Split, n)}
	for i := range t.Splits {
		d := decision[i]
		if d&bitCategorical != 0 || Missing(d>>shiftMissing) > MissingNaN {
			return Tree{}, fmt.Errorf("decision_type[%d] is %d: not a split on numbers", i, d)
		}
		t.Splits[i] = Split{
			Column: column[i], Threshold: threshold[i], Left: left[i], Right: right[i],
			Missing: Missing(d >> shiftMissing), DefaultLeft: d&bitDefaultLeft != 0,
		}
	}
	return t, t.check()
}

// check makes sure that every leaf and every split except the root has exactly one parent, and that splits come after
// their parents. Every walk from the root then ends.
func (t *Tree) check() error {
	if len(t.Splits) == 0 {
		return nil
	}
	splits, leaves := make([]bool, len(t.Splits)), make([]bool, len(t.Leaves))
	for i, s := range t.Splits {
		for _, c := range []struct {
			name  string
			child int
		}{{"left_child", s.Left}, {"right_child", s.Right}} {
			taken := leaves
			at := ^c.child
			if c.child >= 0 {
				taken, at = splits, c.child
				if at <= i {
					return fmt.Errorf("%s[%d] is %d: must come after its parent", c.name, i, c.child)
				}
			}
			if taken[at] {
				return fmt.Errorf("%s[%d] is %d: already the child of another", c.name, i, c.child)
			}
			taken[at] = true
		}
	}
	return nil // 2n distinct children are all n+1 leaves and n-1 splits
}

// reader reads lists of numbers and keeps the first error.
type reader struct {
	fields fields
	err    error
}

// list splits a field into exactly n words; it allocates nothing based on n alone.
func (r *reader) list(name string, n int) []string {
	words := strings.Fields(r.fields[name])
	if r.err == nil && len(words) != n {
		r.err = fmt.Errorf("%s has %d values, want %d", name, len(words), n)
	}
	if r.err != nil {
		return nil
	}
	return words
}

func (r *reader) ints(name string, n, low, high int) []int {
	words := r.list(name, n)
	out := make([]int, len(words))
	for i, w := range words {
		v, err := strconv.Atoi(w)
		if err != nil || v < low || v > high {
			r.err = fmt.Errorf("%s[%d] is %q: must be from %d to %d", name, i, w, low, high)
			return nil
		}
		out[i] = v
	}
	return out
}

func (r *reader) floats(name string, n int) []float64 {
	words := r.list(name, n)
	out := make([]float64, len(words))
	for i, w := range words {
		v, err := strconv.ParseFloat(w, 64)
		if err != nil || math.IsNaN(v) {
			r.err = fmt.Errorf("%s[%d] is %q: must be a number", name, i, w)
			return nil
		}
		out[i] = v
	}
	return out
}

// leaves are finite. Thresholds need not be: an infinite threshold separates present from missing values.
func (r *reader) leaves(n int) []float64 {
	out := r.floats("leaf_value", n)
	for i, v := range out {
		if math.IsInf(v, 0) {
			r.err = fmt.Errorf("leaf_value[%d] is %g: must be finite", i, v)
			return nil
		}
	}
	return out
}
