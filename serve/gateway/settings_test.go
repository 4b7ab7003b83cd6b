package gateway

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"pipe/internal/config"
	"pipe/internal/storage"
	"pipe/serve/gateway/advice"
	"pipe/serve/gateway/expert"
)

// The page's example is a valid configuration, and the page names every setting.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/gateway.md")
	if err != nil {
		t.Fatal(err)
	}
	example := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(page)
	if example == nil {
		t.Fatal("no example")
	}
	var all struct {
		Gateway yaml.Node `yaml:"gateway"`
	}
	if err := yaml.Load(example[1], &all); err != nil {
		t.Fatal(err)
	}
	text, err := yaml.Dump(&all.Gateway)
	if err != nil {
		t.Fatal(err)
	}
	s := DefaultSettings()
	if problems := config.Decode(text, storage.File("/etc"), func(string) (string, bool) { return "", false }, &s); len(problems) > 0 {
		t.Error(problems)
	}
	if s.Experts["large"].Prices != "/etc/prices.yaml" || s.Experts["small"].Timeouts != expert.DefaultSettings().Timeouts || len(s.Advice) != 3 {
		t.Errorf("%+v", s)
	}
	for _, settings := range []any{Settings{}, Fallback{}, expert.Settings{}, expert.Price{}, expert.Price{}.Special, expert.Timeouts{}, expert.BreakerSettings{}, advice.Settings{}} {
		of := reflect.TypeOf(settings)
		for i := range of.NumField() {
			if name := of.Field(i).Tag.Get("yaml"); name != ",inline" && name != "-" && !regexp.MustCompile(`[\x60.{ ]`+name+`[\x60:]`).Match(page) {
				t.Errorf("the page does not name %s of %v", name, of)
			}
		}
	}
}

// The names of token prices are also those that costs files have.
func TestTwoNamesOfPrices(t *testing.T) {
	price := func(text string) *expert.Price {
		s := DefaultSettings()
		text = `experts: {a: {base_url: "http://x", model: m, price: ` + text + `}}`
		if problems := config.Decode([]byte(text), storage.Location{}, func(string) (string, bool) { return "", false }, &s); len(problems) > 0 {
			t.Fatal(text, problems)
		}
		return s.Experts["a"].Price
	}
	want := price(`{in: 1, cached: 0.5, out: 2, call: 3}`)
	if got := price(`{prompt: 1, cached: 0.5, completion: 2, call: 3}`); !reflect.DeepEqual(got, want) || *want.Out != 2 {
		t.Errorf("%+v", got)
	}
}

func TestSettingsThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		`experts: {pipe: {base_url: "http://x", model: m}}`:                                                 `"pipe" cannot be the name`,
		`experts: {pipe/a: {base_url: "http://x", model: m}}`:                                               `"pipe/a" cannot be the name`,
		`experts: {a: {model: m}}`:                                                                          "experts.a.base_url: is not set",
		`experts: {a: {base_url: "ftp://x", model: m}}`:                                                     "is not a URL",
		`experts: {a: {base_url: "http://me:pw@x", model: m}}`:                                              "has more than scheme",
		`experts: {a: {base_url: "http://x?v=1", model: m}}`:                                                "experts.a.base_url: has a query after the ?: write it into the setting query",
		`experts: {a: {base_url: "http://x", model: m, query: {key: pw@}}}`:                                 "experts.a.query: key cannot be set here",
		`experts: {a: {base_url: "http://x"}}`:                                                              "experts.a.model: not set",
		`experts: {a: {base_url: "http://x", model: m, key: sk-123}}`:                                       "is not the name of an environment variable",
		`experts: {a: {base_url: "http://x", model: m, key: K, key_file: f}}`:                               "key, key_file: set one",
		`experts: {a: {base_url: "http://x", model: m, price: {in: -1}}}`:                                   "price.in: is -1",
		`experts: {a: {base_url: "http://x", model: m, price: {prompt: -1}}}`:                               "price.in: is -1",
		`experts: {a: {base_url: "http://x", model: m, price: {in: 1, prompt: 1}}}`:                         "has either in and out, or prompt and completion",
		`experts: {a: {base_url: "http://x", model: m, price: {in: .nan}}}`:                                 "price.in: is NaN",
		`experts: {a: {base_url: "http://x", model: m, price: {in: 1, out: 1, reasoning: -1}}}`:             "price.reasoning is -1",
		`experts: {a: {base_url: "http://x", model: m, price: {in: 1, cache_write: .nan}}}`:                 "price.cache_write is NaN",
		`experts: {a: {base_url: "http://x", model: m, price: {out: 1, audio: 1}}}`:                         "price.audio is set, but in is not",
		`experts: {a: {base_url: "http://x", model: m, price: {in: 1, cache_ttl: -5m}}}`:                    "price.cache_ttl is \"-5m0s\"",
		`experts: {a: {base_url: "http://x", model: m, price: {in: 1}, prices: f}}`:                         "price, prices: set one",
		`experts: {a: {base_url: "http://x", model: m, served: ["["]}}`:                                     "is not a pattern",
		`experts: {a: {base_url: "http://x", model: m, fields: {model: x}}}`:                                "fields: model cannot be set",
		`experts: {a: {base_url: "http://x", model: m, fields: {max_tokens: 1, max_completion_tokens: 1}}}`: "fields: max_tokens and max_completion_tokens are one field",
		`experts: {a: {base_url: "http://x", model: m, headers: {Host: x}}}`:                                `headers: "Host" cannot`,
		`experts: {a: {base_url: "http://x", model: m, headers: {X: "a\nb"}}}`:                              `headers: "X" cannot`,
		`experts: {a: {base_url: "http://x", model: m, timeouts: {idle: 0s}}}`:                              "timeouts.idle: is 0s",
		`experts: {a: {base_url: "http://x", model: m, concurrency: 0}}`:                                    "concurrency: is 0",
		`experts: {a: {base_url: "http://x", model: m, max_answer: 1}}`:                                     "max_answer: is 1",
		`experts: {a: {base_url: "http://x", model: m, modle: x}}`:                                          `unknown key "modle"`,
		`advice: {a: {kind: vector}}`:                                                                       `advice.a.kind: is "vector"`,
		`fallback: {tries: 0}`:                                                                              "fallback.tries: is 0",
		`fallback: {deadline: 0s}`:                                                                          "fallback.deadline: is 0s",
		`breaker: {failures: 0}`:                                                                            "breaker.failures: is 0",
		`breaker: {open: 0s}`:                                                                               "breaker.open: is 0s",
		`breaker: {probes: 0}`:                                                                              "breaker.probes: is 0",
		`pass_headers: [authorization]`:                                                                     `pass_headers: "authorization" belongs`,
		`without_text: [a]`:                                                                                 "without_text",
		`without_text: ""`:                                                                                  "without_text: is \"\", neither best_fixed, refuse nor a pair",
		`without_text: small`:                                                                               "neither best_fixed, refuse nor a pair",
		`pass_headers: [Proxy-Authorization]`:                                                               "belongs to the connection",
	} {
		s := DefaultSettings()
		problems := strings.Join(config.Decode([]byte(text), storage.File("/etc"), func(string) (string, bool) { return "", false }, &s), "\n")
		if !strings.Contains(problems, want) || strings.Contains(problems, "sk-123") || strings.Contains(problems, "pw@") {
			t.Errorf("%s: got %q, want %q", text, problems, want)
		}
	}
}
