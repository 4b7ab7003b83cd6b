package expert

import (
	"errors"
	"fmt"
	"maps"
	"net/textproto"
	"path"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
	"golang.org/x/net/http/httpguts"

	"pipe/costs/prices"
	"pipe/experts/fields"
	"pipe/experts/service"
	"pipe/internal/config"
	"pipe/serve/gateway/chatjson"
	"pipe/serve/gateway/protocol"
)

// Settings say where an expert is, how it is called, and what it costs.
type Settings struct {
	Kind    string `yaml:"kind"`     // the protocol of the service, see [protocol.KindOf]; "" is openai
	BaseURL string `yaml:"base_url"` // without /chat/completions
	// Query are query parameters of the URL, such as the version of the API.
	Query   map[string]string `yaml:"query"`
	Model   string            `yaml:"model"`    // its name at the service
	Served  []string          `yaml:"served"`   // other names, such as gpt-4o-*, under which the service may answer for the model
	Key     string            `yaml:"key"`      // environment variable with the key; empty: none, or that of key_file
	KeyFile config.Path       `yaml:"key_file"` // file with the key
	// Headers are extra headers of requests. Their values are treated as secrets.
	Headers map[string]service.Secret `yaml:"headers"`
	Fields  map[string]any            `yaml:"fields"`  // default values for fields of the request
	Efforts []string                  `yaml:"efforts"` // that the model accepts; empty: all of the protocol
	CAFile  config.Path               `yaml:"ca_file"` // PEM file of certificates to trust besides those of the system

	Price  *Price      `yaml:"price"`  // nil: prices has it
	Prices config.Path `yaml:"prices"` // a price file, in which models are found by the name under which they answer

	// Capabilities are what the model can take, over what the price file says of it.
	Capabilities prices.Capabilities `yaml:"capabilities"`

	Concurrency int      `yaml:"concurrency"`  // most concurrent calls; beyond that, the next best pair is tried at once
	StreamUsage bool     `yaml:"stream_usage"` // request the usage of streams even if the caller does not
	MaxAnswer   int      `yaml:"max_answer"`   // most bytes of a complete answer, and of one event of a stream
	Timeouts    Timeouts `yaml:"timeouts"`
}

// Price is money per million tokens, and per call. nil means unknown.
type Price struct {
	In             *float64 `yaml:"in"`
	Cached         *float64 `yaml:"cached"` // tokens of the prompt that the service had cached
	Out            *float64 `yaml:"out"`
	Call           *float64 `yaml:"call"` // nil: 0
	prices.Special `yaml:",inline"`
	CacheTTL       time.Duration `yaml:"cache_ttl"` // how long the service keeps what it wrote to its cache; 0: not known

	// Other names of In and Out in files; nil after reading.
	Prompt     *float64 `yaml:"prompt"`
	Completion *float64 `yaml:"completion"`
}

// UnmarshalYAML reads the prices of tokens under either of their names.
func (p *Price) UnmarshalYAML(n *yaml.Node) error {
	type plain Price // avoids recursion into this method
	if err := n.Load((*plain)(p), yaml.WithKnownFields()); err != nil {
		return err
	}
	return prices.OneName(&p.In, &p.Out, &p.Prompt, &p.Completion)
}

// Timeouts bound the phases of a call.
type Timeouts struct {
	FirstByte time.Duration `yaml:"first_byte"` // of a stream: from the last event or comment until the first content, while another expert can be tried
	Answer    time.Duration `yaml:"answer"`     // of a request without stream: until the complete answer, while another expert can be tried
	Idle      time.Duration `yaml:"idle"`       // of a stream: between two events or comments
	Whole     time.Duration `yaml:"whole"`      // until the end of a stream, and of any answer if no other expert can be tried
}

// DefaultSettings are the defaults of an expert, which has no address and no price.
func DefaultSettings() Settings {
	return Settings{
		Concurrency: 64, StreamUsage: true, MaxAnswer: 32 << 20,
		Timeouts: Timeouts{FirstByte: 2 * time.Minute, Answer: 2 * time.Minute, Idle: 2 * time.Minute, Whole: 30 * time.Minute},
	}
}

// UnmarshalYAML reads the settings over their defaults.
func (s *Settings) UnmarshalYAML(n *yaml.Node) error {
	type plain Settings // avoids recursion into this method
	v := plain(DefaultSettings())
	if err := n.Load(&v, yaml.WithKnownFields()); err != nil {
		return err
	}
	*s = Settings(v)
	return nil
}

// Shortened is BaseURL without surrounding spaces and without the path that is appended anyway; "" if it has neither.
func (s *Settings) Shortened() string {
	if k, err := protocol.KindOf(s.Kind); err != nil || k != protocol.OpenAI {
		return ""
	}
	const path = "/chat/completions"
	called := service.ChatURL(s.BaseURL)
	if called == strings.TrimRight(s.BaseURL, "/")+path {
		return ""
	}
	return strings.TrimSuffix(called, path)
}

// Limits of settings.
const (
	maxMoney  = 1e12             // of a million tokens, and of a call
	maxAnswer = 1 << 30          // bytes
	maxTime   = 24 * time.Hour   //
	minTime   = time.Millisecond //
)

// reservedFields are fields that the gateway or the caller sets.
var reservedFields = []string{"messages", "model", "n", "stream", "stream_options", "tools", "functions", "input", "system", "instructions", "previous_response_id"}

// reservedHeaders are headers that the gateway or the transport sets.
var reservedHeaders = []string{"Accept-Encoding", "Connection", "Content-Encoding", "Content-Length", "Content-Type", "Host", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// Validate reports every problem.
func (s *Settings) Validate() error {
	var p config.Problems
	if k, err := protocol.KindOf(s.Kind); err != nil {
		p.Add(fmt.Errorf("kind: %w", err))
	} else if k.Check != nil {
		p.Add(k.Check(s.BaseURL, s.Query))
	}
	if err := service.CheckBase(s.BaseURL); err != nil {
		p.Add(fmt.Errorf("base_url: %w", err))
	}
	if err := service.CheckQuery(s.Query); err != nil {
		p.Add(fmt.Errorf("query: %w", err))
	}
	p.Check(s.Model != "", "model: not set")
	p.Check(s.Key == "" || service.IsVariable(s.Key), "key: is not the name of an environment variable, in capitals; a configuration never holds the key itself")
	p.Check(s.Key == "" || s.KeyFile == "", "key, key_file: set one of them")
	p.Check(s.Price == nil || s.Prices == "", "price, prices: set one of them")
	for _, pattern := range s.Served {
		_, err := path.Match(pattern, "")
		p.Check(err == nil && pattern != "", "served: %q is not a pattern such as gpt-4o-*", pattern)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Fields)) {
		p.Check(!slices.Contains(reservedFields, name), "fields: %s cannot be set here", name)
		_, twice := s.Fields[chatjson.Alias(name)]
		p.Check(!twice || name > chatjson.Alias(name), "fields: %s and %s are one field; set one of them", chatjson.Alias(name), name)
	}
	for _, effort := range s.Efforts {
		p.Check(slices.Contains(fields.Efforts, effort), "efforts: %q is none of %s", effort, strings.Join(fields.Efforts, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		p.Check(httpguts.ValidHeaderFieldName(name) && httpguts.ValidHeaderFieldValue(string(s.Headers[name])) && !slices.Contains(reservedHeaders, textproto.CanonicalMIMEHeaderKey(name)), "headers: %q cannot be set here, or its value has control characters", name)
	}
	if s.Price != nil {
		p.Add(s.Price.validate())
	}
	p.Add(config.Under("capabilities", s.Capabilities.Validate()))
	p.Check(s.Concurrency >= 1 && s.Concurrency <= 100*service.MaxConcurrency, "concurrency: is %d, not 1 to %d", s.Concurrency, 100*service.MaxConcurrency)
	p.Check(s.MaxAnswer >= 1024 && s.MaxAnswer <= maxAnswer, "max_answer: is %d, not 1024 to %d bytes", s.MaxAnswer, maxAnswer)
	for name, d := range map[string]time.Duration{"first_byte": s.Timeouts.FirstByte, "answer": s.Timeouts.Answer, "idle": s.Timeouts.Idle, "whole": s.Timeouts.Whole} {
		p.Check(d >= minTime && d <= maxTime, "timeouts.%s: is %v, not %v to %v", name, d, minTime, maxTime)
	}
	return p.Err()
}

// validate reports amounts that are negative or too large, special prices without those that they replace, and a wrong time of the cache.
func (p *Price) validate() error {
	var problems []error
	for _, m := range []struct {
		name  string
		money *float64
	}{{"in", p.In}, {"cached", p.Cached}, {"out", p.Out}, {"call", p.Call}} {
		if m.money != nil && !(*m.money >= 0 && *m.money <= maxMoney) {
			problems = append(problems, fmt.Errorf("price.%s: is %v, not 0 to %g", m.name, *m.money, float64(maxMoney)))
		}
	}
	return errors.Join(append(problems, config.Under("price", p.period().ValidateSpecial()))...)
}

// period converts the price to the form of price files.
func (p *Price) period() prices.Period {
	out := prices.Period{In: p.In, Cached: p.Cached, Out: p.Out, Special: p.Special, Call: p.Call}
	if p.CacheTTL != 0 {
		out.CacheTTL = p.CacheTTL.String()
	}
	return out
}

// Missing returns the names of the token prices that are not set. The fee of an answer with such tokens is not known.
func (p *Price) Missing() (names []string) {
	for _, m := range []struct {
		name  string
		money *float64
	}{{"in", p.In}, {"cached", p.Cached}, {"out", p.Out}} {
		if m.money == nil {
			names = append(names, m.name)
		}
	}
	return names
}
