package findings

import (
	"errors"
	"slices"

	"pipe/costs"
	"pipe/models"
	"pipe/pipeline/report"
)

// Evidence is what answers are found in: a valid tensor and the rows that are reported.
type Evidence struct {
	Tensor      *costs.Tensor
	Rows, Train []int          // reported rows, of which there is at least one, and training rows
	Together    costs.Clusters // of Rows
	TrainedOn   bool           // policies learned from the reported rows
	Today       int            // the pair that is used today, -1 if it is not known
	Money       *costs.Money   // nil: fees have no value in money
	Resamples   int            // of the bootstrap
	Seed        uint64         // of the bootstrap and of what is drawn

	divided  bool // the partitions that do not depend on lambda are known
	features []partition
	cluster  *partition
}

// partition divides rows into segments. It does not depend on losses of the reported rows.
type partition struct {
	by    string
	name  string // of the feature; empty for labels and clusters
	names []string
	like  []string        // of clusters: the nearest reported rows
	of    func(n int) int // the segment of a row of the tensor
}

// Policy has the decisions of a policy on the reported rows.
type Policy struct {
	Name, Method string
	Action       []int     // per row
	Expected     []float32 // rows x pairs, task loss with measured fees; nil: not known
	GuardFell    bool      // the guard of the recipe auto fell back to a constant
	OtherTable   bool      // it was trained on another table
}

// constant has a constant pair on every row.
func (e *Evidence) constant(pair int) []int { return slices.Repeat([]int{pair}, len(e.Rows)) }

// paid is what decisions lose, spend and cost per reported row.
type paid struct{ loss, money, cost []float64 }

// paid follows the decisions, one per row.
func (e *Evidence) paid(actions []int, lambda float64) paid {
	n := len(e.Rows)
	p := paid{make([]float64, n), make([]float64, n), make([]float64, n)}
	t, fees, worth := e.Tensor, e.Tensor.Actions.Fees(1), 1.0
	if e.Money != nil {
		worth = e.Money.PerLoss
	}
	for k, row := range e.Rows {
		at := row*len(fees) + actions[k]
		fee := fees[actions[k]]
		if t.Fee != nil {
			fee += float64(t.Fee[at])
		}
		p.loss[k], p.money[k], p.cost[k] = float64(t.Loss[at]), fee*worth, t.Cost(row, actions[k], lambda)
	}
	return p
}

// minus is the difference per row.
func minus(a, b []float64) []float64 {
	d := make([]float64, len(a))
	for k := range d {
		d[k] = a[k] - b[k]
	}
	return d
}

func (e *Evidence) bootstrap() models.BootstrapSettings {
	s := models.DefaultBootstrap(e.Seed)
	s.Resamples, s.Clusters = e.Resamples, e.Together.IDs()
	return s
}

// intervals returns the interval of the mean of every series; nil if all rows are one draw.
func (e *Evidence) intervals(series ...[]float64) ([]report.Interval, error) {
	all, err := models.PairedIntervals(e.bootstrap(), series...)
	if errors.Is(err, models.ErrOneDraw) {
		return nil, nil
	}
	var out []report.Interval
	for _, v := range all {
		out = append(out, report.Interval(v))
	}
	return out, err
}

// ratios returns the interval of the mean of every series as a share of that of its base; nil where it has none.
func (e *Evidence) ratios(series, bases [][]float64) ([]*report.Interval, error) {
	all, err := models.PairedRatios(e.bootstrap(), series, bases)
	if err != nil {
		return nil, err
	}
	out := make([]*report.Interval, len(all))
	for i, v := range all {
		out[i] = (*report.Interval)(v)
	}
	return out, nil
}

func mean(values []float64) float64 {
	m, _ := models.MeanStd(values)
	return m
}
