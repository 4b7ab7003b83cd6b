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

// shadows lets shadow policies decide, off the path of the requests.
type shadows struct {
	decider *Decider
	jobs    chan shadowJob
	workers sync.WaitGroup
	once    sync.Once

	mu       sync.Mutex
	changed  sync.Cond           // of waiting
	waiting  map[string]struct{} // ids of decisions that are not in the log yet
	dropped  int64               // requests that found the queue full
	warnedAt time.Time           // when that was said
}

// shadowJob are the records of a request that wait for the shadows.
type shadowJob struct {
	records  []*decisionlog.Record
	request  Request
	features []float32 // of the policy that decided
	of       *costs.Actions
	at       *policy.Prices // prices of tensors, which the request does not have; nil: those of the request
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

// done says that the records of a job are in the log.
func (s *shadows) done(j shadowJob) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, rec := range j.records {
		delete(s.waiting, rec.ID)
	}
	s.changed.Broadcast()
	s.decider.metrics.Queue("shadow", len(s.jobs))
}

// wait waits until a decision is not on its way to the log.
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

// finish adds the records of a result to the log, by way of the shadows if there are any for its policy.
func (d *Decider) finish(r *Result) error {
	if d.log != nil {
		d.recent.add(r.Policy.Name, r.Records)
	}
	if d.observer != nil {
		d.observer.Add(r.Policy.Name, r.Policy.Digest, r.used.version.info, r.Records)
	}
	if d.shadows != nil && r.features != nil {
		var at *policy.Prices
		if r.request.Source == SourceInfer {
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

// add adds records to the log. One that is refused does not keep the others out.
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

// shadowsOf are the names of the shadows of the policy that a request asked for.
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

// add queues a job; false if the queue is full, and then the request is not shadowed.
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

// warnEvery is the shortest time between two warnings about the same.
const warnEvery = time.Minute

// run lets every shadow decide on a job, and adds its records to the log.
func (s *shadows) run(j shadowJob) {
	d := s.decider
	for _, name := range j.names {
		if err := s.decide(name, j); err != nil {
			level := slog.LevelWarn
			if errors.As(err, new(*PriceError)) { // which may be every request of a client
				level = slog.LevelDebug
			}
			d.slog.Log(context.Background(), level, "a shadow policy could not decide", "shadow", name, "request", j.request.ID, "error", err)
		}
	}
	if err := d.add(j.records); err != nil {
		d.slog.Error("a shadowed decision is not in the log", "request", j.request.ID, "error", err)
	}
}

// decide lets one shadow decide.
func (s *shadows) decide(name string, j shadowJob) error {
	d := s.decider
	u, err := d.lease(name, j.request.Prices)
	if err != nil {
		return err
	}
	defer u.policy.Release()
	at, err := j.prices(u)
	if err != nil {
		return err
	}
	dec, err := decideWith(context.Background(), u, at, j.request.Inputs, j.features, j.of, len(j.records))
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

// prices are those at which a shadow decides, which are those of the request; nil for those of its file. Tensors have
// the prices of every pair, so they are for a shadow with the same pairs only.
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
	return j.at, nil
}

// sameFeatures reports whether two policies are known to take the features of the same encoder.
func sameFeatures(a, b *costs.Actions) bool {
	digest := a.Digests[costs.FeatureDigest]
	return digest != "" && digest == b.Digests[costs.FeatureDigest]
}
