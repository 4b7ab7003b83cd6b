package access

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"pipe/internal/config"
	"pipe/serve/metrics"
)

// Access has the keys of callers and the usage of each. All methods are safe for concurrent use.
type Access struct {
	settings Settings
	secrets  *Secrets
	metrics  *metrics.Metrics
	now      func() time.Time
	open     map[string]bool
	anybody  *Caller // the caller of every request if no keys are configured
	keys     atomic.Pointer[[]knownKey]
	reloads  sync.Mutex // held by Reload
}

// knownKey is the digest of a key, and its owner.
type knownKey struct {
	digest [32]byte
	caller *Caller
}

// New reads the keys of the settings and of their file, and adds them to the secrets that logs hide. Problems of the file
// are a *config.Error. The secrets and the metrics may be nil.
func New(s Settings, secrets *Secrets, m *metrics.Metrics) (*Access, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	a := &Access{settings: s, secrets: secrets, metrics: m, now: time.Now, open: map[string]bool{}, anybody: anybody}
	for _, name := range s.Open {
		a.open[name] = true
	}
	a.keys.Store(&[]knownKey{})
	if err := a.Reload(); err != nil {
		return nil, err
	}
	return a, a.restore()
}

// Reload reads the file of keys again. The usage of a key is kept under its name. After an error the old keys stay valid.
func (a *Access) Reload() error {
	a.reloads.Lock()
	defer a.reloads.Unlock()
	keys, err := a.settings.read()
	if err != nil {
		return err
	}
	before := map[string]*Caller{}
	for _, k := range *a.keys.Load() {
		before[k.caller.Name] = k.caller
	}
	list, secrets := make([]knownKey, len(keys)), make([]string, len(keys))
	for i, k := range keys {
		d, err := k.digest()
		if err != nil {
			return err
		}
		list[i], secrets[i] = knownKey{d, a.caller(k, before[k.Name])}, k.Key
	}
	a.secrets.Set("callers", secrets)
	a.keys.Store(&list)
	return nil
}

// read returns the keys of the settings and of their file.
func (s Settings) read() ([]Key, error) {
	keys := append([]Key(nil), s.Keys...)
	if s.KeysFile == "" {
		return keys, nil
	}
	var file struct {
		Keys []Key `yaml:"keys"`
	}
	if err := config.Load(context.Background(), s.KeysFile.Location(), &file); err != nil {
		return nil, err
	}
	keys = append(keys, file.Keys...)
	if err := validateKeys(keys); err != nil {
		return nil, &config.Error{File: string(s.KeysFile), Problems: config.Lines(err)}
	}
	if len(file.Keys) == 0 { // without any key, every caller would be let in
		return nil, &config.Error{File: string(s.KeysFile), Problems: []string{"there are no keys"}}
	}
	return keys, nil
}

// caller makes the caller of a key. It shares the account of an earlier caller of the same name.
func (a *Access) caller(k Key, before *Caller) *Caller {
	period := k.Period
	if period == 0 {
		period = 24 * time.Hour
	}
	c := &Caller{Name: k.Name, Admin: k.Admin, metrics: a.metrics, now: a.now, quota: quota{k.Tokens, k.Money, period}, account: &account{}}
	if k.Rate > 0 {
		burst := k.Burst
		if burst == 0 {
			burst = max(1, int(min(k.Rate, 1e6)))
		}
		c.limiter = rate.NewLimiter(rate.Limit(k.Rate), burst)
	}
	if before != nil {
		c.account = before.account
	}
	return c
}

// TrustAnybody sets whether every caller may administer the server if no keys are configured. The default is true. It must
// be called before the first request.
func (a *Access) TrustAnybody(yes bool) {
	a.anybody = &Caller{Admin: yes, now: time.Now, account: &account{}}
}

// Needed reports whether callers need a key.
func (a *Access) Needed() bool { return len(*a.keys.Load()) > 0 }

// owner returns the owner of a key, nil if there is none. It compares every key in constant time, so that the time does not
// reveal how much of a digest matched.
func (a *Access) owner(key string) *Caller {
	d := digestOf(key)
	var found *Caller
	for _, k := range *a.keys.Load() {
		if subtle.ConstantTimeCompare(k.digest[:], d[:]) == 1 {
			found = k.caller
		}
	}
	return found
}

// Refusal is the reason why a request is refused.
type Refusal struct {
	Reason string        // one word: key, admin, queue, rate, tokens, money
	Wait   time.Duration // after which it may be retried; 0: retrying does not help
}

func (r *Refusal) Error() string {
	switch r.Reason {
	case "key":
		return "the request needs a key of this server: send it as \"Authorization: Bearer KEY\" or as \"x-api-key: KEY\""
	case "admin":
		return "this key may not change the server; ask for one with admin: true"
	case "queue":
		return "the server is busy; send the request again later"
	case "rate":
		return fmt.Sprintf("this key sends more requests than its rate allows; send it again after %v", r.Wait.Round(time.Millisecond))
	default:
		return fmt.Sprintf("this key has used the %s of its period; the next period begins in %v", r.Reason, r.Wait.Round(time.Second))
	}
}

// Admit checks the key of a request and counts the request against the limits of its owner, who is returned. The error is
// a *Refusal.
func (a *Access) Admit(key string) (*Caller, error) {
	if !a.Needed() {
		return a.anybody, nil
	}
	c := a.owner(key)
	if c == nil {
		return nil, a.refuse("key", 0)
	}
	if reason, wait := c.admit(); reason != "" {
		return nil, a.refuse(reason, wait)
	}
	return c, nil
}

func (a *Access) refuse(reason string, wait time.Duration) error {
	a.metrics.Refused(reason)
	return &Refusal{reason, wait}
}

// Admin returns a Refusal if the caller of the context may not administer the server.
func Admin(ctx context.Context) *Refusal {
	if CallerOf(ctx).Admin {
		return nil
	}
	return &Refusal{Reason: "admin"}
}

// asRefusal returns the Refusal in an error.
func asRefusal(err error) *Refusal {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r
	}
	return &Refusal{Reason: "key"}
}

// Callers are the owners of all keys, in the order of the configuration.
func (a *Access) Callers() []*Caller {
	var all []*Caller
	for _, k := range *a.keys.Load() {
		all = append(all, k.caller)
	}
	return all
}
