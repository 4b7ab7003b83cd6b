package chat

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strings"

	"pipe/costs/builder/part"
	"pipe/costs/language"
	"pipe/costs/service"
)

// EndpointSettings say which model is asked, and how. A pointer is nil where the
// field is not sent.
type EndpointSettings struct {
	BaseURL     string         `json:"base_url"`    // up to and without /chat/completions
	Model       string         `json:"model"`       // as the service calls it
	Key         string         `json:"key"`         // name of the environment variable that holds the key; "": none is sent
	Temperature *float64       `json:"temperature"` //
	MaxTokens   *int           `json:"max_tokens"`  // of an answer
	Seed        *int64         `json:"seed"`        //
	Extra       map[string]any `json:"extra"`       // more fields of the request

	Price          *TokenPrice `json:"price"`           // nil: nothing is measured
	FeeScale       float64     `json:"fee_scale"`       // measured fee of an answer per unit of money
	EstimateTokens bool        `json:"estimate_tokens"` // prices hold for estimates too

	Timeout           float64   `json:"timeout"`             // of a request, in seconds
	Concurrency       int       `json:"concurrency"`         // requests at a time
	RequestsPerSecond float64   `json:"requests_per_second"` // 0: as many as there are
	TokensPerMinute   float64   `json:"tokens_per_minute"`   // prompts and answers; 0: as many as there are
	CAFile            part.Path `json:"ca_file,omitempty"`   // PEM file of certificates that are trusted beside those of the system
	service.RetrySettings
}

// TokenPrice is what a million tokens cost.
type TokenPrice struct {
	Prompt     float64 `json:"prompt"`
	Completion float64 `json:"completion"`
}

// of returns what a prompt and an answer of these tokens cost; without a price, nothing.
func (p *TokenPrice) of(prompt, completion int) float64 {
	if p == nil {
		return 0
	}
	return (float64(prompt)*p.Prompt + float64(completion)*p.Completion) / 1e6
}

func DefaultEndpointSettings() EndpointSettings {
	greedy, short := 0.0, 64
	return EndpointSettings{
		Temperature: &greedy, MaxTokens: &short, FeeScale: 1,
		Timeout: 120, Concurrency: 4, RetrySettings: service.RetrySettings{Retries: 6, Backoff: 1},
	}
}

// identity is what the answers and their fees depend on.
func (cfg *EndpointSettings) identity() any {
	c := *cfg
	c.Key, c.Timeout, c.Concurrency, c.RequestsPerSecond, c.TokensPerMinute, c.RetrySettings = "", 0, 0, 0, 0, service.RetrySettings{}
	c.BaseURL, c.CAFile = cfg.url(), ""
	return c
}

func (cfg *EndpointSettings) url() string {
	return strings.TrimRight(cfg.BaseURL, "/") + "/chat/completions"
}

// ownFields are set by other settings, or would give an answer of another form.
var ownFields = []string{"max_tokens", "messages", "model", "n", "seed", "stream", "temperature"}

// validate reports every problem. With a budget, everything must have a price
// and an end.
func (cfg *EndpointSettings) validate(budget bool) error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if err := checkURL(cfg.BaseURL); err != nil {
		add("base_url %w", err)
	}
	if cfg.Model == "" {
		add("model: none is named")
	}
	if cfg.Key != "" && !service.IsVariable(cfg.Key) {
		add("key is not the name of an environment variable, in capitals; the key itself never stands in a configuration")
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Extra)) {
		if slices.Contains(ownFields, name) {
			add("extra: %s cannot be set there", name)
		}
	}
	cfg.checkNumbers(add)
	if budget && cfg.Price == nil {
		add("price: none is set, so that a budget says nothing; a model that costs nothing has price: {prompt: 0, completion: 0}")
	}
	if budget && cfg.mostTokens() == 0 {
		add("max_tokens: none is set; a budget needs it, since it bounds what an answer may cost")
	}
	return errors.Join(problems...)
}

// What bounds fees and counts, so that sums stay far from what their types hold.
const (
	mostMoney     = 1e12 // of a million tokens; and the largest fee_scale
	mostPerMinute = 1e12 // tokens
)

func (cfg *EndpointSettings) checkNumbers(add func(string, ...any)) {
	for _, n := range []struct {
		name        string
		value, most float64
	}{
		{"fee_scale", cfg.FeeScale, mostMoney},
		{"timeout", cfg.Timeout, service.MaxTimeout},
		{"backoff", cfg.Backoff, service.MaxBackoff},
		{"concurrency", float64(cfg.Concurrency), service.MaxConcurrency},
	} {
		if !(n.value > 0 && n.value <= n.most) {
			add("%s is %v; it must be positive, and at most %v", n.name, n.value, n.most)
		}
	}
	if cfg.Retries < 0 || cfg.Retries > service.MaxRetries {
		add("retries is %d; 0 to %d are possible", cfg.Retries, service.MaxRetries)
	}
	if r := cfg.RequestsPerSecond; r != 0 && !(r >= 1e-6 && r <= 1e9) {
		add("requests_per_second is %v; from 0.000001 to 1e9, or 0 for no limit", r)
	}
	if t := cfg.TokensPerMinute; t != 0 && !(t >= 60 && t <= mostPerMinute) {
		add("tokens_per_minute is %v; at least 60 are needed, at most %v, or 0 for no limit", t, float64(mostPerMinute))
	}
	if m := cfg.MaxTokens; m != nil && (*m <= 0 || *m > maxTokens) {
		add("max_tokens is %d; 1 to %d are possible", *m, maxTokens)
	}
	if p := cfg.Price; p != nil {
		for _, money := range []float64{p.Prompt, p.Completion} {
			if !(money >= 0 && money <= mostMoney) {
				add("price: %v for a million tokens; it cannot be negative, or more than %v", money, float64(mostMoney))
			}
		}
	}
}

// checkURL wants a plain URL. What is wrong with it is not repeated: it may hold
// a password.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return errors.New("is not set")
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("is not a URL such as https://host/v1")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("has more than scheme, host and path: a key belongs into an environment variable, which the setting key names")
	}
	return nil
}

// key returns the key of the environment.
func (e *endpoint) key() (service.Secret, error) {
	if e.cfg.Key == "" {
		return "", nil
	}
	key, err := service.ReadSecret(e.cfg.Key)
	if err != nil {
		return "", e.fault(0, "%v", err).Advise("put the key of the service into it")
	}
	return key, nil
}

// mostTokens is the longest answer that there can be, 0 if nothing bounds it.
func (cfg *EndpointSettings) mostTokens() int {
	if cfg.MaxTokens != nil {
		return *cfg.MaxTokens
	}
	if n, ok := cfg.Extra["max_completion_tokens"].(float64); ok && n > 0 && n < math.MaxInt32 {
		return int(n)
	}
	return 0
}

// charactersPerToken is the estimate where a service does not count tokens.
const charactersPerToken = 4

// characters counts the characters of a prompt.
func characters(c language.Conversation) int {
	n := 0
	for _, m := range c {
		n += len([]rune(m.Content))
	}
	return n
}

// mostPromptTokens bounds the tokens of a prompt: no token is shorter than a byte, and
// a template puts a few around every message.
func mostPromptTokens(c language.Conversation) int {
	n := 0
	for _, m := range c {
		n += len(m.Content) + 16
	}
	return n
}
