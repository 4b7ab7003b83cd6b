package monitor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"pipe/internal/finite"
	"pipe/internal/parallel"
	"pipe/internal/storage"
	"pipe/models/drift"
	"pipe/models/policy"
	"pipe/pipeline/decide"
)

// Monitor compares one policy with one baseline. All methods are safe for concurrent use. Make one with Open. Its memory
// does not grow with the number of rows.
type Monitor struct {
	o              Options
	file, baseFile string
	router         *decide.Router
	base           *baseline

	mu      sync.Mutex
	window  window
	seen    seen
	alarm   *drift.Alarm // nil: there is no level below the top of the range
	adwin   *drift.ADWIN
	promise *promise // of the policy's guarantee; nil: it has none
	cached  *Status  // the last result of Status; nil: rows were added since
	current NewInfo  // what a run says about its file
	notes   []string
}

// window are the rows since NewWindow: inputs and decisions.
type window struct {
	Rows    int64           `json:"rows"`
	Counts  []*drift.Counts `json:"counts"` // per feature
	MMD     *drift.MMDSum   `json:"mmd,omitempty"`
	Decided int64           `json:"decided"`
	Chosen  []int64         `json:"chosen"` // by pair
}

// seen are the outcomes of all windows.
type seen struct {
	Known     int64    `json:"known"`
	Unknown   int64    `json:"unknown"`
	Clipped   int64    `json:"clipped"`
	Compared  int64    `json:"compared"` // outcomes whose decision is known
	Agreed    int64    `json:"agreed"`
	Sum       float64  `json:"sum"`
	Residuals int64    `json:"residuals"` // known outcomes with an expectation
	Residual  float64  `json:"residual"`  // their sum
	First     int64    `json:"first"`     // time; NoTime: none
	Last      int64    `json:"last"`
	Late      int64    `json:"late"` // outcomes that are earlier than one that was added before
	RisenAt   int64    `json:"risen_at"`
	Changes   []Change `json:"changes"`
	Course    course   `json:"course,omitzero"`
}

// Outcome is the outcome of one row.
type Outcome struct {
	Decided  int     // the pair that the policy chose; -1 if it is not known
	Executed int     // the pair that was executed
	Loss     float64 // its task loss, with its measured fee if there is one; NaN if it is not known yet
	Expected float64 // the loss that the policy expected; NaN: the mean of the pair on the baseline is used
	Accepted *bool   // whether the policy accepts the decision; nil: the guarantee is not about it, or it is accepted and was not executed
	Fee      float64 // the measured fee in Loss; the guarantee is about the task loss alone
	Time     int64   // microseconds since 1970 UTC, or NoTime
}

// Open reads a policy file and a baseline, a cost tensor with rows that the policy was not trained on.
//
// The error is a *costs.DataError if the policy or the baseline cannot be read, or if they do not belong together, and a
// *stage.OptionError for wrong options. The caller closes the monitor.
func Open(ctx context.Context, policyFile, baselineFile storage.Location, o Options) (_ *Monitor, err error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	r, err := decide.OpenAt(ctx, policyFile, decide.Options{Runtime: o.Runtime, Prices: o.Prices, PriceFile: o.PriceFile, FeaturesOnly: !o.Raw, Encoder: o.Encoder, Decoder: o.Decoder})
	if err != nil {
		return nil, err
	}
	m := &Monitor{o: o, file: policyFile.String(), baseFile: baselineFile.String(), router: r}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
		}
	}()
	if m.base, err = readBaseline(ctx, baselineFile, r, o); err != nil {
		return nil, err
	}
	m.seen = seen{First: NoTime, Last: NoTime, RisenAt: NoTime}
	m.window = m.newWindow()
	return m, m.startTests()
}

// startTests starts the tests over time.
func (m *Monitor) startTests() (err error) {
	if m.adwin, err = drift.NewADWIN(m.o.ADWIN); err != nil {
		return err
	}
	if level := m.unitLevel(); m.base.known > 0 && level < 1 {
		m.alarm, err = drift.NewAlarm(level, m.o.Alpha/2)
	}
	if err == nil {
		m.promise, err = newPromise(m.router.Info().Guarantee, m.o.Alpha)
	}
	return err
}

// unitLevel is the level of the alarm, mapped to [0, 1]. It is not mapped lower than a millionth, where stakes would be
// too large to compute with.
func (m *Monitor) unitLevel() float64 {
	b := m.base
	return max(1e-6, (b.upper+m.o.Tolerance-b.low)/(b.high-b.low))
}

// Close frees the policy. It is idempotent.
func (m *Monitor) Close() error { return m.router.Close() }

// Router returns the policy. Do not close it.
func (m *Monitor) Router() *decide.Router { return m.router }

// Decide returns the decisions of the policy on rows of features, n x Dim. It adds no rows.
func (m *Monitor) Decide(ctx context.Context, features []float32, n int) (*policy.Decisions, error) {
	return m.router.Batch(ctx, features, n)
}

// ExpectedLoss returns the expected loss of a pair on a row; NaN if the policy estimates no losses, or none of the pair.
func ExpectedLoss(d *policy.Decisions, row, pair int) float64 {
	if d == nil || d.Loss == nil {
		return math.NaN()
	}
	return policy.Expected(d.Loss[row*d.Actions+pair])
}

// NewWindow restarts the comparison of inputs and decisions, for example once a day. The tests of outcomes continue.
func (m *Monitor) NewWindow() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.window, m.cached = m.newWindow(), nil
}

func (m *Monitor) newWindow() window {
	w := window{Chosen: make([]int64, len(m.base.chosen)), Counts: make([]*drift.Counts, len(m.base.samples))}
	for f, s := range m.base.samples {
		w.Counts[f] = s.NewCounts()
	}
	if m.base.mmd != nil {
		w.MMD = m.base.mmd.NewSum()
	}
	return w
}

// Add adds the features of n rows, n x Dim; the pairs that the policy chose; and outcomes in the order of time. Each may be
// nil, and they need not be of the same rows, because outcomes often arrive later. If a value is out of range, Add returns an
// error and adds nothing.
func (m *Monitor) Add(features []float32, decided []int, outcomes []Outcome) error {
	if err := m.check(features, decided, outcomes); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cached = nil
	m.addFeatures(features)
	for _, i := range decided {
		m.window.Chosen[i]++
		m.window.Decided++
	}
	for _, o := range outcomes {
		m.addOutcome(o)
	}
	return nil
}

func (m *Monitor) check(features []float32, decided []int, outcomes []Outcome) error {
	dim, mask := m.router.Info().Dim, m.router.Info().Actions.Mask()
	if len(features)%dim != 0 {
		return fmt.Errorf("monitor: %d features are not rows of %d", len(features), dim)
	}
	if i := finite.First(features); i >= 0 {
		return fmt.Errorf("monitor: %w", &policy.RowError{Row: i / dim, Err: fmt.Errorf("feature %d is %v", i%dim, features[i])})
	}
	known := func(pair int) bool { return pair >= 0 && pair < len(mask) && mask[pair] }
	for n, i := range decided {
		if !known(i) {
			return fmt.Errorf("monitor: %w", &policy.RowError{Row: n, Err: fmt.Errorf("the decision %d is not a pair of the policy", i)})
		}
	}
	for n, o := range outcomes {
		if !known(o.Executed) || o.Decided != -1 && !known(o.Decided) || math.IsInf(o.Loss, 0) || math.IsInf(o.Expected, 0) {
			return fmt.Errorf("monitor: %w", &policy.RowError{Row: n, Err: fmt.Errorf("the outcome %+v is not one of the policy", o)})
		}
	}
	return nil
}

// countRows is how many rows are counted at once. It is large enough that the counts of a feature stay in the CPU cache.
const countRows = 8192

// addFeatures counts features and sums random features, on all cores. Each part of the work writes its own counts, so the
// number of cores does not change the result.
func (m *Monitor) addFeatures(features []float32) {
	dim := len(m.base.samples)
	for part := range slices.Chunk(features, countRows*dim) {
		m.window.Rows += int64(len(part) / dim)
		parallel.Do(dim+1, func(i int) {
			if i > 0 {
				m.base.samples[i-1].Count(m.window.Counts[i-1], part[i-1:], dim)
			} else if m.base.mmd != nil {
				m.base.mmd.Add(m.window.MMD, part)
			}
		})
	}
}

// addOutcome adds the next outcome.
func (m *Monitor) addOutcome(o Outcome) {
	s := &m.seen
	if o.Decided >= 0 {
		s.Compared++
		if o.Decided == o.Executed {
			s.Agreed++
		}
	}
	if o.Loss != o.Loss {
		s.Unknown++
		return
	}
	m.addTime(o.Time)
	s.Known++
	s.Sum += o.Loss
	s.Course.add(o.Loss, o.Time)
	if o.Loss < m.base.low || o.Loss > m.base.high {
		s.Clipped++
	}
	if m.alarm != nil && m.alarm.Risen() == 0 && m.alarm.Add(m.base.unit(o.Loss)) {
		s.RisenAt = o.Time
	} else if m.alarm != nil && m.alarm.Risen() > 0 {
		m.alarm.Add(m.base.unit(o.Loss))
	}
	m.addResidual(o)
	m.promise.add(o)
}

// feesCount reports whether outcomes include measured fees.
func (m *Monitor) feesCount() bool { return m.base.fees && !m.o.LossAlone }

// comparable reports whether measured fees are in outcomes and in what the policy expects of them, or in neither.
func (m *Monitor) comparable() bool {
	if m.router.Info().Usage != nil {
		return !m.feesCount() // its expected losses have no fees of usage
	}
	return m.feesCount() || !m.base.fees && !m.router.Info().MeasuredFees()
}

func (m *Monitor) addTime(at int64) {
	s := &m.seen
	if at == NoTime {
		return
	}
	if s.First == NoTime {
		s.First, s.Last = at, at
	}
	if at < s.Last {
		s.Late++
	}
	s.First, s.Last = min(s.First, at), max(s.Last, at)
}

// mostChanges is the number of changes that are listed.
const mostChanges = 10

// addResidual adds the difference of an outcome and its expectation, mapped from the largest possible range to [0, 1].
func (m *Monitor) addResidual(o Outcome) {
	expected := o.Expected
	if expected != expected || !m.comparable() {
		expected = m.base.means[o.Executed]
	}
	if expected != expected {
		return
	}
	s, wide := &m.seen, m.base.high-m.base.low
	s.Residuals++
	s.Residual += o.Loss - expected
	if m.adwin.Add(min(1, max(0, 0.5+(o.Loss-expected)/(2*wide)))) {
		s.Changes = append(s.Changes, Change{Value: s.Residuals, Time: timeText(o.Time)})
		if len(s.Changes) > mostChanges {
			s.Changes = s.Changes[1:]
		}
	}
}
