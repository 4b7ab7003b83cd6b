package decision

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"pipe/costs"
	"pipe/models/policy"
	"pipe/pipeline/decisionlog"
)

// shadows runs shadow policies in the background.
type shadows struct {
	decider *Decider
	jobs    chan shadowJob
	workers sync.WaitGroup
	once    sync.Once

	mu       sync.Mutex
	changed  sync.Cond           // of waiting
	waiting  map[string]struct{} // ids of decisions that are not in the log yet
	dropped  int64               // requests that were not shadowed because the queue was full
	warnedAt time.Time           // when that was last logged
}

// shadowJob is a request whose records wait for the shadow policies.
type shadowJob struct {
	records  []*decisionlog.Record
	request  Request
	features []float32 // as the policy that decided had them
	of       *costs.Actions
	at       *policy.Prices // prices that were tensors, which request does not have; nil: those of request and of the price file
	names    []string       // of the shadows
}

func newShadows(d *Decider) *shadows {
	s := &shadows{decider: d, jobs: make(chan shadowJob, d.settings.ShadowQueue), waiting: map[string]struct{}{}}
	s.changed.L = &s.mu
	for range d.settings.ShadowWorkers {
		s.workers.Go(func() {
			for job := range s.jobs {
				s.run(job)
				s.done(job)
			}
		})
	}
	return s
}

// done marks the records of a job as logged.
func (s *shadows) done(j shadowJob) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rec := range j.records {
		delete(s.waiting, rec.ID)
	}
	s.changed.Broadcast()
	s.decider.metrics.Queue("shadow", len(s.jobs))
}

// wait waits until a decision no longer waits for shadow policies, so that it is in the log.
func (s *shadows) wait(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if _, is := s.waiting[id]; !is {
			return
		}
		s.changed.Wait()
	}
}

func (s *shadows) close() {
	s.once.Do(func() { close(s.jobs) })
	s.workers.Wait()
}

// finish adds the records of a result to the log, after its shadow policies if there are any.
func (d *Decider) finish(r *Result) error {
	if d.log != nil {
		d.recent.add(r.Policy.Name, r.Records)
	}
	if d.observer != nil {
		d.observer.Add(r.Policy.Name, r.Policy.Digest, r.used.version.info, r.Records)
	}
	if d.shadows != nil && r.features != nil {
		var at *policy.Prices
		if r.request.tensorPrices {
			at = r.used.requestPrices()
		}
		if names := d.shadowsOf(r); len(names) > 0 && d.shadows.add(shadowJob{
			records: r.Records, request: r.request, features: r.features, of: r.used.version.info.Actions, at: at, names: names,
		}) {
			return nil
		}
	}
	return d.add(r.Records)
}

// add adds records to the log. It goes on after a record that is refused.
func (d *Decider) add(records []*decisionlog.Record) error {
	if d.log == nil {
		return nil
	}
	var all error
	for _, rec := range records {
		if err := d.log.Add(rec); err != nil {
			all = errors.Join(all, fmt.Errorf("%w: %w", ErrNotLogged, err))
		}
	}
	return all
}

// shadowsOf returns the names of the shadows of the policy that a request names.
func (d *Decider) shadowsOf(r *Result) []string {
	var names []string
	for _, s := range d.settings.Shadow {
		of := s.Of
		if of == "" {
			of = d.set.Default()
		}
		if of == r.used.requested && s.Policy != r.Policy.Name {
			names = append(names, s.Policy)
		}
	}
	return names
}

// add queues a job. It returns false if the queue is full; the request is then not shadowed.
func (s *shadows) add(j shadowJob) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case s.jobs <- j:
		for _, rec := range j.records {
			s.waiting[rec.ID] = struct{}{}
		}
		return true
	default:
		s.dropped++
		if now := time.Now(); now.Sub(s.warnedAt) > warnEvery {
			s.decider.slog.Warn("requests are decided faster than shadow policies can follow", "without_shadows", s.dropped)
			s.warnedAt = now
		}
		return false
	}
}

// warnEvery is the shortest time between two warnings about a full queue.
const warnEvery = time.Minute

// run lets every shadow policy decide on a job, and adds its records to the log.
func (s *shadows) run(j shadowJob) {
	d := s.decider
	for _, name := range j.names {
		if err := s.decide(name, j); err != nil {
			level := slog.LevelWarn
			if errors.As(err, new(*PriceError)) { // it may concern every request of a client
				level = slog.LevelDebug
			}
			d.slog.Log(context.Background(), level, "a shadow policy could not decide", "shadow", name, "request", j.request.ID, "error", err)
		}
	}
	if err := d.add(j.records); err != nil {
		d.slog.Error("a decision with shadows could not be logged", "request", j.request.ID, "error", err)
	}
}

// decide lets one shadow policy decide.
func (s *shadows) decide(name string, j shadowJob) error {
	d := s.decider
	u, err := d.lease(name, &j.request)
	if err != nil {
		return err
	}
	defer u.policy.Release()
	at, err := j.prices(u)
	if err != nil {
		return err
	}
	dec, _, err := decideWith(context.Background(), u, at, j.request.Inputs, j.features, j.of, len(j.records))
	if err != nil {
		return err
	}
	for i, rec := range j.records {
		action, cost := int(dec.Action[i]), math.NaN()
		if dec.Cost != nil {
			cost = float64(dec.Cost[i*dec.Actions+action])
		}
		shadow := decisionlog.Shadow{Policy: u.policy.Name, Digest: u.policy.Digest, Action: action, ExpectedCost: cost}
		agrees := u.version.names[action] == j.of.Name(rec.Greedy)
		rec.Shadows = append(rec.Shadows, shadow)
		d.metrics.Shadow(rec.Policy, u.policy.Name, agrees)
		if d.observer != nil {
			d.observer.Shadow(rec, shadow, agrees)
		}
	}
	return nil
}

// prices returns the prices for a shadow policy: those of the request; nil for those of its file. Prices in tensors are
// given per pair, so they fit only a shadow with the same pairs.
func (j shadowJob) prices(u used) (*policy.Prices, error) {
	switch {
	case j.at == nil:
		return u.requestPrices(), nil
	case u.version.info.Prices == nil:
		return nil, &PriceError{u.policy.Name, policy.ErrFixedPrices}
	}
	if err := u.version.info.Actions.SameSet(j.of); err != nil {
		return nil, &PriceError{u.policy.Name, err}
	}
	at := *j.at
	for q, own := range u.prices.Usage {
		if (own == nil) != (at.Usage[q] == nil) { // the two policies know different quantities
			at.Usage = u.prices.Usage
		}
	}
	return &at, nil
}

// sameFeatures reports whether two policies are known to use the features of the same encoder.
func sameFeatures(a, b *costs.Actions) bool {
	digest := a.Digests[costs.FeatureDigest]
	return digest != "" && digest == b.Digests[costs.FeatureDigest]
}
