package monitor

import (
	"fmt"
	"slices"

	"pipe/internal/parallel"
	"pipe/models/drift"
	"pipe/models/policy"
)

// Status returns the findings so far; do not change them. The result is cached until rows are added. Otherwise it takes a few
// milliseconds for a hundred features, or up to three per feature while there are so few rows that p-values are exact.
func (m *Monitor) Status() *Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cached != nil {
		return m.cached
	}
	info := m.router.Info()
	s := &Status{
		Format: statusFormat, Watched: true,
		Policy: PolicyInfo{File: m.file, Digest: m.router.Digest(), Method: info.Method, Lambda: m.router.Prices().Lambda},
		Baseline: BaselineInfo{
			File: m.baseFile, Splits: m.o.splitNames(), Rows: m.base.rows, Sample: m.base.sampled,
		},
		New: m.current, Inputs: m.inputs(), Decisions: m.decisions(), Outcomes: m.outcomes(),
	}
	s.New.Rows = m.window.Rows
	s.New.First, s.New.Last = timeText(m.seen.First), timeText(m.seen.Last)
	s.Verdict = worst(s.Inputs.Verdict, s.Decisions.Verdict, s.Outcomes.Verdict)
	if s.Guarantee = m.promise.status(m.o.Alpha, m.found(Guarantee)); s.Guarantee != nil {
		s.Verdict = worst(s.Verdict, s.Guarantee.Verdict)
	}
	s.Notes = slices.Concat(m.notes, m.remarks(s))
	m.cached = s
	return s
}

// Risen reports whether the alarm of outcomes, or that of a guarantee, has risen. It is cheap.
func (m *Monitor) Risen() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.alarm != nil && m.alarm.Risen() > 0 || m.promise != nil && m.promise.alarm.Risen() > 0
}

// found returns the verdict of a family that found a change.
func (m *Monitor) found(family string) Verdict {
	if slices.Contains(m.o.FailOn, family) {
		return Alarm
	}
	return Warning
}

// Features with at most fewValues different values in the baseline, each on average at least fewCount times, are compared
// as categories.
const (
	fewValues = 20
	fewCount  = 5
)

// inputs compares the features: half of the level is for single features, half for whole vectors.
func (m *Monitor) inputs() InputsStatus {
	s := InputsStatus{Verdict: Untested, Level: m.o.Warn, Features: make([]FeatureStatus, len(m.base.samples))}
	if m.window.Rows == 0 {
		s.Features = nil
		return s
	}
	s.Verdict = OK
	parallel.Do(len(s.Features), func(f int) { s.Features[f] = m.feature(f) })
	p := make([]float64, len(s.Features))
	for f := range p {
		p[f] = s.Features[f].P
	}
	for f, adjusted := range drift.Holm(p) {
		s.Features[f].Adjusted, s.Features[f].Changed = adjusted, adjusted <= m.o.Warn/2
		if s.Features[f].Changed {
			s.Changed++
		}
	}
	if m.base.mmd != nil {
		r := m.base.mmd.Test(m.window.MMD)
		s.MMD = &MMDStatus{MMD: r.MMD, P: r.P, Bandwidth: m.base.mmd.Bandwidth(), Changed: r.P <= m.o.Warn/2}
	}
	if s.Changed > 0 || s.MMD != nil && s.MMD.Changed {
		s.Verdict = m.found(Inputs)
	}
	return s
}

func (m *Monitor) feature(f int) FeatureStatus {
	sample, counts := m.base.samples[f], m.window.Counts[f]
	s := FeatureStatus{Name: fmt.Sprintf("features[%d]", f), Test: testKS}
	if names := m.router.Info().Names; f < len(names) {
		s.Name = names[f]
	}
	if d := sample.Distinct(); d <= fewValues && d*fewCount <= sample.Len() {
		r := drift.Homogeneity(sample.Categories(counts))
		s.Test, s.Statistic, s.P = r.Method, r.Statistic, r.P
		return s
	}
	r := sample.KS(counts)
	s.Statistic, s.P = r.D, r.P
	return s
}

// decisions compares the shares of the pairs.
func (m *Monitor) decisions() DecisionsStatus {
	s := DecisionsStatus{Verdict: Untested, Level: m.o.Warn, P: 1}
	if m.window.Decided == 0 {
		return s
	}
	r := drift.HomogeneityG(m.base.chosen, m.window.Chosen)
	s.Verdict, s.Test, s.Statistic, s.P = OK, r.Method, r.Statistic, r.P
	if r.P <= m.o.Warn {
		s.Verdict = m.found(Decisions)
	}
	for i, c := range drift.ShareChanges(m.base.chosen, m.window.Chosen, m.o.Warn) {
		if c.Base == 0 && c.Now == 0 {
			continue
		}
		s.Pairs = append(s.Pairs, PairStatus{
			Pair: m.router.Info().Actions.Name(i), Baseline: c.Base, Now: c.Now, Low: c.Low, High: c.High, Changed: c.Low > 0 || c.High < 0,
		})
	}
	return s
}

// outcomes returns the state of the tests over time.
func (m *Monitor) outcomes() OutcomesStatus {
	seen := &m.seen
	s := OutcomesStatus{Verdict: Untested, Known: seen.Known, Unknown: seen.Unknown, Clipped: seen.Clipped, Alarm: m.alarmStatus()}
	s.Agreed = mean(float64(seen.Agreed), seen.Compared)
	s.Course = seen.Course.status(seen.Known)
	s.Mean, s.Residual = mean(seen.Sum, seen.Known), mean(seen.Residual, seen.Residuals)
	if seen.Residuals > 0 {
		wide := m.base.high - m.base.low
		s.ADWIN = &ADWINStatus{
			Expected: m.expectedFrom(), Values: seen.Residuals, Changes: m.adwin.Detections(), Latest: slices.Clone(seen.Changes),
			Width: m.adwin.Width(), Residual: 2 * wide * (m.adwin.Estimation() - 0.5),
		}
	}
	switch {
	case seen.Known == 0:
	case s.Alarm != nil && s.Alarm.Risen > 0:
		s.Verdict = m.found(Outcomes)
	case s.ADWIN != nil && s.ADWIN.Changes > 0:
		s.Verdict = Warning
	case s.Alarm != nil && s.Alarm.Possible:
		s.Verdict = OK
	}
	return s
}

func mean(sum float64, n int64) *float64 {
	if n == 0 {
		return nil
	}
	sum /= float64(n)
	return &sum
}

func (m *Monitor) expectedFrom() string {
	if m.router.Info().Decoder == policy.DecoderEstimate && m.comparable() {
		return "the policy"
	}
	return "means of the pairs on the baseline"
}

// alarmStatus is nil if the baseline has no outcomes of the policy's decisions.
func (m *Monitor) alarmStatus() *AlarmStatus {
	b := m.base
	if b.known == 0 {
		return nil
	}
	s := &AlarmStatus{
		Range: [2]float64{b.low, b.high}, Baseline: b.mean, Upper: b.upper, Tolerance: m.o.Tolerance,
		Level: b.low + m.unitLevel()*(b.high-b.low), Alpha: m.o.Alpha, Rows: b.known, Sets: b.sets,
		Possible: m.alarm != nil, Evidence: 1, Peak: 1, RisesAt: 2 / m.o.Alpha,
	}
	if m.alarm != nil {
		s.Evidence, s.Peak, s.Risen, s.Time = m.alarm.Evidence(), m.alarm.Peak(), m.alarm.Risen(), timeText(m.seen.RisenAt)
	}
	return s
}

// remarks returns notes for the reader of the status.
func (m *Monitor) remarks(s *Status) (notes []string) {
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	o := s.Outcomes
	if at := m.router.Prices(); at.Lambda != 1 {
		if idle := at.In(m.router.Info().Actions).LambdaIdle(); idle != "" {
			add("For this policy %s.", idle)
		}
	}
	if s.New.Rows > 0 && m.base.mmd == nil || s.New.Rows > 0 && s.New.Rows < drift.MMDLeast {
		add("Whole feature vectors are not compared: that needs %d rows on either side.", drift.MMDLeast)
	}
	if o.Known == 0 {
		add("No outcome is known: only inputs and decisions are watched.")
	}
	if o.Unknown > 0 {
		add("%d of %d executed pairs had no outcome when they were added. The alarm is about the others: whether an outcome is known must not depend on it.", o.Unknown, o.Unknown+o.Known)
	}
	if o.Clipped > 0 {
		add("%d outcomes are outside of the range %g to %g and count as its ends for the alarm.", o.Clipped, m.base.low, m.base.high)
	}
	if o.Agreed != nil && *o.Agreed < 1 {
		add("The executed pair is the one that the policy chose on %.1f%% of the rows. Outcomes are those of executed pairs.", 100**o.Agreed)
	}
	if a := o.Alarm; a == nil {
		add("The baseline has no outcomes of the policy's decisions, so there is no level for an alarm.")
	} else if !a.Possible {
		add("No mean can exceed the level %g within the range: the alarm cannot rise. More baseline rows or a smaller tolerance would lower it.", a.Level)
	}
	if o.Known > 0 && m.base.fees && !m.feesCount() {
		add("The outcomes have no measured fees: those of the baseline are left out, too, and what the policy expects of a pair, with its fee, is not compared.")
	}
	if g := s.Guarantee; g != nil && g.Clipped > 0 {
		add("%d losses of accepted decisions are outside of 0 to %g and count as its ends.", g.Clipped, m.promise.of.Bound)
	}
	if info := m.router.Info(); info.Guarantee != nil && !info.Promises(m.router.Prices()) {
		add("The guarantee is about %s, and the policy decides here at other prices.", info.Guarantee.Prices())
	}
	if m.seen.Late > 0 {
		add("%d outcomes are earlier than one that was added before them.", m.seen.Late)
	}
	return notes
}
