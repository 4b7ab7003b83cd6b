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
)

// Decider makes the decisions of a server. It is safe for concurrent use.
type Decider struct {
	set      *policies.Set
	log      *decisionlog.Writer // nil: decisions are not logged
	metrics  *metrics.Metrics
	slog     *slog.Logger
	settings Settings
	source   source
	versions versions
	shadows  *shadows // nil: none are configured
	recent   *recentPolicies
	observer Observer // nil: none
}

// Observer sees every decision of a server, such as for its page. Its methods are called from many goroutines at once, while
// requests wait, and must not keep the records.
type Observer interface {
	// Add gets the records of one request by a version of a policy, as they were when it was finished.
	Add(name, digest string, info *policy.Info, records []*decisionlog.Record)
	// Shadow gets what a shadow policy decided beside a record that Add got before, and whether that is the same pair as the
	// policy's choice.
	Shadow(of *decisionlog.Record, shadow decisionlog.Shadow, agrees bool)
	// Outcome gets every outcome that the log took and did not have before.
	Outcome(o decisionlog.Outcome)
}

// Observe sets who sees the decisions. It must be called before the first one.
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
	if len(s.Shadow) > 0 {
		d.shadows = newShadows(d)
	}
	return d, nil
}

// Close waits for decisions of shadows. Decide must not be called any more. It is idempotent.
func (d *Decider) Close() error {
	if d.shadows != nil {
		d.shadows.close()
	}
	return nil
}

// Settings are those that the decider was made with.
func (d *Decider) Settings() Settings { return d.settings }

// Policies is the set of policies that decide.
func (d *Decider) Policies() *policies.Set { return d.set }

// Decide decides on the rows of a request. The caller calls [Result.Done] once, after it has filled in what it knows about
// the execution.
//
// A policy that is not loaded is a *policies.UnknownError, a conversation without a text a *[PromptError] or, with
// [Request.Unseen], a *[NoPairError] where it has no such pair, inputs that do
// not fit the policy an *[InputError] or a *policy.RowError, prices that do not fit it a *[PriceError]. Where the log is
// configured to stop the service when it cannot be written, the error wraps [ErrNotLogged].
func (d *Decider) Decide(ctx context.Context, r Request) (_ *Result, err error) {
	if d.log != nil {
		if err := d.log.Ready(); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotLogged, err)
		}
	}
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
	res.other = d.decideOther(ctx, res)
	return res, d.record(res, start, stages)
}

// used is the version of a policy that decides on a request, leased, and its prices.
type used struct {
	policy    *policies.Policy
	version   *version
	prices    *policy.Prices
	requested string // the name of the policy that the request asked for
	canary    bool
	share     float64 // of the canary; 0: there is none that could decide on the request
	other     *used   // the policy that could have been drawn in its place, leased while [Decider.Decide] runs; nil: none
}

// requestPrices are the prices; nil if they are those of the file.
func (u used) requestPrices() *policy.Prices {
	if u.prices == u.version.base {
		return nil
	}
	return u.prices
}

// pick leases the policy that decides: the one that was asked for, or its canary. The other one of the two is leased too, since
// the propensities of the decision follow from both.
func (d *Decider) pick(r *Request) (used, error) {
	u, err := d.lease(r.Policy, r.Prices)
	if err != nil {
		return used{}, err
	}
	u.requested = u.policy.Name
	c := d.canaryOf(r.Policy, u.policy)
	if c.Share == 0 {
		return u, nil
	}
	drawn := share(c.Policy, stickyKey(r)) < c.Share
	other, err := d.leaseCanary(c.Policy, r, u)
	if err != nil { // such as prices that it does not take
		if drawn {
			d.slog.Warn("a canary could not decide; the policy that was asked for did", "canary", c.Policy, "policy", u.requested, "error", err)
		}
		return u, nil
	}
	u.share, other.share, other.requested, other.canary = c.Share, c.Share, u.requested, true
	if drawn {
		u, other = other, u
	}
	u.other = &other
	return u, nil
}

// canaryOf is the canary of a policy that a request asked for; the zero Canary if there is none.
func (d *Decider) canaryOf(asked string, p *policies.Policy) Canary {
	for _, c := range d.settings.Canary {
		if d.isOf(c.Of, asked, p) {
			return c
		}
	}
	return Canary{}
}

// leaseCanary leases a canary, if it can decide on what is asked of the policy u.
func (d *Decider) leaseCanary(name string, r *Request, u used) (used, error) {
	other, err := d.lease(name, r.Prices)
	if err == nil && !similar(other.policy, u.policy) {
		other.policy.Release()
		err = errors.New("it takes other inputs than the policy that it stands in for")
	}
	return other, err
}

// lease leases a policy at the prices of a request.
func (d *Decider) lease(name string, c policy.PriceChange) (u used, err error) {
	if u.policy, err = d.set.Acquire(name); err != nil {
		return used{}, err
	}
	if u.version, err = d.versions.of(u.policy); err == nil {
		u.prices, err = u.version.price(u.policy.Name, c)
	}
	if err != nil {
		u.policy.Release()
		return used{}, err
	}
	return u, nil
}

// isOf reports whether a canary or shadow of a policy, "" for the default one, is meant by a request that asked for a name
// and got p. One that asks for a version by its digest gets that version.
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

// stickyKey is what decides whether a canary gets a request. Requests without a user and an id get an id first.
func stickyKey(r *Request) string {
	if r.User != "" {
		return "user\x00" + r.User
	}
	if r.ID == "" {
		r.ID = decisionlog.NewID()
	}
	return "request\x00" + r.ID
}

// checkPolicies checks that canaries and shadows are loaded, and that records have room for the shadows.
func (d *Decider) checkPolicies() error {
	var names []string
	for _, c := range d.settings.Canary {
		names = append(names, c.Policy, c.Of)
	}
	shadows := map[string]int{} // of a policy
	for _, s := range d.settings.Shadow {
		names = append(names, s.Policy, s.Of)
		shadows[cmp.Or(s.Of, d.set.Default())]++
	}
	var problems []error
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
		p.Release()
	}
	return errors.Join(problems...)
}

// userHash is what records have of a user; "" for none.
func (d *Decider) userHash(user string) string {
	if user == "" {
		return ""
	}
	h := hmac.New(sha256.New, []byte(d.settings.UserKey))
	h.Write([]byte(user))
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// ErrNoLog means that an outcome came, but decisions are not logged.
var ErrNoLog = errors.New("this server keeps no log of decisions, so outcomes have nothing to belong to")

// Outcome adds an outcome to the log. duplicate is whether it was there before. Metrics count the losses of the last
// 65,536 decisions, at least. They and the observer have seen what an outcome replaces, and do not see it again. The errors are ErrNoLog and those of
// [decisionlog.Writer.Outcome].
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
	if loss, ok := o.LossOf(); ok {
		if policy := d.recent.policy(o.ID); policy != "" {
			d.metrics.Outcome(policy, loss)
		}
	}
	if d.observer != nil {
		d.observer.Outcome(o)
	}
	return false, nil
}
