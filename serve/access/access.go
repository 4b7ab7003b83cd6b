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

// Access knows the keys and what each has used. All methods are safe for concurrent use.
type Access struct {
	settings Settings
	secrets  *Secrets
	metrics  *metrics.Metrics
	now      func() time.Time
	open     map[string]bool
	anybody  *Caller // who calls where no keys are configured
	keys     atomic.Pointer[[]known]
	reloads  sync.Mutex // held by Reload
}

// known is a key without its secret.
type known struct {
	digest [32]byte
	caller *Caller
}

// New reads the keys of the settings and of their file, and adds them to what logs hide. Problems of the file are a
// *config.Error. The secrets and the metrics may be nil.
func New(s Settings, secrets *Secrets, m *metrics.Metrics) (*Access, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	a := &Access{settings: s, secrets: secrets, metrics: m, now: time.Now, open: map[string]bool{}, anybody: anybody}
	for _, name := range s.Open {
		a.open[name] = true
	}
	a.keys.Store(&[]known{})
	if err := a.Reload(); err != nil {
		return nil, err
	}
	return a, a.restore()
}

// Reload reads the file of keys again. Keys of the same name keep what they have used. After an error the old keys stay.
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
	list, secrets := make([]known, len(keys)), make([]string, len(keys))
	for i, k := range keys {
		d, err := k.digest()
		if err != nil {
			return err
		}
		list[i], secrets[i] = known{d, a.caller(k, before[k.Name])}, k.Key
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
	if err := config.Load(string(s.KeysFile), &file); err != nil {
		return nil, err
	}
	keys = append(keys, file.Keys...)
	if err := validateKeys(keys); err != nil {
		return nil, &config.Error{File: string(s.KeysFile), Problems: config.Lines(err)}
	}
	if len(file.Keys) == 0 { // an emptied file must not open the server to everybody
		return nil, &config.Error{File: string(s.KeysFile), Problems: []string{"there are no keys"}}
	}
	return keys, nil
}

// caller makes the caller of a key. It goes on with what an earlier caller of that name has used.
func (a *Access) caller(k Key, before *Caller) *Caller {
	period := k.Period
	if period == 0 {
		period = 24 * time.Hour
	}
	c := &Caller{Name: k.Name, Admin: k.Admin, metrics: a.metrics, now: a.now, quota: Quota{k.Tokens, k.Money, period}, account: &account{}}
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

// TrustAnybody says whether callers without a key may change the server, where no keys are configured. By default they may. It
// must be called before the first request.
func (a *Access) TrustAnybody(yes bool) {
	a.anybody = &Caller{Admin: yes, now: time.Now, account: &account{}}
}

// Needed reports whether callers need a key.
func (a *Access) Needed() bool { return len(*a.keys.Load()) > 0 }

// owner returns the owner of a key, nil if there is none. Every key is compared in constant time, so the time does not
// say how much of a digest was right.
func (a *Access) owner(key string) *Caller {
	d := Digest(key)
	var found *Caller
	for _, k := range *a.keys.Load() {
		if subtle.ConstantTimeCompare(k.digest[:], d[:]) == 1 {
			found = k.caller
		}
	}
	return found
}

// Refusal is why a request is not served.
type Refusal struct {
	Reason string        // one word: key, admin, queue, rate, tokens, money
	Wait   time.Duration // after which it may be sent again; 0: never as it is
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

// Admit returns who sends a request with the key. The error is a *Refusal.
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

// Admin returns why unless the caller of the context may change the server.
func Admin(ctx context.Context) *Refusal {
	if CallerOf(ctx).Admin {
		return nil
	}
	return &Refusal{Reason: "admin"}
}

// asRefusal returns the refusal of an error of Admit.
func asRefusal(err error) *Refusal {
	var r *Refusal
	if errors.As(err, &r) {
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
