package world

import (
	"fmt"
	"io"

	"pipe/internal/safetext"
)

// FraudReport describes what GenerateFraud generated, and its known distribution. It is the JSON object of pipe
// generate fraud --json.
type FraudReport struct {
	Format     int              `json:"format"`
	World      string           `json:"world"`
	Seed       uint64           `json:"seed"`
	Rows       int              `json:"rows"`
	Columns    int              `json:"columns"`
	Identities int              `json:"identities"` // rows of the identity file
	FraudRate  float64          `json:"fraud_rate"` // as requested, in every cell
	Frauds     int              `json:"frauds"`     // as drawn
	Files      []FraudFile      `json:"files"`
	Cells      []FraudCellCount `json:"cells"`
	Law        []FraudRegime    `json:"law"` // with experts that make the best use of their view
}

// FraudFile is one of the two files.
type FraudFile struct {
	Path   string `json:"path"`
	Rows   int    `json:"rows"`
	Bytes  int64  `json:"bytes"`
	Digest string `json:"digest"`
}

// FraudCellCount is how often a cell of the base view occurs, with its losses.
type FraudCellCount struct {
	Name   string  `json:"name"`
	Rows   int     `json:"rows"`
	Frauds int     `json:"frauds"`
	Level  string  `json:"level"` // the advice that opens the informative columns
	Blind  float64 `json:"blind"` // least mean loss below that level
	Told   float64 `json:"told"`  // least mean loss from it on
}

// FraudRegime is the expected cost of the best policies at one lambda, under ideal experts.
type FraudRegime struct {
	Lambda    float64 `json:"lambda"`
	Bayes     float64 `json:"bayes"`           // best policy over the base view
	L2D       float64 `json:"l2d"`             // the best one without advice
	BestFixed float64 `json:"best_fixed"`      // the best single pair
	Pair      string  `json:"best_fixed_pair"` // its name
}

func newFraudReport(o *FraudOptions) *FraudReport {
	r := &FraudReport{Format: 1, World: o.World, Seed: o.Seed, Rows: o.Rows, Columns: o.Columns, FraudRate: o.FraudRate}
	law := IdealFraudLaw(o.World)
	for _, c := range fraudCells {
		blind, told := c.Blind, c.Told
		if o.World == fraudFlat {
			blind, told = 0.5, 0.5
		}
		r.Cells = append(r.Cells, FraudCellCount{Name: c.Name, Level: law.Actions.Advice[c.Level].Name, Blind: blind, Told: told})
	}
	for _, lambda := range FraudLambdas() {
		pair, fixed := law.bestFixed(lambda)
		r.Law = append(r.Law, FraudRegime{
			Lambda: lambda, Bayes: law.BayesRisk(lambda), L2D: law.l2dRisk(lambda), BestFixed: fixed, Pair: law.Actions.Name(pair),
		})
	}
	return r
}

// count adds a chunk and returns how many transactions it has.
func (r *FraudReport) count(c *fraudChunk) int {
	rows := 0
	for cell := range c.rows {
		rows += c.rows[cell]
		r.Cells[cell].Rows += c.rows[cell]
		r.Cells[cell].Frauds += c.frauds[cell]
		r.Frauds += c.frauds[cell]
		if cell > cellNothing {
			r.Identities += c.rows[cell]
		}
	}
	return rows
}

// WriteText writes the report for a terminal.
func (r *FraudReport) WriteText(w io.Writer) error {
	b := safetext.Titled(r.World+" world", fmt.Sprintf("seed %d", r.Seed))
	for _, f := range r.Files {
		b.Add("file", "%s: %d rows, %.1f MB, %s", f.Path, f.Rows, float64(f.Bytes)/1e6, f.Digest)
	}
	b.Add("frauds", "%d of %d", r.Frauds, r.Rows)
	for _, c := range r.Cells {
		b.Add("cell "+c.Name, "%d rows, %d frauds; least loss %.4f, %.4f with %s", c.Rows, c.Frauds, c.Blind, c.Told, c.Level)
	}
	for _, l := range r.Law {
		b.Add(fmt.Sprintf("lambda %v", l.Lambda), "Bayes %.4f, without advice %.4f, best fixed pair %.4f (%s)", l.Bayes, l.L2D, l.BestFixed, l.Pair)
	}
	return b.WriteText(w)
}
