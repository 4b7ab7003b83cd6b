package observe

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"pipe/costs"
	"pipe/costs/grade"
)

// Names of the standard facts.
const (
	Label      = "label"      // the label that the answer gives
	Confidence = "confidence" // that the expert has in the label, 0 to 1
	LogProb    = "logprob"    // natural logarithm of the probability of the label or of the text
	Length     = "length"     // characters of the text
	Finish     = "finish"     // why the text ends, in the words of OpenAI's chat completions: stop, length, tool_calls, content_filter
	JSON       = "json"       // 1: the text is JSON; 0: it is not
	Cosine     = "cosine"     // of the vectors of question and answer by the encoder of the features
)

// names are the standard facts in the order in which tables have them.
var names = []string{Label, Confidence, LogProb, Length, Finish, JSON, Cosine}

// Names returns the names of the standard facts, in the order in which tables have them.
func Names() []string { return slices.Clone(names) }

// IsCategory reports whether a standard fact is one of several values, and not a number.
func IsCategory(name string) bool { return name == Label || name == Finish }

// CheckNames is an error about names that are not those of standard facts, or that repeat.
func CheckNames(list []string) error {
	for i, name := range list {
		if !slices.Contains(names, name) {
			return fmt.Errorf("unknown fact %q; known are %s", name, strings.Join(names, ", "))
		}
		if slices.Contains(list[:i], name) {
			return fmt.Errorf("fact %q is named twice", name)
		}
	}
	return nil
}

// Answer is what is known of an answer. The zero value of a number is a number: start from Unknown.
type Answer struct {
	Written    bool    // Text is known
	Text       string  // as the expert wrote it, with the thoughts of reasoning models; it may be empty
	Label      string  // "": not known
	Finish     string  // "": not known
	Confidence float64 // NaN: not known
	LogProb    float64 // NaN: not known
	Cosine     float64 // NaN: not known
}

// Unknown returns an answer of which nothing is known.
func Unknown() Answer {
	none := math.NaN()
	return Answer{Confidence: none, LogProb: none, Cosine: none}
}

// Content is the text without thoughts and outer white space. Facts of texts are facts of it.
func (a *Answer) Content() string { return strings.TrimSpace(grade.WithoutThoughts(a.Text)) }

// Number returns a fact that is a number, finite as float32; NaN if it is not known.
func (a *Answer) Number(name string) float64 {
	if v := a.number(name); math.Abs(v) <= math.MaxFloat32 {
		return v
	}
	return math.NaN()
}

func (a *Answer) number(name string) float64 {
	switch {
	case name == Confidence:
		return a.Confidence
	case name == LogProb:
		return a.LogProb
	case name == Cosine:
		return a.Cosine
	case name == Length && a.Written:
		return float64(utf8.RuneCountInString(a.Content()))
	case name == JSON && a.Written && json.Valid([]byte(a.Content())):
		return 1
	case name == JSON && a.Written:
		return 0
	}
	return math.NaN()
}

// Category returns a fact that is one of several values, "" if it is not known.
func (a *Answer) Category(name string) string {
	switch name {
	case Label:
		return a.Label
	case Finish:
		return a.Finish
	}
	return ""
}

// Fill writes the facts of an answer: the number, or the index of the value; NaN where it is not known or not one of the
// values. A label that is not known is read from the text, as experts that answer with a label are read.
func Fill(dst []float32, facts []costs.Fact, a *Answer) {
	for i, f := range facts {
		dst[i] = fill(f, a)
	}
}

func fill(f costs.Fact, a *Answer) float32 {
	if f.Values == nil {
		return float32(a.Number(f.Name))
	}
	value := a.Category(f.Name)
	if f.Name == Label && value == "" && a.Written {
		value, _, _ = grade.ParseLabel(a.Text, f.Values)
	}
	if at, ok := slices.BinarySearch(f.Values, value); ok && value != "" {
		return float32(at)
	}
	return float32(math.NaN())
}

// CosineOf returns the cosine of two vectors of the same length, NaN if one of them is 0.
func CosineOf(a, b []float32) float64 {
	var dot, aa, bb float64
	for i := range a {
		x, y := float64(a[i]), float64(b[i])
		dot, aa, bb = dot+x*y, aa+x*x, bb+y*y
	}
	return dot / math.Sqrt(aa*bb)
}
