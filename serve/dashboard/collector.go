package dashboard

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"

	"pipe/models/policy"
	"pipe/pipeline/decisionlog"
)

// The window of traffic is an hour.
const (
	trafficSpan  = 10 * time.Second
	trafficSlots = 360
)

// Collector observes every decision and outcome of a server, and keeps sums of the last hour. It is a [decision.Observer].
// All methods are safe for concurrent use. Make one with NewCollector; on a nil Collector, its methods that count do nothing.
type Collector struct {
	settings Settings
	started  time.Time
	clock    func() time.Duration // time since started, which never goes back
	seed     maphash.Seed

	mu        sync.Mutex
	traffic   window[traffic]
	total     traffic
	versions  map[string]*version
	byID      map[string]ringSlot // decisions that wait for their outcome
	unmatched window[int64]       // outcomes of unknown decisions
}

// traffic counts requests, without those for the dashboard, metrics and health checks.
type traffic struct {
	requests  int64
	failed    int64 // answered with 500 or above
	refused   int64 // answered with 400 to 499
	decisions int64 // rows
}

func (t *traffic) merge(o *traffic) {
	t.requests += o.requests
	t.failed += o.failed
	t.refused += o.refused
	t.decisions += o.decisions
}

// NewCollector makes an empty collector.
func NewCollector(s Settings) *Collector {
	c := &Collector{settings: s, started: time.Now(), seed: maphash.MakeSeed()}
	c.clock = func() time.Duration { return time.Since(c.started) } // the monotonic clock, which does not jump
	c.traffic = newWindow(trafficSpan, trafficSlots, func(t *traffic) { *t = traffic{} })
	c.unmatched = newWindow(time.Minute, minuteSlots, func(n *int64) { *n = 0 })
	c.versions, c.byID = make(map[string]*version), make(map[string]ringSlot)
	return c
}

// Request counts a request by the status of its response. Requests for the dashboard, whose routes are below /page/, are not
// counted.
func (c *Collector) Request(route string, code int, _ time.Duration) {
	if c == nil || strings.Contains(route, "/page/") {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range []*traffic{c.traffic.at(c.clock()), &c.total} {
		t.requests++
		switch {
		case code >= 500:
			t.failed++
		case code >= 400:
			t.refused++
		}
	}
}

// Add counts the decisions of one request by a version of a policy, and stores what their outcomes will be compared with.
// It does not keep the slices of the records.
func (c *Collector) Add(name, digest string, info *policy.Info, records []*decisionlog.Record) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock()
	v := c.version(now, name, digest, info)
	for _, record := range records {
		v.addDecision(now, record)
		if record.IsFixed() { // its outcome would say nothing about the policy
			continue
		}
		if !record.IsCascade() { // the outcome of an answer that was chosen among several does not say what a pair costs
			c.keepForOutcome(now, v, record)
		}
		v.sample.add(now, record.Features)
	}
	n := int64(len(records))
	c.traffic.at(now).decisions += n
	c.total.decisions += n
}

// Shadow counts the decision of a shadow policy for a record that was added before.
func (c *Collector) Shadow(of *decisionlog.Record, shadow decisionlog.Shadow, agrees bool) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if v := c.versions[versionKey(of.Policy, of.Digest)]; v != nil {
		v.minutes.at(c.clock()).addShadow(of, shadow, agrees)
	}
}

// version returns the figures of a version of a policy, and adds them if needed.
func (c *Collector) version(now time.Duration, name, digest string, info *policy.Info) *version {
	key := versionKey(name, digest)
	v := c.versions[key]
	if v == nil {
		if len(c.versions) >= c.settings.Versions {
			c.dropOldest()
		}
		v = newVersion(name, digest, info, c.settings)
		c.versions[key] = v
	}
	v.lastUsed = now
	return v
}

// dropOldest removes the version whose last decision is the oldest.
func (c *Collector) dropOldest() {
	var oldest *version
	for _, v := range c.versions {
		if oldest == nil || v.lastUsed < oldest.lastUsed {
			oldest = v
		}
	}
	for _, id := range oldest.pending.ids {
		delete(c.byID, id)
	}
	delete(c.versions, versionKey(oldest.name, oldest.digest))
}

// ringSlot is the place of a decision that waits for its outcome.
type ringSlot struct {
	of   *version
	slot int
}

// keepForOutcome stores a decision until its outcome arrives.
func (c *Collector) keepForOutcome(now time.Duration, v *version, r *decisionlog.Record) {
	if r.ID == "" || r.Error != "" {
		return
	}
	hash := maphash.String(c.seed, r.ID)
	slot, forgotten := v.pending.add(now, hash, r)
	if forgotten != "" {
		delete(c.byID, forgotten)
	}
	if slot >= 0 {
		c.byID[r.ID] = ringSlot{v, slot}
	}
}

// Outcome adds the outcome of a decision. It must be called at most once per decision.
func (c *Collector) Outcome(o decisionlog.Outcome) {
	loss, known := o.LossOf()
	if c == nil || !known {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock()
	w, ok := c.byID[o.ID]
	if !ok {
		*c.unmatched.at(now)++
		return
	}
	delete(c.byID, o.ID)
	w.of.addOutcome(now, loss, w.of.pending.take(w.slot))
}

// sorted returns the versions by name, and for one name by their last decision, the latest first.
func (c *Collector) sorted() []*version {
	all := make([]*version, 0, len(c.versions))
	for _, v := range c.versions {
		all = append(all, v)
	}
	slices.SortFunc(all, func(a, b *version) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(b.lastUsed, a.lastUsed), cmp.Compare(a.digest, b.digest))
	})
	return all
}
