package monitor

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"pipe/costs"
	"pipe/internal/digest"
	"pipe/internal/storage"
	"pipe/internal/strictjson"
	"pipe/models/drift"
)

// stateFormat is the version of a saved state.
const stateFormat = 1

// state is the saved state of a monitor.
type state struct {
	Format  int               `json:"format"`
	Of      string            `json:"of"` // digest of policy, baseline and options
	Window  *window           `json:"window"`
	Seen    seen              `json:"seen"`
	Alarm   *drift.AlarmState `json:"alarm"`
	ADWIN   drift.ADWINState  `json:"adwin"`
	Promise *promiseState     `json:"guarantee,omitempty"`
	Inputs  []string          `json:"inputs"` // digests of files that runs have added
}

// identity is the digest of everything that a state depends on.
func (m *Monitor) identity() string {
	o := m.o
	o.Runtime, o.FailOn, o.Warn, o.Actions = nil, nil, 0, storage.Location{}
	o.Raw, o.Encoder, o.Decoder = false, "", "" // the features are the policy's either way
	d, err := digest.JSON(map[string]any{"policy": m.router.Digest(), "baseline": m.base.digest, "options": o})
	if err != nil {
		panic(err) // plain values
	}
	return d
}

// Save writes the state as JSON, for Restore.
func (m *Monitor) Save(w io.Writer) error { return m.save(w, nil) }

func (m *Monitor) save(w io.Writer, inputs []string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := state{Format: stateFormat, Of: m.identity(), Window: &m.window, Seen: m.seen, ADWIN: m.adwin.State(), Promise: m.promise.state(), Inputs: inputs}
	if m.window.Rows+m.window.Decided == 0 {
		s.Window = nil
	}
	if m.alarm != nil {
		a := m.alarm.State()
		s.Alarm = &a
	}
	return json.NewEncoder(w).Encode(s)
}

// mostState is the most bytes of a state that are read.
const mostState = 1 << 30

// Restore replaces the state by a saved one. If that is damaged, or was saved with another policy, baseline or options, the
// error is a *costs.DataError and nothing changes.
func (m *Monitor) Restore(r io.Reader) error {
	_, err := m.restore(r)
	return err
}

func (m *Monitor) restore(r io.Reader) (inputs []string, err error) {
	b, err := io.ReadAll(io.LimitReader(r, mostState+1))
	if err != nil {
		return nil, fmt.Errorf("read state: %w", err)
	}
	var s state
	if len(b) > mostState {
		err = fmt.Errorf("is larger than %d bytes", mostState)
	} else if err = strictjson.Unmarshal(b, &s); err != nil {
		err = fmt.Errorf("is not the state of a monitor: %w", strictjson.Plain(err))
	}
	if err == nil {
		err = m.resume(s)
	}
	if err != nil {
		return nil, fmt.Errorf("read state: %w", &costs.DataError{Err: err})
	}
	return s.Inputs, nil
}

// resume checks a state and continues from it.
func (m *Monitor) resume(s state) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case s.Format != stateFormat:
		return fmt.Errorf("format is %d, not %d", s.Format, stateFormat)
	case s.Of != m.identity():
		return errors.New("was saved with another policy, baseline or options: start a new state")
	case (s.Alarm == nil) != (m.alarm == nil):
		return errors.New("the alarm is missing, or there is none")
	}
	if s.Window == nil {
		w := m.newWindow()
		s.Window = &w
	}
	if err := m.checkWindow(s.Window); err != nil {
		return err
	}
	if err := s.Seen.check(); err != nil {
		return err
	}
	adwin, err := drift.NewADWIN(m.o.ADWIN)
	if err == nil {
		err = adwin.SetState(s.ADWIN)
	}
	if err != nil {
		return err
	}
	if m.alarm != nil {
		if s.Alarm.N != s.Seen.Known {
			return fmt.Errorf("the alarm has %d outcomes of %d", s.Alarm.N, s.Seen.Known)
		}
	}
	promise, err := m.resumed(s.Promise)
	if err != nil {
		return err
	}
	if m.alarm != nil {
		if err := m.alarm.SetState(*s.Alarm); err != nil {
			return err
		}
	}
	m.window, m.seen, m.adwin, m.promise, m.cached = *s.Window, s.Seen, adwin, promise, nil
	return nil
}

// checkWindow compares the counts of a window with the baseline.
func (m *Monitor) checkWindow(w *window) error {
	if w.Rows < 0 || len(w.Counts) != len(m.base.samples) || len(w.Chosen) != len(m.base.chosen) || (w.MMD == nil) != (m.base.mmd == nil) {
		return errors.New("the window does not fit the baseline")
	}
	for f, c := range w.Counts {
		if c == nil || c.N != w.Rows || !c.Fits(m.base.samples[f]) {
			return fmt.Errorf("the counts of feature %d do not add up to %d rows", f, w.Rows)
		}
	}
	if w.MMD != nil && (w.MMD.N != w.Rows || !w.MMD.Fits()) {
		return fmt.Errorf("the sums of random features are not those of %d rows", w.Rows)
	}
	mask, total := m.router.Info().Actions.Mask(), int64(0)
	for i, n := range w.Chosen {
		if n < 0 || n > w.Decided-total || n > 0 && !mask[i] {
			return errors.New("the decisions do not add up")
		}
		total += n
	}
	if total != w.Decided {
		return errors.New("the decisions do not add up")
	}
	return nil
}

// mostLoss is more than any loss with its fee in a file.
const mostLoss = 1e39

// check returns an error for counts that contradict each other.
func (s *seen) check() error {
	counts := []int64{s.Known, s.Unknown, s.Clipped, s.Compared, s.Agreed, s.Residuals, s.Late}
	switch {
	case slices.Min(counts) < 0 || slices.Max(counts) > math.MaxInt64/4,
		s.Clipped > s.Known, s.Residuals > s.Known, s.Agreed > s.Compared, s.Compared > s.Known+s.Unknown, s.Late > s.Known,
		s.First > s.Last, (s.First == NoTime) != (s.Last == NoTime), len(s.Changes) > mostChanges,
		!(math.Abs(s.Sum) <= float64(s.Known)*mostLoss), !(math.Abs(s.Residual) <= 2*float64(s.Residuals)*mostLoss):
		return errors.New("the numbers of outcomes contradict each other")
	}
	for _, at := range []int64{s.First, s.Last, s.RisenAt} {
		if at != NoTime && !costs.UsableTime(at) {
			return fmt.Errorf("%d is not a time", at)
		}
	}
	return s.Course.check(s.Known)
}
