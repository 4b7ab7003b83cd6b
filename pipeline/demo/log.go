package demo

import (
	"bytes"
	"fmt"

	"pipe/internal/seeded"
)

// request is what is known of a request before it is answered.
type request struct {
	length      int // characters
	code, setup bool
}

// right are the chances of a right answer of each pair, in the order of the columns of the log. Long requests and code are hard for
// the small model. Only the documentation describes the setup; elsewhere it distracts a little.
func (r request) right() [4]float64 {
	small, large := 0.95-0.00008*float64(r.length), 0.95-0.00002*float64(r.length)
	if r.code {
		small, large = small-0.4, large-0.05
	}
	if r.setup {
		return [4]float64{0.25, small, 0.35, large}
	}
	return [4]float64{small, small - 0.03, large, large - 0.03}
}

// log invents a log: a row per request, and a column per pair with 1 for a right answer. The same seed gives the same bytes.
func log(rows int, seed uint64) []byte {
	var b bytes.Buffer
	b.WriteString("request,length,code,setup,small,small_docs,large,large_docs\n")
	rng := seeded.Stream(seed, "demo", 0)
	flag := map[bool]int{true: 1}
	for n, at := range rng.Perm(max(rows, longest))[:rows] {
		r := request{20 + at*longest/max(rows, longest), rng.Float64() < 0.3, rng.Float64() < 0.3}
		fmt.Fprintf(&b, "r%04d,%d,%d,%d", n, r.length, flag[r.code], flag[r.setup])
		for _, p := range r.right() {
			fmt.Fprintf(&b, ",%d", flag[rng.Float64() < p])
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// longest is the length of the longest request, but for 20 characters.
const longest = 4000

// outcomesFile is the configuration of the import.
const outcomesFile = `# How pipe import reads log.csv. pipe init writes such a file for a table of yours.
outcomes:
  file: log.csv
  columns: {id: request}
  wide:
    value: correct              # 1 is a right answer: its loss is 0
    pairs:
      - {expert: small, advice: none, column: small}
      - {expert: small, advice: docs, column: small_docs}
      - {expert: large, advice: none, column: large}
      - {expert: large, advice: docs, column: large_docs}
fees:                           # in units of the loss: a wrong answer costs 1
  experts: {small: 0, large: 0.15}
  advice: {docs: 0.05}
features:                       # what the policy sees
  - {columns: [length, code, setup]}
split: {validation: 0.25}       # these requests judge the policy, the others train it
`

// trainFile are the settings of the training: no methods for comparison.
const trainFile = "train:\n  methods: []\n"
