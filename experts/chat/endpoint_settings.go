package chat

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"pipe/costs/prices"
	"pipe/experts/builder/part"
	"pipe/experts/fields"
	"pipe/experts/language"
	"pipe/experts/service"
)

// EndpointSettings define the model and the requests. A nil pointer means that
// the field is not sent.
type EndpointSettings struct {
	BaseURL string `json:"base_url"` // without /chat/completions
	// Query is what requests have after the ? of the URL, such as the version of the API.
	Query       map[string]string `json:"query,omitempty"`
	Model       string            `json:"model"`       // its name at the service
	Key         string            `json:"key"`         // name of the environment variable that holds the key; "": none is sent
	Temperature *float64          `json:"temperature"` //
	MaxTokens   *int              `json:"max_tokens"`  // of an answer
	Seed        *int64            `json:"seed"`        //
	Extra       map[string]any    `json:"extra"`       // additional fields of the request

	ResponseFormat map[string]any `json:"response_format,omitempty"` // as the service takes it: type json_object, or json_schema

	Price          *TokenPrice `json:"price"`           // nil: no fees are measured
	FeeScale       float64     `json:"fee_scale"`       // measured fee of an answer per unit of money
	EstimateTokens bool        `json:"estimate_tokens"` // apply prices to estimated tokens too

	Timeout           float64   `json:"timeout"`             // of a request, in seconds
	Concurrency       int       `json:"concurrency"`         // concurrent requests
	RequestsPerSecond float64   `json:"requests_per_second"` // 0: no limit
	TokensPerMinute   float64   `json:"tokens_per_minute"`   // of prompts and answers; 0: no limit
	CAFile            part.Path `json:"ca_file,omitempty"`   // PEM file of certificates to trust in addition to the system's
	service.RetrySettings
}

// TokenPrice is the price of a million tokens; nil is 0.
type TokenPrice struct {
	Prompt     *float64 `json:"prompt"`
	Completion *float64 `json:"completion"`
	Currency   string   `json:"currency,omitempty"` // of both, such as USD; "": not said

	// Other names of Prompt and Completion in settings; nil after settle.
	In  *float64 `json:"in,omitempty"`
	Out *float64 `json:"out,omitempty"`
}

// settle takes the prices from either of their names, and 0 for those that are not set.
func (p *TokenPrice) settle() error {
	free := 0.0
	err := prices.OneName(&p.Prompt, &p.Completion, &p.In, &p.Out)
	p.Prompt, p.Completion = cmp.Or(p.Prompt, &free), cmp.Or(p.Completion, &free)
	return err
}

// of returns the cost of a prompt and an answer with these tokens; 0 without a price.
func (p *TokenPrice) of(prompt, completion int) float64 {
	if p == nil {
		return 0
	}
	return (float64(prompt)**p.Prompt + float64(completion)**p.Completion) / 1e6
}

// period is the price as price files have it. Cached tokens are charged as others of the prompt.
func (p *TokenPrice) period() prices.Period {
	return prices.Period{In: p.Prompt, Cached: p.Prompt, Out: p.Completion}
}

// DefaultEndpointSettings are the defaults of docs/endpoints.md.
func DefaultEndpointSettings() EndpointSettings {
	greedy, short := 0.0, 64
	return EndpointSettings{
		Temperature: &greedy, MaxTokens: &short, FeeScale: 1,
		Timeout: 120, Concurrency: 4, RetrySettings: service.RetrySettings{Retries: 6, Backoff: 1},
	}
}

// identity are the settings that answers and their fees depend on.
func (cfg *EndpointSettings) identity() any {
	c := *cfg
	c.Key, c.Timeout, c.Concurrency, c.RequestsPerSecond, c.TokensPerMinute, c.RetrySettings = "", 0, 0, 0, 0, service.RetrySettings{}
	c.BaseURL, c.CAFile = cfg.url(), ""
	return c
}

// url is the address without its query.
func (cfg *EndpointSettings) url() string {
	return service.ChatURL(cfg.BaseURL)
}

// ownFields are set by other settings, or would change the form of the answer: no tool is ever offered.
var ownFields = []string{
	"function_call", "functions", "max_tokens", "messages", "model", "n", "parallel_tool_calls", "response_format", "seed", "stream",
	"temperature", "tool_choice", "tools",
}

// validate reports every problem. A budget requires a price and max_tokens.
func (cfg *EndpointSettings) validate(budget bool) error {
	var problems []error
	add := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if err := service.CheckBase(cfg.BaseURL); err != nil {
		add("base_url %w", err)
	}
	if err := service.CheckQuery(cfg.Query); err != nil {
		add("query: %w", err)
	}
	if cfg.Model == "" {
		add("model: not set")
	}
	if cfg.Key != "" && !service.IsVariable(cfg.Key) {
		add("key is not the name of an environment variable, in capitals; a configuration never holds the key itself")
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Extra)) {
		if slices.Contains(ownFields, name) {
			add("extra: %s cannot be set here", name)
		}
	}
	if err := checkFormat(cfg.ResponseFormat); err != nil {
		add("response_format: %w", err)
	}
	cfg.checkNumbers(add)
	if budget && cfg.Price == nil {
		add("price: not set, but a budget needs it; for a free model set price: {prompt: 0, completion: 0}")
	}
	if budget && cfg.mostTokens() == 0 {
		add("max_tokens: not set, but a budget needs it, since it limits the cost of an answer")
	}
	return errors.Join(problems...)
}

// Limits of prices and rates, so that sums do not overflow.
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
		add("retries is %d, not 0 to %d", cfg.Retries, service.MaxRetries)
	}
	if r := cfg.RequestsPerSecond; r != 0 && !(r >= 1e-6 && r <= 1e9) {
		add("requests_per_second is %v, not 0.000001 to 1e9, or 0 for no limit", r)
	}
	if t := cfg.TokensPerMinute; t != 0 && !(t >= 60 && t <= mostPerMinute) {
		add("tokens_per_minute is %v, not 60 to %v, or 0 for no limit", t, float64(mostPerMinute))
	}
	if m := cfg.MaxTokens; m != nil && (*m <= 0 || *m > maxTokens) {
		add("max_tokens is %d, not 1 to %d", *m, maxTokens)
	}
	if p := cfg.Price; p != nil {
		if err := p.settle(); err != nil {
			add("price: %w", err)
		}
		for _, money := range []float64{*p.Prompt, *p.Completion} {
			if !(money >= 0 && money <= mostMoney) {
				add("price: %v for a million tokens; it must be 0 to %v", money, float64(mostMoney))
			}
		}
		if p.Currency != "" && !prices.IsCurrency(p.Currency) {
			add("price: currency is %q; it must be a short word, such as USD", p.Currency)
		}
	}
}

// checkFormat checks what a response_format must have; the service checks a schema.
func checkFormat(format map[string]any) error {
	if format == nil {
		return nil
	}
	schema, _ := format["json_schema"].(map[string]any)
	name, _ := schema["name"].(string)
	_, written := schema["schema"].(map[string]any)
	switch kind := format["type"]; {
	case kind != "json_object" && kind != "json_schema" && kind != "text":
		return fmt.Errorf("type is %q; it must be json_object, json_schema or text", fmt.Sprint(kind))
	case kind == "json_schema" && (name == "" || !written):
		return errors.New("type json_schema needs json_schema with a name and a schema")
	case kind != "json_schema" && len(format) > 1:
		return fmt.Errorf("type %s has no other keys", kind)
	}
	return nil
}

// key returns the key from the environment.
func (e *endpoint) key() (service.Secret, error) {
	if e.cfg.Key == "" {
		return "", nil
	}
	key, err := service.ReadSecret(e.cfg.Key)
	if err != nil {
		return "", e.fault(0, "%v", err).Advise("set it to the key of the service")
	}
	return key, nil
}

// otherMaxTokens is another name of max_tokens, which some services want. In extra it takes the place of max_tokens.
const otherMaxTokens = "max_completion_tokens"

// mostTokens is the limit on tokens of an answer, 0 if there is none.
func (cfg *EndpointSettings) mostTokens() int {
	if _, other := cfg.Extra[otherMaxTokens]; !other && cfg.MaxTokens != nil {
		return *cfg.MaxTokens
	}
	return mostTokens(cfg.Extra)
}

// mostTokens is the limit on tokens of the answer to a request with these fields, 0 if there is none.
func mostTokens(content map[string]any) int {
	limit, ok := content[otherMaxTokens]
	if !ok {
		limit = content["max_tokens"]
	}
	n, _ := fields.Count(limit)
	return n
}

// charactersPerToken is the estimate for a service that does not count tokens.
const charactersPerToken = 4

// characters counts the characters of a prompt.
func characters(c language.Conversation) int {
	n := 0
	for _, m := range c {
		n += len([]rune(m.Content))
	}
	return n
}

// mostPromptTokens is an upper bound on the tokens of a prompt: no token is
// shorter than a byte, and a template adds a few per message.
func mostPromptTokens(c language.Conversation) int {
	n := 0
	for _, m := range c {
		n += len(m.Content) + 16
	}
	return n
}
