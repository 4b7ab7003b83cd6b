package expert

import (
	"math"
	"testing"
	"time"

	"pipe/costs/prices"
)

// The price of a token follows the length of the prompt, and is not known where one of the prices is missing.
func TestPromptPrice(t *testing.T) {
	money := func(v float64) *float64 { return &v }
	e := &Expert{cfg: Settings{Model: "m", Price: &Price{In: money(3), Cached: money(0.3), Out: money(15), Call: money(7), Special: prices.Special{CacheWrite: money(3.75)}, CacheTTL: time.Hour}}}
	p, ok := e.PromptPrice(1000, time.Now())
	if !ok || !near(p.In, 3e-6) || !near(p.Read, 0.3e-6) || !near(p.Write, 3.75e-6) || p.TTL != time.Hour {
		t.Errorf("%+v %v", p, ok)
	}
	used := Usage{Known: true, CachedKnown: true}
	used.In, used.Cached, used.Written, used.Out = 1000, 600, 300, 500
	if got, ok := e.PromptMoney("m", used, time.Now()); !ok || !near(got, (100*3+600*0.3+300*3.75)/1e6) {
		t.Errorf("%v %v", got, ok)
	}
	if got, ok := e.PromptMoney("other", used, time.Now()); ok {
		t.Errorf("another model costs %v", got)
	}
	e.cfg.Price.CacheWrite = nil
	if p, ok = e.PromptPrice(1000, time.Now()); !ok || p.Write != p.In {
		t.Errorf("%+v %v", p, ok)
	}
	e.cfg.Price.Cached = nil
	if p, ok = e.PromptPrice(1000, time.Now()); ok {
		t.Errorf("%+v without the price of cached tokens", p)
	}
	e.table.Store(&prices.Table{Currency: "USD", Models: map[string][]prices.Period{"m": {{In: money(1), Cached: money(0.1), CacheTTL: "10m", Above: []prices.Tier{{Tokens: 500, In: money(2), Cached: money(0.2)}}}}}})
	short, _ := e.PromptPrice(400, time.Now())
	long, ok := e.PromptPrice(600, time.Now())
	if !ok || !near(short.In, 1e-6) || !near(long.In, 2e-6) || !near(long.Read, 0.2e-6) || long.TTL != 10*time.Minute {
		t.Errorf("%+v %+v", short, long)
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-12 }
