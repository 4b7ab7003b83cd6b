package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"

	"pipe/costs"
	"pipe/models/policy"
	"pipe/serve/gateway/expert"
	"pipe/serve/gateway/patience"
	"pipe/serve/policies"
)

// learns reports whether the times of experts are learned.
func (s *Settings) learns() bool { return s.Patience != nil || s.Latency != nil || s.Hedge != nil }

// openLearner gives the experts what is learned about their times, if the settings need that. What was learned before the
// settings were read again stays.
func (b *backends) openLearner(a *API, before *backends) (err error) {
	if before != nil {
		b.learner = before.learner
	}
	if b.learner == nil && b.settings.learns() {
		if b.learner, err = patience.New(b.settings.Patience, a.metrics, a.log); err != nil {
			return fmt.Errorf("gateway: %w", err)
		}
	}
	for _, e := range b.experts {
		e.Learn(b.learner)
	}
	return nil
}

// fileChanged reports whether settings name another file of the learner than the one that is open.
func (b *backends) fileChanged(s Settings) bool {
	return b.learner != nil && s.Patience != nil && b.learner.File() != string(s.Patience.File)
}

// patienceNotes are warnings about timeouts that have no effect.
func (b *backends) patienceNotes(name string) (notes []string) {
	if b.settings.Patience == nil {
		return nil
	}
	t, plain := b.settings.Experts[name].Timeouts, expert.DefaultSettings().Timeouts
	if t.FirstByte != plain.FirstByte || t.Answer != plain.Answer {
		notes = append(notes, fmt.Sprintf("gateway: timeouts.first_byte and timeouts.answer of the expert %q have no effect beside patience: patience.start and what is learned take their place", name))
	}
	return notes
}

// headerDeadline is the header of a request with the time after which its answer is late.
const headerDeadline = "X-Pipe-Deadline"

// readDeadline reads the header with the deadline.
func (c *chat) readDeadline() *failure {
	text := c.r.Header.Get(headerDeadline)
	if text == "" {
		return nil
	}
	var err error
	if c.deadline, err = patience.ParseDeadline(text); err != nil {
		return &failure{http.StatusBadRequest, invalidRequest, "invalid_request", headerDeadline, fmt.Sprintf("the header %s %v", headerDeadline, err)}
	}
	return nil
}

// lateness is what the expected lateness of pairs costs; nil if lateness has no price.
func (c *chat) lateness() surcharge {
	if c.settings.Latency == nil {
		return nil
	}
	return c.latenessOf
}

// latenessOf returns what the expected lateness of each pair costs, in units of the loss; nil for nothing.
func (c *chat) latenessOf(p *policies.Policy) ([]float64, error) {
	const most = policy.MaxFee / 16 // beyond it no policy chooses a pair
	l, ok := c.settings.Latency.Of(p.Name)
	if !ok {
		return nil, nil
	}
	loss, err := lossOfSecond(l, p.Info())
	if err != nil {
		return nil, &unusableError{fmt.Sprintf("latency: policy %q %v", p.Name, err)}
	}
	deadline, actions := cmp.Or(c.deadline, l.Deadline), p.Info().Actions
	out, streams := make([]float64, actions.Len()), c.streams(p)
	for pair := range out {
		j, _ := actions.Pair(pair)
		// The lateness of an expert that nothing is known about counts as 0, or it would never be asked and never become known.
		late, _ := c.experts[actions.Experts[j].Name].Patience().Late(streams(pair), c.request.Tokens(), max(0, deadline-c.spent))
		out[pair] = min(loss*late.Seconds(), most)
	}
	return out, nil
}

// lossOfSecond is what a late second costs in units of the loss of a policy.
func lossOfSecond(l patience.Lateness, info *policy.Info) (float64, error) {
	if info.Prices == nil {
		return 0, errors.New("has fixed prices, so its pairs can have no fee for lateness")
	}
	if l.Loss != nil {
		return *l.Loss, nil
	}
	money, ok, err := costs.MoneyOf(info.Shared())
	if err == nil && !ok {
		err = errors.New("does not say what its loss is worth in money: set loss in place of price")
	}
	return *l.Price / money.PerLoss, err
}

// checkLatency reports policies for which lateness is configured and cannot be a fee.
func (a *API) checkLatency(s Settings) error {
	var errs []error
	for _, name := range a.decider.Policies().Names() {
		l, ok := s.Latency.Of(name)
		if !ok {
			continue
		}
		p, err := a.decider.Policies().Acquire(name)
		if err != nil { // its file changed meanwhile
			continue
		}
		if _, err := lossOfSecond(l, p.Info()); err != nil {
			errs = append(errs, fmt.Errorf("gateway: latency: policy %q %w", name, err))
		}
		p.Release()
	}
	return errors.Join(errs...)
}

// Patience returns what is learned about the times of experts; nil if nothing is.
func (a *API) Patience() []patience.State {
	b := a.acquire()
	defer a.release(b)
	return b.learner.States()
}
