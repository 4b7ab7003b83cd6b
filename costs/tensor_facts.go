package costs

// Fact is something that can be seen of an answer without knowing the true one: a label, a confidence, a length. It is a
// number, or one of several values.
type Fact struct {
	Name   string   `json:"name"`
	Values []string `json:"values,omitempty"` // of a fact that is one of several values: these, sorted and unique; nil: a number
}

// Facts are a fact of the answer of every pair on every instance. A policy may look at it after it executed the pair, and
// not before.
type Facts struct {
	Fact
	Data []float32 // N x A: the number, or the index into Values; NaN where it is not known
}

func pickFacts(from []Facts, rows []int, width int) (out []Facts) {
	for _, f := range from {
		out = append(out, Facts{Fact: f.Fact, Data: pick(f.Data, rows, width)})
	}
	return out
}
