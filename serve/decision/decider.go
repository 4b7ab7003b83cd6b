package decision

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"pipe/models/policy"
	"pipe/pipeline/decisionlog"
	"pipe/serve/metrics"
	"pipe/serve/policies"
	"pipe/serve/telemetry"
)

// Decider makes the decisions of a server. It is safe for concurrent use.
type Decider struct {
	set       *policies.Set
	log       *decisionlog.Writer // nil: decisions are not logged
	metrics   *metrics.Metrics
	slog      *slog.Logger
	settings  Settings
	exploring *exploring
	source    source
	versions  versions
	shadows   *shadows // nil: none are configured
	recent    *recentPolicies
	observer  Observer // nil: none
	rivals    []*rival
	texts     func(r *decisionlog.Record, text string) // nil: texts are not kept
	people    People                                   // nil: no expert is people
}

// Observer is notified of every decision, for example for the dashboard. Its methods are called from many goroutines at
// once, while requests wait, and must not keep the records.
type Observer interface {
	// Add gets the records of one request, after its execution.
	Add(name, digest string, info *policy.Info, records []*decisionlog.Record)
	// Shadow gets the decision of a shadow policy for a record that Add got before. agrees is whether it chose the same pair
	// as the policy.
	Shadow(of *decisionlog.Record, shadow decisionlog.Shadow, agrees bool)
	// Outcome gets every new outcome that the log accepted.
	Outcome(o decisionlog.Outcome)
}

// Observe sets the observer. It must be called before the first decision.
func (d *Decider) Observe(o Observer) { d.observer = o }

// New returns a decider over the policies of set. The log and the metrics may be nil. Canaries and shadows that are not
// among the policies are an error. The caller closes the decider before the log and the set.
func New(set *policies.Set, log *decisionlog.Writer, m *metrics.Metrics, l *slog.Logger, s Settings) (*Decider, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	if l == nil {
		l = slog.New(slog.DiscardHandler)
	}
	d := &Decider{set: set, log: log, metrics: m, slog: l, settings: s, versions: versions{log: log, by: map[string]*version{}}, recent: newRecentPolicies()}
	d.source.seed = s.Seed
	if err := d.checkPolicies(); err != nil {
		return nil, err
	}
	var err error
	if d.exploring, err = newExploring(s.Explore, log != nil, l); err != nil {
		return nil, err
	}
	if d.rivals, err = newRivals(s, s.Explore.Folder, l); err != nil {
		return nil, errors.Join(err, closeRivals(d.rivals), d.exploring.end())
	}
	if len(s.Shadow) > 0 {
		d.shadows = newShadows(d)
	}
	return d, nil
}

// Close waits for the decisions of shadow policies. Decide must not be called after it. It is idempotent.
func (d *Decider) Close() error {
	if d.shadows != nil {
		d.shadows.close()
	}
	return errors.Join(d.exploring.end(), closeRivals(d.rivals))
}

// Settings returns the settings of the decider.
func (d *Decider) Settings() Settings { return d.settings }

// Policies returns the set of policies that decide.
func (d *Decider) Policies() *policies.Set { return d.set }

// Decide decides on the rows of a request. The caller must call [Result.Done] once, after it has filled in the fields of
// the records about the execution.
//
// The errors are: *policies.UnknownError for a policy that is not loaded; *[PromptError] for a conversation without an
// input for the policy, or *[NoPairError] if [Request.FixedPair] selects a pair that the policy does not have; *[InputError]
// or *policy.RowError for inputs that do not fit the policy; *[PriceError] for prices that do not fit it. If the log is
// configured to stop the service when it cannot be written, the error wraps [ErrNotLogged].
func (d *Decider) Decide(ctx context.Context, r Request) (decided *Result, err error) {
	ctx, span := telemetry.Start(ctx, "decide")
	defer func() { endSpan(span, decided, err) }()
	if d.log != nil {
		if err := d.log.Ready(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotLogged, err)
		}
	}
	r.pricing = d.set.Pricing()
	d.askPeople(&r)
	u, err := d.pick(&r)
	if err != nil {
		return nil, err
	}
	defer func() {
		if u.other != nil {
			u.other.policy.Release()
		}
		if err != nil {
			u.policy.Release()
		}
	}()
	if err := d.fill(&r, u.policy); err != nil {
		if u.canary && u.rival.key != nil { // nothing is learned of a candidate here
			u = u.swapped()
			u.share = 0
		}
		return d.decideFixed(r, u, err)
	}
	start := time.Now()
	features := r.Inputs.Features
	if features == nil {
		if features, err = u.policy.Encode(ctx, r.Inputs); err != nil {
			return nil, err
		}
	}
	encoded := time.Now()
	dim := u.version.info.Dim
	if len(features) == 0 || len(features)%dim != 0 {
		return nil, &InputError{"features", wrongFeatures(len(features), dim)}
	}
	decisions, err := u.policy.Decide(ctx, u.requestPrices(), features, len(features)/dim)
	if err != nil {
		return nil, err
	}
	res := &Result{Policy: u.policy, Prices: u.prices, Decisions: decisions, decider: d, used: u, request: r, features: features}
	stages := decisionlog.Stages{Decode: r.Decode.Microseconds(), Encode: encoded.Sub(start).Microseconds(), Decide: time.Since(encoded).Microseconds()}
	res.encoded, res.decided = encoded.Sub(start), time.Since(encoded)
	d.decideOther(ctx, res)
	if err := d.charge(res); err != nil {
		return nil, err
	}
	u = res.used
	if err := d.record(res, start, stages); err != nil {
		return res, err
	}
	d.keepTexts(res)
	return res, nil
}

// used is the leased version of a policy that decides on a request, with the prices of the request.
type used struct {
	policy    *policies.Policy
	version   *version
	prices    *policy.Prices
	requested string // the policy that the request names
	canary    bool
	share     float64 // of the canary; 0: no canary can decide on the request
	rival     *rival  // nil: no canary can decide on the request
	other     *used   // of a policy and its canary, the one that was not drawn, leased while [Decider.Decide] runs; nil: none
}

// requestPrices are the prices of the request; nil if they are those of the policy's file.
func (u used) requestPrices() *policy.Prices {
	if u.prices == u.policy.Prices() {
		return nil
	}
	return u.prices
}

// pick leases the policy that decides: the one that the request names, or its canary. The other one of the two is leased
// too, because the propensities of the decision depend on both.
func (d *Decider) pick(r *Request) (used, error) {
	u, err := d.lease(r.Policy, r)
	if err != nil {
		return used{}, err
	}
	u.requested = u.policy.Name
	c := d.rivalOf(r.Policy, u.policy)
	if c == nil {
		return u, nil
	}
	other, err := d.leaseCanary(c.Policy, r, u)
	if err != nil { // such as prices that it does not take
		if c.key != nil || c.draws(u, used{}, stickyKey(r)) {
			d.slog.Warn("a canary could not decide; the requested policy did", "canary", c.Policy, "policy", u.requested, "error", err)
		}
		return u, nil
	}
	u.share, other.share, other.requested, other.canary = c.Share, c.Share, u.requested, true
	u.rival, other.rival = c, c
	u.other = &other
	if c.draws(u, other, stickyKey(r)) {
		u = u.swapped()
	}
	return u, nil
}

// leaseCanary leases a canary, if it can decide on the request in place of the policy u.
func (d *Decider) leaseCanary(name string, r *Request, u used) (used, error) {
	other, err := d.lease(name, r)
	if err == nil && !similar(other.policy, u.policy) {
		other.policy.Release()
		err = errors.New("it takes other inputs than the policy that it stands in for")
	}
	return other, err
}

// lease leases a policy at the prices of a request, which change those of a state of the price file.
func (d *Decider) lease(name string, r *Request) (u used, err error) {
	if u.policy, err = d.set.Acquire(name); err != nil {
		return used{}, err
	}
	if u.version, err = d.versions.of(u.policy); err == nil {
		u.prices, err = r.price(u.policy)
	}
	if err != nil {
		u.policy.Release()
		return used{}, err
	}
	return u, nil
}

// Prices gathers the prices of a request for a policy as they are now, as [Decider.Decide] does for its decision. executed are pairs whose
// answers are at hand, by pair: they stay available, whatever must not be chosen. nil: none. The error is a *[PriceError].
func (d *Decider) Prices(r Request, p *policies.Policy, executed []bool) (*policy.Prices, error) {
	if r.pricing == nil {
		r.pricing = d.set.Pricing()
	}
	d.askPeople(&r)
	r.executed = executed
	return r.price(p)
}

// price returns the prices of a policy for the request. The error is a *[PriceError].
func (r *Request) price(p *policies.Policy) (*policy.Prices, error) {
	at, err := r.gather(p)
	if err != nil {
		return nil, &PriceError{p.Name, err}
	}
	return at, nil
}

func (r *Request) gather(p *policies.Policy) (_ *policy.Prices, err error) {
	c := r.Prices
	if r.Surcharge != nil {
		if c.Surcharge, err = r.Surcharge(p); err != nil {
			return nil, err
		}
	}
	if r.Without != nil {
		c.Without = leaveOut(c.Without, r.Without(p))
	}
	if r.people != nil {
		c = r.withPeople(c, p)
	}
	c.Without = sparing(p.Info().Actions, c.Without, r.executed)
	return p.Price(r.pricing, c)
}

// isOf reports whether the canary of a policy ("" for the default one) applies to a request that named asked and got p. It
// does not apply to a request for a version by its digest.
func (d *Decider) isOf(of, asked string, p *policies.Policy) bool {
	if of == "" {
		of = d.set.Default()
	}
	return of == p.Name && (asked == "" || asked == p.Name)
}

// similar reports whether two policies take the same inputs.
func similar(a, b *policies.Policy) bool {
	return a.Input() == b.Input() && a.Info().Dim == b.Info().Dim
}

// stickyKey is the text by which requests are assigned to a canary: the user, or else the id of the request. A request
// without both gets an id.
func stickyKey(r *Request) string {
	if r.User != "" {
		return "user\x00" + r.User
	}
	if r.ID == "" {
		r.ID = decisionlog.NewID()
	}
	return "request\x00" + r.ID
}

// checkPolicies checks that all canaries and shadows are loaded, and that a record has room for the shadows.
func (d *Decider) checkPolicies() error {
	var names []string
	var problems []error
	canaries, gated := map[string]bool{}, map[string]bool{} // policies that have one
	tried := trials{}
	for _, c := range d.settings.Canary {
		names = append(names, c.Policy, c.Of)
		canaries[cmp.Or(c.Of, d.set.Default())] = true
	}
	for _, c := range d.settings.Candidate {
		names = append(names, c.Policy, c.Of)
		of := cmp.Or(c.Of, d.set.Default())
		if canaries[of] || gated[of] || c.Policy == of {
			problems = append(problems, fmt.Errorf("candidate: %q has another canary or candidate already, or would be its own", of))
		}
		gated[of] = true
		tried[of], tried[c.Policy] = true, true
	}
	shadows := map[string]int{} // of a policy
	for _, s := range d.settings.Shadow {
		names = append(names, s.Policy, s.Of)
		shadows[cmp.Or(s.Of, d.set.Default())]++
	}
	for _, of := range slices.Sorted(maps.Keys(shadows)) {
		if n := shadows[of]; n > decisionlog.MaxShadows {
			problems = append(problems, fmt.Errorf("shadow: %q has %d shadows; a record has room for %d", of, n, decisionlog.MaxShadows))
		}
	}
	for _, name := range names {
		if name == "" {
			continue
		}
		p, err := d.set.Acquire(name)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		problems = append(problems, tried.fit(p))
		p.Release()
	}
	d.set.Require(tried.fit)
	return errors.Join(append(problems, d.checkExplored())...)
}

// trials are the names of policies that are tried, and of those that they are compared with.
type trials map[string]bool

// fit is an error for a policy that cannot be judged.
func (t trials) fit(p *policies.Policy) error {
	if p.Cascade() == nil || !t[p.Name] {
		return nil
	}
	return fmt.Errorf("candidate: %q is a cascade, and what a cascade costs cannot be estimated from a log; it can be a canary", p.Name)
}

// checkExplored checks that the extra cost of exploring is bounded for every policy that estimates costs, if there is a ledger.
func (d *Decider) checkExplored() error {
	l := d.settings.Explore.Ledger
	d.versions.prepare = d.prepareExplored
	if l == nil {
		return nil
	}
	var problems []error
	for _, name := range d.set.Names() {
		p, err := d.set.Acquire(name)
		if err != nil { // its file changed meanwhile
			continue
		}
		if p.Info().Decoder == policy.DecoderEstimate {
			if _, err := newLossBound(p.Info(), l.Losses); err != nil {
				problems = append(problems, fmt.Errorf("decision.explore.ledger: the losses of policy %q are not bounded: %w; set losses there to the smallest and the largest possible loss", name, err))
			}
		}
		p.Release()
	}
	return errors.Join(problems...)
}

// prepareExplored sets the bound of a version of a policy, and warns if it is not explored although others are.
func (d *Decider) prepareExplored(name string, v *version) {
	e := d.settings.Explore
	reason := ""
	switch {
	case e.off():
		return
	case v.info.Decoder != policy.DecoderEstimate:
		if !e.explores(nil) {
			reason = "it states no expected costs"
		}
	case e.Ledger != nil:
		var err error
		if v.bound, err = newLossBound(v.info, e.Ledger.Losses); err != nil {
			reason = "the ledger cannot bound its losses: " + err.Error()
		}
	}
	if reason != "" {
		d.slog.Warn("a policy is not explored", "policy", name, "reason", reason)
	}
}

// userHash is the hash of a user for records; "" for none.
func (d *Decider) userHash(user string) string {
	if user == "" {
		return ""
	}
	h := hmac.New(sha256.New, []byte(d.settings.UserKey))
	h.Write([]byte(user))
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// ErrNoLog means that an outcome cannot be kept because decisions are not logged.
var ErrNoLog = errors.New("this server does not log decisions, so it cannot accept outcomes")

// Outcome adds an outcome to the log. duplicate is whether the log had it before. Metrics count the losses of at least the
// last 65,536 decisions. An outcome that replaces an earlier one is not counted again, and the observer does not get it. The
// errors are ErrNoLog and those of [decisionlog.Writer.Outcome].
func (d *Decider) Outcome(o decisionlog.Outcome) (duplicate bool, err error) {
	if d.log == nil {
		return false, ErrNoLog
	}
	if d.shadows != nil {
		d.shadows.wait(o.ID)
	}
	kept, err := d.log.Keep(o)
	switch {
	case err != nil:
		return false, err
	case kept == decisionlog.KeptInPlace:
		d.slog.Info("an outcome replaced an earlier one", "decision", o.ID, "client", o.Client)
		return false, nil
	case kept == decisionlog.KeptBefore:
		return true, nil
	}
	if decisionlog.IsPanelID(o.ID) { // no caller saw the answer
		return false, nil
	}
	if loss, ok := o.LossOf(); ok {
		d.exploring.outcome()
		if policy := d.recent.policy(o.ID); policy != "" {
			d.metrics.Outcome(policy, loss)
		}
	}
	if d.observer != nil {
		d.observer.Outcome(o)
	}
	return false, nil
}
