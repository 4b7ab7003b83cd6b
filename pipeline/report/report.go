package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"

	"pipe/costs"
	"pipe/experts/builder"
	"pipe/experts/builder/part"
	"pipe/experts/retrieval"
	"pipe/models"
	"pipe/pipeline/methods"
	"pipe/pipeline/report/figure"
)

// Format is the version of the report object.
const Format = 1

// Report is the result of a benchmark or an evaluation: one object that is printed as JSON and rendered as text,
// Markdown, CSV and HTML. docs/report.md describes the fields. Losses are mean realised costs in the units of the task
// loss; rates and shares lie in [0, 1].
type Report struct {
	Format       int                      `json:"format"`
	Benchmark    string                   `json:"benchmark"`
	Title        string                   `json:"title,omitempty"`
	StandIn      string                   `json:"stand_in,omitempty"` // what stands in for the real models or data
	Captions     map[string]string        `json:"captions,omitempty"` // of methods from outside, by name
	Outcomes     string                   `json:"outcomes,omitempty"` // costs.Tensor.OutcomesDigest of the reported rows
	Verdict      []Verdict                `json:"verdict,omitempty"`  // what to deploy, per lambda
	Money        *costs.Money             `json:"money,omitempty"`    // unit of the money of verdicts; nil: that of the fees of the tensor
	Segments     []Segments               `json:"segments,omitempty"` // where the policy helps and harms
	Examples     []Examples               `json:"examples,omitempty"` // rows that the policy wins and loses
	Learning     []Learning               `json:"learning,omitempty"` // whether more rows would help
	Cascades     []Cascade                `json:"cascades,omitempty"` // policies that look at answers, beside what decides once
	Rows         []Row                    `json:"rows"`
	Deployable   []Deployable             `json:"deployable,omitempty"`  // computed from the rows when the report is written
	Frontier     []FrontierPoint          `json:"frontier,omitempty"`    // what policies lose and spend, per price
	Constants    []ConstantPoint          `json:"constants,omitempty"`   // what every pair loses and spends
	Calibration  []Calibration            `json:"calibration,omitempty"` // of policies by estimates
	Disclosure   []Disclosure             `json:"disclosure,omitempty"`
	Experts      []ExpertQuality          `json:"experts,omitempty"`
	Answers      []AnswerQuality          `json:"answers,omitempty"`
	Retrieval    []retrieval.RecallReport `json:"retrieval,omitempty"` // of all instances, in every setting and split
	BestAdvice   []BestAdvice             `json:"best_advice,omitempty"`
	Distribution []AdviceShares           `json:"advice_distribution,omitempty"`
	Cells        []CellTable              `json:"cells,omitempty"`
	Pictures     []PairPictures           `json:"pictures,omitempty"`
	Latency      []builder.PairLatency    `json:"latency,omitempty"` // if time is a fee
	Skipped      []part.BadImage          `json:"skipped,omitempty"` // instances that were left out
	Settings     map[string]string        `json:"settings,omitempty"`
	Notes        []string                 `json:"notes,omitempty"`
	Figures      []figure.Figure          `json:"-"`
	Album        *builder.Album           `json:"-"` // the pictures themselves; nil: none
}

// Row is one method in one cost regime, over all seeds and splits. A nil pointer is a value that does not apply.
type Row struct {
	Setting string      `json:"setting,omitempty"` // of a benchmark that reports several: its own costs and recipe
	Method  string      `json:"method"`
	Lambda  *float64    `json:"lambda,omitempty"`
	N       int         `json:"n,omitempty"` // training rows
	Seeds   int         `json:"seeds,omitempty"`
	Role    models.Role `json:"role,omitempty"` // policy, constant, reference or oracle; set from the method when the report is written
	Pair    string      `json:"pair,omitempty"` // "expert/advice" of a method that always chooses one pair
	// For policies: the pairs that the guard of recipe auto fell back to, and how many of the seeds and splits fell
	// back; the one pair that was chosen on every reported row; and fees that differ from those in training.
	Fallback      map[string]int    `json:"fallback,omitempty"`
	Plays         string            `json:"plays,omitempty"`
	ChangedFees   []costs.FeeChange `json:"changed_fees,omitempty"`
	TrueLossMean  float64           `json:"true_loss_mean"`
	TrueLossStd   *float64          `json:"true_loss_std,omitempty"` // population convention, over seeds
	ExcessMean    *float64          `json:"excess_mean,omitempty"`   // true loss minus the Bayes risk
	ExcessStd     *float64          `json:"excess_std,omitempty"`
	DiffBestFixed *Interval         `json:"diff_best_fixed,omitempty"` // this method minus best_fixed, paired by row
	DiffL2D       *Interval         `json:"diff_l2d,omitempty"`        // this method minus l2d, paired by row
	AdviceRate    *float64          `json:"advice_rate,omitempty"`
	BayesMatch    *float64          `json:"bayes_match,omitempty"`
	Regions       []Region          `json:"regions,omitempty"`
	// For a report over several splits of the same data: every mean is over splits, and the spread is that of the mean.
	Splits           int         `json:"splits,omitempty"`
	TrueLossSE       *float64    `json:"true_loss_se,omitempty"`            // standard error over splits
	PairedL2D        *Difference `json:"paired_l2d,omitempty"`              // this method minus l2d, paired by split
	PairedFixedTrain *Difference `json:"paired_best_fixed_train,omitempty"` // this method minus best_fixed_train, paired by split
	// For tables.
	DiffAuto *Interval `json:"diff_auto,omitempty"` // this method minus auto, paired by row and split
	GapShare *float64  `json:"gap_share,omitempty"` // share of the way from best_fixed_train to the oracle
	Seconds  *float64  `json:"seconds,omitempty"`   // per split, to learn and to decide
}

// Difference is the mean of paired differences over splits and the standard error of that mean.
type Difference struct {
	Mean float64 `json:"mean"`
	SE   float64 `json:"se"`
}

// Interval is a mean with the ends of its 95% interval.
type Interval models.Interval

// Region has the results of a method on a named part of the inputs.
type Region struct {
	Name       string   `json:"name"`
	TrueLoss   *float64 `json:"true_loss,omitempty"`
	BayesMatch *float64 `json:"bayes_match,omitempty"`
}

// BestAdvice names, for one lambda, the advice with the smallest mean cost for every expert.
type BestAdvice struct {
	Setting string    `json:"setting,omitempty"`
	Lambda  float64   `json:"lambda"`
	Experts []string  `json:"experts"`
	Advice  []string  `json:"advice"` // one per expert; "" if the expert is never available
	Cost    []float64 `json:"cost"`   // one per expert
}

// AdviceShares is how often each advice was bought by one method at one lambda, over all rows (Expert is empty) or over
// the rows routed to one expert.
type AdviceShares struct {
	Setting string    `json:"setting,omitempty"`
	Method  string    `json:"method"`
	Lambda  float64   `json:"lambda"`
	Expert  string    `json:"expert,omitempty"`
	Routed  float64   `json:"routed"` // share of all rows that this line is about
	Advice  []string  `json:"advice"`
	Share   []float64 `json:"share"` // sums to 1 over the advice, or all zero if nothing was routed
}

// CellTable is the mean cost of every pair at one lambda.
type CellTable struct {
	Setting  string       `json:"setting,omitempty"`
	Name     string       `json:"name"`
	Lambda   float64      `json:"lambda"`
	Experts  []string     `json:"experts"`
	Advice   []string     `json:"advice"`
	TrueLoss [][]*float64 `json:"true_loss"` // experts x advice; null if the pair is unavailable
}

// Num returns a pointer to v, or nil if v is not finite, which JSON cannot represent.
func Num(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// WriteJSON writes the report object, indented, with a final newline.
func (r *Report) WriteJSON(w io.Writer) error {
	out := *r
	out.Format = Format
	out.Rows = slices.Concat([]Row{}, r.Rows)
	for i := range out.Rows {
		out.Rows[i].Role = methods.Named(out.Rows[i].Method).Role
	}
	out.Deployable = r.deployable()
	out.Verdict, out.Learning, out.Cascades = r.Verdicts(), r.taught(), r.cascades()
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(&out); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// Read reads the output of WriteJSON. A newer format, or tables whose parts do not match, are a *costs.DataError.
func Read(rd io.Reader) (*Report, error) {
	var r Report
	err := json.NewDecoder(rd).Decode(&r)
	if err == nil && (r.Format < 1 || r.Format > Format) {
		err = fmt.Errorf("format %d, this program knows 1 to %d", r.Format, Format)
	}
	if err == nil {
		err = r.checkShapes()
	}
	if err != nil {
		return nil, fmt.Errorf("read report: %w", &costs.DataError{Err: err})
	}
	r.Deployable = nil // they are computed from the rows
	for i := range r.Rows {
		r.Rows[i].Role = ""
	}
	for i := range r.Verdict { // sentences too are made of the rest
		r.Verdict[i].Sentence = ""
	}
	for i := range r.Learning {
		r.Learning[i].Sentence = ""
	}
	for i := range r.Cascades {
		r.Cascades[i].Sentence = ""
	}
	return &r, nil
}

// checkShapes reports tables with a missing row, column or cell. The rows of one table have one setting.
func (r *Report) checkShapes() error {
	width := map[string]int{} // of the table of a setting
	for i, b := range r.BestAdvice {
		if width[b.Setting] == 0 {
			width[b.Setting] = len(b.Experts)
		}
		if n := width[b.Setting]; len(b.Experts) != n || len(b.Advice) != n || len(b.Cost) != n {
			return fmt.Errorf("best_advice[%d] has %d experts, %d advice and %d costs, not %d", i, len(b.Experts), len(b.Advice), len(b.Cost), n)
		}
	}
	clear(width)
	for i, d := range r.Distribution {
		if width[d.Setting] == 0 {
			width[d.Setting] = len(d.Advice)
		}
		if n := width[d.Setting]; len(d.Advice) != n || len(d.Share) != n {
			return fmt.Errorf("advice_distribution[%d] has %d advice and %d shares, not %d", i, len(d.Advice), len(d.Share), n)
		}
	}
	for i, c := range r.Cells {
		wrong := func(row []*float64) bool { return len(row) != len(c.Advice) }
		if len(c.TrueLoss) != len(c.Experts) || slices.ContainsFunc(c.TrueLoss, wrong) {
			return fmt.Errorf("cells[%d] is not a table of %d experts by %d advice", i, len(c.Experts), len(c.Advice))
		}
	}
	return nil
}

// Lambdas returns the cost regimes of the rows in ascending order.
func (r *Report) Lambdas() []float64 {
	var ls []float64
	for _, row := range r.Rows {
		if row.Lambda != nil && !slices.Contains(ls, *row.Lambda) {
			ls = append(ls, *row.Lambda)
		}
	}
	slices.Sort(ls)
	return ls
}

// sizes returns the training sizes of the rows in ascending order.
func (r *Report) sizes() []int {
	var ns []int
	for _, row := range r.Rows {
		if row.N > 0 && !slices.Contains(ns, row.N) {
			ns = append(ns, row.N)
		}
	}
	slices.Sort(ns)
	return ns
}

// methods returns the method names of the rows: known ones in their usual order, then others as they appear.
func (r *Report) methods() []string {
	var names []string
	for _, row := range r.Rows {
		if !slices.Contains(names, row.Method) {
			names = append(names, row.Method)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return methods.Rank(a) - methods.Rank(b) })
	return names
}

// RowKey identifies a line of the table: it is the same for the rows of one method, setting and regime.
type RowKey struct {
	Setting, Method string
	Lambda          float64 // -1: the row has no regime
}

// Key is what the row shares with the same row of other reports.
func (r Row) Key() RowKey {
	k := RowKey{Setting: r.Setting, Method: r.Method, Lambda: -1}
	if r.Lambda != nil {
		k.Lambda = *r.Lambda
	}
	return k
}
