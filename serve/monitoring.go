package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"pipe/internal/atomicfile"
	"pipe/internal/config"
	"pipe/internal/storage"
	"pipe/models/policy"
	"pipe/onnx/ort"
	"pipe/pipeline/decisionlog"
	"pipe/pipeline/monitor"
	"pipe/serve/policies"
)

// MonitorSettings configure the monitor of a policy, which does in a server what pipe monitor does for a file.
type MonitorSettings struct {
	// Baseline is a cost tensor with rows that the policy was not trained on. Empty: nothing is monitored.
	Baseline config.Path `yaml:"baseline"`
	Actions  config.Path `yaml:"actions"` // JSON file with the actions of a baseline that does not carry them
	Policy   string      `yaml:"policy"`  // the monitored policy; empty: the default one
	// State is a file that keeps the state of the monitor over a restart. Empty: it is kept in memory only.
	State config.Path `yaml:"state"`
	// Window is the time after which the comparison of inputs and decisions starts again. 0: never.
	Window    time.Duration `yaml:"window"`
	Alpha     float64       `yaml:"alpha"`     // bound on the probability that the alarm of outcomes is ever false
	Tolerance float64       `yaml:"tolerance"` // by which the mean outcome may exceed that of the baseline
	Warn      float64       `yaml:"warn"`      // significance level of the tests of inputs, and of those of decisions
}

// DefaultMonitorSettings are the defaults of pipe monitor, with a window of a day and without a baseline.
func DefaultMonitorSettings() MonitorSettings {
	o := monitor.DefaultOptions()
	return MonitorSettings{Window: 24 * time.Hour, Alpha: o.Alpha, Tolerance: o.Tolerance, Warn: o.Warn}
}

// options returns the options of the monitor.
func (s MonitorSettings) options(rt *ort.Runtime) monitor.Options {
	o := monitor.DefaultOptions()
	o.Actions, o.Alpha, o.Tolerance, o.Warn, o.Runtime = s.Actions.Location(), s.Alpha, s.Tolerance, s.Warn, rt
	o.LossAlone = true // reported outcomes have no measured fees
	return o
}

// Validate lists every problem, without reading files.
func (s MonitorSettings) Validate() error {
	var p config.Problems
	p.Check(s.Baseline != "" || s == DefaultMonitorSettings(), "baseline: it names no rows to compare with; without them nothing is monitored")
	p.Check(s.Window >= 0, "window must not be negative")
	p.Add(s.options(nil).Validate())
	return p.Err()
}

// Limits of the monitor: requests that wait to be counted, rows of a batch, decisions that wait for their outcome, how
// often batches are counted and the state is saved, and when a version that could not be monitored is tried again.
const (
	monitorQueue        = 4096
	monitorRows         = 512
	monitorOutcomes     = 1 << 17
	monitorInterval     = 500 * time.Millisecond
	monitorSaveInterval = time.Minute
	monitorRetry        = time.Minute
)

// monitoring monitors one policy. Requests only put their decisions into a queue. While that is full, they are not counted.
type monitoring struct {
	settings MonitorSettings
	policies *policies.Set
	runtime  *ort.Runtime
	log      *slog.Logger
	name     string // of the policy
	queue    chan observation
	stop     context.CancelFunc // ends run
	skipped  atomic.Int64       // requests that were not counted
	work     sync.WaitGroup
	current  atomic.Pointer[monitor.Monitor] // only count replaces it
	failed   atomic.Pointer[string]          // digest of the version that cannot be monitored; nil: none
	usage    atomic.Pointer[[]float64]       // prices of usage at which the baseline is decided, as records have them; only open replaces it

	// The rest is only for count.
	digest      string
	pricing     *policies.Pricing // the state of the price file for which the baseline was decided last
	refused     time.Time         // when the version that could not be monitored was loaded
	retry       time.Time         // when it is tried again, retryAfter later
	retryAfter  time.Duration
	windowStart time.Time // when the window started
	savedAt     time.Time // when the state was last saved

	pending map[string]monitor.Outcome // decisions without an outcome, by id
	order   []string                   // their ids in order of time: a ring
	next    int
	rows    batch
}

// observation is the decisions of a request, or an outcome.
type observation struct {
	digest   string
	features []float32
	decided  []int
	usage    *[]float64 // prices of usage of what is decided
	ids      []string
	pairs    []monitor.Outcome // without loss
	outcome  *decisionlog.Outcome
}

// batch is a number of observations that are counted together.
type batch struct {
	n        int // rows
	features []float32
	decided  []int
	outcomes []monitor.Outcome
}

// newMonitoring opens the monitor for the current version of the policy, and starts to count. The caller closes it.
func newMonitoring(ctx context.Context, s MonitorSettings, set *policies.Set, rt *ort.Runtime, log *slog.Logger) (*monitoring, error) {
	p, err := set.Acquire(s.Policy)
	if err != nil {
		return nil, fmt.Errorf("monitor: %w", err)
	}
	defer p.Release()
	m := &monitoring{
		settings: s, policies: set, runtime: rt, log: log, name: p.Name, queue: make(chan observation, monitorQueue),
		pending: map[string]monitor.Outcome{}, order: make([]string, monitorOutcomes), savedAt: time.Now(), retryAfter: monitorRetry,
	}
	if err := m.open(ctx, p, set.Pricing()); err != nil {
		return nil, fmt.Errorf("monitor: %w", err)
	}
	ctx, m.stop = context.WithCancel(context.WithoutCancel(ctx))
	m.work.Go(func() { m.run(ctx) })
	return m, nil
}

// open starts to monitor a version of the policy, at prices of what calls use, in place of the previous one. The status of the
// previous one is available until then, because deciding the baseline takes time.
func (m *monitoring) open(ctx context.Context, p *policies.Policy, at *policies.Pricing) error {
	prices, err := p.PricesAt(at)
	if err != nil {
		return err
	}
	usage := decisionlog.FlatPrices(prices.Usage, len(p.Info().Actions.Experts))
	if m.digest == p.Digest && slices.Equal(usage, *m.usage.Load()) {
		m.pricing = at // the file changes nothing for this policy
		return nil
	}
	o := m.settings.options(m.runtime)
	if prices != p.Prices() {
		o.Prices.Usage = &prices.Usage
	}
	now, err := monitor.Open(ctx, storage.File(p.File), m.settings.Baseline.Location(), o)
	if err != nil {
		return err
	}
	if now.Router().Digest() != p.Digest {
		return errors.Join(fmt.Errorf("%q has another version of the policy by now", p.File), now.Close())
	}
	m.restore(now)
	old := m.current.Swap(now)
	m.usage.Store(&usage)
	m.digest, m.pricing, m.windowStart = p.Digest, at, time.Now()
	clear(m.pending)
	if old != nil {
		return old.Close()
	}
	return nil
}

// restore restores the saved state, if it is of the same policy and baseline.
func (m *monitoring) restore(now *monitor.Monitor) {
	if m.settings.State == "" {
		return
	}
	text, err := os.ReadFile(string(m.settings.State))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		err = now.Restore(bytes.NewReader(text))
	}
	if err != nil {
		m.log.Warn("the monitor starts again: its saved state is of another policy or baseline", "error", err.Error())
	}
}

// Add implements decision.Observer.
func (m *monitoring) Add(name, digest string, info *policy.Info, records []*decisionlog.Record) {
	if name != m.name {
		return
	}
	w := observation{digest: digest, usage: m.usage.Load()}
	for _, rec := range records {
		if rec.IsFixed() || rec.IsCascade() { // the outcome of a cascade is that of an answer that was chosen among several
			continue
		}
		w.features = append(w.features, rec.Features...)
		if atPrices(rec, info.Lambda, info, *w.usage) { // as the baseline was decided
			w.decided = append(w.decided, rec.Greedy)
		}
		o := monitor.Outcome{Decided: rec.Greedy, Executed: rec.Executed, Expected: math.NaN(), Time: rec.Time}
		if o.Executed < 0 { // the caller executes it
			o.Executed = rec.Action
		}
		if rec.ExpectedLoss != nil {
			o.Expected = policy.Expected(rec.ExpectedLoss[o.Executed])
		}
		if promised(rec, info) {
			if accepts := accepts(rec, info.Guarantee); !accepts || o.Executed == rec.Greedy {
				o.Accepted = &accepts
			}
		}
		w.ids, w.pairs = append(w.ids, rec.ID), append(w.pairs, o)
	}
	m.enqueue(w)
}

// promised reports whether the guarantee of a policy is about its choice for a record: at one of the prices of the promise, among all
// pairs. A promise over random prices is taken to be about all decisions.
func promised(rec *decisionlog.Record, info *policy.Info) bool {
	g := info.Guarantee
	if g == nil || g.Law != "" {
		return g != nil && slices.Equal(rec.Available, info.Actions.Mask())
	}
	var own policy.UsagePrices
	if info.Usage != nil {
		own = info.Usage.Prices
	}
	usage := decisionlog.FlatPrices(own, len(info.Actions.Experts))
	return slices.ContainsFunc(g.At, func(at policy.GuaranteedPrice) bool { return atPrices(rec, at.Lambda, info, usage) })
}

// accepts reports whether a policy with a guarantee accepts its choice for a record.
func accepts(rec *decisionlog.Record, g *policy.Guarantee) bool {
	if rec.ExpectedLoss == nil { // a policy that estimates nothing accepts every decision
		return g.Threshold == nil
	}
	return g.Accepts(rec.ExpectedLoss[rec.Greedy])
}

// atPrices reports whether a decision was made at the fees of the file under lambda and prices of usage, with all of its pairs available.
func atPrices(rec *decisionlog.Record, lambda float64, info *policy.Info, usage []float64) bool {
	if rec.Lambda != lambda || rec.PairFees != nil || !slices.Equal(rec.UsagePrices, usage) || !slices.Equal(rec.Available, info.Actions.Mask()) {
		return false
	}
	for j, e := range info.Actions.Experts {
		if rec.ExpertFees[j] != e.Fee {
			return false
		}
	}
	for k, v := range info.Actions.Advice {
		if rec.AdviceFees[k] != v.Fee {
			return false
		}
	}
	return true
}

// Shadow implements decision.Observer.
func (m *monitoring) Shadow(*decisionlog.Record, decisionlog.Shadow, bool) {}

// Outcome implements decision.Observer.
func (m *monitoring) Outcome(o decisionlog.Outcome) { m.enqueue(observation{outcome: &o}) }

func (m *monitoring) enqueue(w observation) {
	select {
	case m.queue <- w:
	default:
		m.skipped.Add(1)
	}
}

// run counts the observations in the queue until ctx ends.
func (m *monitoring) run(ctx context.Context) {
	tick := time.NewTicker(monitorInterval)
	defer tick.Stop()
	for {
		select {
		case w := <-m.queue:
			m.add(ctx, w)
		case <-ctx.Done():
			for len(m.queue) > 0 {
				m.add(ctx, <-m.queue)
			}
			m.flush()
			return
		case <-tick.C:
			m.flush()
			m.restartWindow()
			m.saveIfDue()
		}
	}
}

// add adds an observation to the batch.
func (m *monitoring) add(ctx context.Context, w observation) {
	if w.outcome != nil {
		m.addOutcome(w.outcome)
		return
	}
	if (w.digest != m.digest || m.policies.Pricing() != m.pricing) && !m.follow(ctx, w.digest) {
		return
	}
	m.rows.features = append(m.rows.features, w.features...)
	if w.usage == m.usage.Load() {
		m.rows.decided = append(m.rows.decided, w.decided...)
	}
	for i, id := range w.ids {
		delete(m.pending, m.order[m.next])
		m.order[m.next], m.pending[id] = id, w.pairs[i]
		m.next = (m.next + 1) % len(m.order)
	}
	if m.rows.n += len(w.ids); m.rows.n >= monitorRows {
		m.flush()
	}
}

// follow starts to monitor the version of the policy that decided a request, if that is the served one, at the prices of now. It
// reports whether it succeeded.
func (m *monitoring) follow(ctx context.Context, digest string) bool {
	p, err := m.policies.Acquire(m.name)
	if err != nil {
		return false // it is no longer served
	}
	defer p.Release()
	if p.Digest != digest || p.Loaded.Equal(m.refused) && time.Now().Before(m.retry) || ctx.Err() != nil {
		return false // the request is older than the version, the version failed a moment ago, or the server stops
	}
	m.flush()
	if err := m.open(ctx, p, m.policies.Pricing()); err != nil {
		m.refused, m.retry = p.Loaded, time.Now().Add(m.retryAfter) // so that it is not tried again for every request
		m.failed.Store(&digest)
		m.log.Error("the new version of the policy is not monitored", "policy", m.name, "error", err.Error())
		return false
	}
	m.failed.Store(nil)
	return true
}

// addOutcome adds an outcome to the batch, if its decision is known.
func (m *monitoring) addOutcome(o *decisionlog.Outcome) {
	loss, ok := o.LossOf()
	of, known := m.pending[o.ID]
	if !ok || !known {
		return
	}
	delete(m.pending, o.ID)
	of.Loss = loss
	if o.Time != 0 {
		of.Time = o.Time
	}
	m.rows.outcomes = append(m.rows.outcomes, of)
}

// flush counts the batch.
func (m *monitoring) flush() {
	b := &m.rows
	if len(b.features)+len(b.outcomes) == 0 {
		return
	}
	if err := m.current.Load().Add(b.features, b.decided, b.outcomes); err != nil {
		m.log.Warn("decisions were not monitored", "error", err.Error())
	}
	m.rows = batch{0, b.features[:0], b.decided[:0], b.outcomes[:0]}
}

// restartWindow starts a new window if the last one has ended.
func (m *monitoring) restartWindow() {
	if m.settings.Window > 0 && time.Since(m.windowStart) >= m.settings.Window {
		m.windowStart = time.Now()
		m.current.Load().NewWindow()
	}
}

// saveIfDue saves the state if monitorSaveInterval has passed. A crash loses what was counted since.
func (m *monitoring) saveIfDue() {
	if time.Since(m.savedAt) < monitorSaveInterval {
		return
	}
	m.savedAt = time.Now()
	if err := m.save(); err != nil {
		m.log.Error("the state of the monitor could not be saved", "error", err.Error())
	}
}

// save writes the state to the file of the settings. Without one it does nothing.
func (m *monitoring) save() error {
	if m.settings.State == "" {
		return nil
	}
	var b bytes.Buffer
	if err := m.current.Load().Save(&b); err != nil {
		return err
	}
	return atomicfile.WriteFile(string(m.settings.State), b.Bytes())
}

// close counts the rest of the queue, saves the state and closes the monitor. Later observations are not counted.
func (m *monitoring) close() error {
	m.stop()
	m.work.Wait()
	return errors.Join(m.save(), m.current.Load().Close())
}
