package serve

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pipe/internal/config"
	"pipe/serve/gateway/expert"
	"pipe/serve/gateway/gatewaytest"
)

// The price file of an expert is read again when it changes. One that cannot be used changes nothing, which the log and the
// metrics say. A model that answers without being the configured one costs what it costs itself.
func TestPricesOfExpertsWhileServing(t *testing.T) {
	service, file := gatewaytest.New(t), filepath.Join(t.TempDir(), "prices.yaml")
	list := func(currency string, small float64) string {
		return fmt.Sprintf("currency: %s\nmodels: {m: [{in: %g, cached: %g, out: 0}], other: [{in: 700, cached: 700, out: 0}]}\n", currency, small, small)
	}
	putPrices(t, file, list("USD", 1))
	r := start(t, func(c *Config) {
		e := expert.DefaultSettings()
		e.BaseURL, e.Model, e.Prices = service.Base(), "m", config.Path(file)
		c.Gateway.Experts, c.Policies.Settle = map[string]expert.Settings{"small": e}, 10*time.Millisecond
	}, nil)
	figure := func(name string) (v float64) {
		t.Helper()
		_, _, text := r.do(t, "GET", "/metrics", "")
		for line := range strings.Lines(text) {
			if rest, ok := strings.CutPrefix(line, name+" "); ok {
				fmt.Sscan(rest, &v)
			}
		}
		return v
	}
	paid := 0.0
	ask := func() (fee float64, header http.Header) {
		t.Helper()
		code, header, body := r.do(t, "POST", "/v1/chat/completions", `{"model":"small","messages":[{"role":"user","content":"x"}]}`, "Content-Type", "application/json")
		if code != 200 {
			t.Fatalf("%d %s", code, body)
		}
		before := paid
		paid = figure(`pipe_fees_total{expert="small"}`)
		return paid - before, header
	}
	near := func(fee, want float64) bool { return fee > want*0.999999 && fee < want*1.000001 }
	if fee, _ := ask(); !near(fee, 0.001) {
		t.Errorf("1000 tokens at 1 cost %g", fee)
	}
	putPrices(t, file, list("USD", 3))
	waitFor(t, func() bool { fee, _ := ask(); return near(fee, 0.003) })
	for n, bad := range []string{"currency: [", list("EUR", 9), ""} {
		putPrices(t, file, bad)
		waitFor(t, func() bool { return figure(`pipe_expert_price_file_loads_total{ok="false"}`) == float64(n+1) })
		if fee, _ := ask(); !near(fee, 0.003) {
			t.Errorf("after %q 1000 tokens at 3 cost %g", bad, fee)
		}
	}
	if log := r.log.String(); strings.Count(log, "a file that changed was refused") != 3 || !strings.Contains(log, "the prices are in EUR now, and were in USD") {
		t.Error(log)
	}
	putPrices(t, file, list("USD", 5))
	waitFor(t, func() bool { fee, _ := ask(); return near(fee, 0.005) })
	for model, want := range map[string]float64{"other": 0.7, "unheard-of": 0} {
		service.Model = model
		others := figure(`pipe_other_model_total{expert="small"}`)
		if fee, h := ask(); fee != 0 && !near(fee, want) || fee == 0 && want != 0 || h.Get("X-Pipe-Served-Model") != model || figure(`pipe_other_model_total{expert="small"}`) != others+1 {
			t.Errorf("%s: %g, %v", model, fee, h)
		}
		if log := r.log.String(); !strings.Contains(log, fmt.Sprintf(`"served":%q,"price_known":%t`, model, want > 0)) {
			t.Error(log)
		}
	}
}
