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

// The slots of traffic: those of an hour.
const (
	trafficSpan  = 10 * time.Second
	trafficSlots = 360
)

// Collector sees every decision and outcome of a server and keeps sums of the last hour. It is a [decision.Observer]. All
// methods are safe for concurrent use, and a nil Collector keeps nothing. Only NewCollector makes one.
type Collector struct {
	settings Settings
	started  time.Time
	clock    func() time.Duration // since started; never goes back
	seed     maphash.Seed

	mu        sync.Mutex
	traffic   window[traffic]
	total     traffic
	versions  map[string]*version
	byID      map[string]waiting // decisions that wait for their outcome
	unmatched window[int64]      // outcomes of decisions that are not kept
}

// traffic are counts of requests. Requests for the page itself, metrics and health are none.
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

// NewCollector makes a collector whose windows start now.
func NewCollector(s Settings) *Collector {
	c := &Collector{settings: s, started: time.Now(), seed: maphash.MakeSeed()}
	c.clock = func() time.Duration { return time.Since(c.started) } // the clock of the machine may jump, this one does not
	c.traffic = newWindow(trafficSpan, trafficSlots, func(t *traffic) { *t = traffic{} })
	c.unmatched = newWindow(time.Minute, minuteSlots, func(n *int64) { *n = 0 })
	c.versions, c.byID = make(map[string]*version), make(map[string]waiting)
	return c
}

// Request counts one answered request by its status code. Those for the page itself, whose route is below /page/, do not
// count.
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

// Add counts the decisions of one request by a version of a policy, and keeps what their outcomes will be compared with.
// It keeps none of the records' slices.
func (c *Collector) Add(name, digest string, info *policy.Info, records []*decisionlog.Record) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock()
	v := c.version(now, name, digest, info)
	for _, record := range records {
		v.decided(now, record)
		if record.IsFixed() { // its outcome says nothing about the policy
			continue
		}
		c.keep(now, v, record)
		v.sample.add(now, record.Features)
	}
	n := int64(len(records))
	c.traffic.at(now).decisions += n
	c.total.decisions += n
}

// Shadow counts what a shadow policy decided beside a decision that was added before.
func (c *Collector) Shadow(of *decisionlog.Record, shadow decisionlog.Shadow, agrees bool) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if v := c.versions[versionKey(of.Policy, of.Digest)]; v != nil {
		v.minutes.at(c.clock()).shadowed(of, shadow, agrees)
	}
}

// version is the figures of a version of a policy, which are made if there are none.
func (c *Collector) version(now time.Duration, name, digest string, info *policy.Info) *version {
	key := versionKey(name, digest)
	v := c.versions[key]
	if v == nil {
		if len(c.versions) >= c.settings.Versions {
			c.forget()
		}
		v = newVersion(name, digest, info, c.settings)
		c.versions[key] = v
	}
	v.seen = now
	return v
}

// forget removes the version that decided longest ago.
func (c *Collector) forget() {
	var oldest *version
	for _, v := range c.versions {
		if oldest == nil || v.seen < oldest.seen {
			oldest = v
		}
	}
	for _, id := range oldest.kept.ids {
		delete(c.byID, id)
	}
	delete(c.versions, versionKey(oldest.name, oldest.digest))
}

// waiting is where a decision waits for its outcome.
type waiting struct {
	of   *version
	slot int
}

// keep keeps a decision until its outcome comes.
func (c *Collector) keep(now time.Duration, v *version, r *decisionlog.Record) {
	if r.ID == "" || r.Error != "" {
		return
	}
	hash := maphash.String(c.seed, r.ID)
	slot, forgotten := v.kept.add(now, hash, r)
	if forgotten != "" {
		delete(c.byID, forgotten)
	}
	if slot >= 0 {
		c.byID[r.ID] = waiting{v, slot}
	}
}

// Outcome adds the outcome of a decision. Each decision has one outcome: the server gives no duplicates.
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
	w.of.outcome(now, loss, w.of.kept.take(w.slot))
}

// sorted are the versions by name, and of one name the one that decided last first.
func (c *Collector) sorted() []*version {
	all := make([]*version, 0, len(c.versions))
	for _, v := range c.versions {
		all = append(all, v)
	}
	slices.SortFunc(all, func(a, b *version) int {
		return cmp.Or(cmp.Compare(a.name, b.name), cmp.Compare(b.seen, a.seen), cmp.Compare(a.digest, b.digest))
	})
	return all
}
