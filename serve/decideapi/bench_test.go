package decideapi

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/models/estimate"
	"pipe/models/policy"
	"pipe/pipeline/decide/decidetest"
)

// wide is an any-price policy with many experts, each under five kinds of advice.
func wide(experts int) *policy.Policy {
	p := decidetest.AnyPrice(dim)
	a := &costs.Actions{Advice: []costs.Advice{{Name: "none"}}}
	for j := range experts {
		a.Experts = append(a.Experts, costs.Expert{Name: fmt.Sprintf("expert-%d", j), Fee: 0.01 * float64(j)})
	}
	for k := range 4 {
		a.Advice = append(a.Advice, costs.Advice{Name: fmt.Sprintf("advice-%d", k), Fee: 0.01})
	}
	e := *p.Estimate
	e.Constant = make([]float64, a.Len())
	for i := range e.Constant {
		e.Constant[i] = 1 / float64(i+1)
	}
	e.Blend = estimate.Blend{Parts: []estimate.Part{{Weight: 1, Estimator: estimate.NewConstant(e.Constant, dim)}}}
	p.Actions, p.Estimate = a, &e
	return p
}

// BenchmarkDecide is a whole request for one row, from the bytes of its JSON to those of the answer, without a network.
func BenchmarkDecide(b *testing.B) {
	o := defaults()
	maps.Copy(o.policies, map[string]*policy.Policy{"wide": wide(60)})
	w := newWorld(b, o)
	var all []string // fees of all pairs
	for i := range 300 {
		all = append(all, fmt.Sprintf(`"expert-%d/%s": 0.%d`, i/5, []string{"none", "advice-0", "advice-1", "advice-2", "advice-3"}[i%5], i+1))
	}
	for _, c := range []struct{ name, members string }{
		{"file", `"policy": "any"`},
		{"fixed/unavailable", `"policy": "fixed", "unavailable": {"experts": ["c"]}`},
		{"lambda", `"prices": {"lambda": 0.5}`},
		{"fee", `"prices": {"experts": {"c": 0.4}}`},
		{"fees", `"prices": {"lambda": 0.5, "experts": {"c": 0.4, "a, or b": 0.3}, "advice": {"short": 0.01}}, "unavailable": {"pairs": ["\"quoted\"/none"]}`},
		{"wide/lambda", `"policy": "wide", "prices": {"lambda": 0.5}`},
		{"wide/fees", `"policy": "wide", "prices": {"experts": {"expert-3": 0.4, "expert-50": 0.3}, "advice": {"advice-2": 0.05}}, "unavailable": {"experts": ["expert-7", "expert-8"]}`},
		{"wide/pairs", `"policy": "wide", "prices": {"pairs": {` + strings.Join(all, ", ") + `}}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			body := `{"features": [0.1, -0.2, 0.3, 0.4, -0.5, 0.6], "top": 1, ` + c.members + `}`
			b.ReportAllocs()
			for b.Loop() {
				answer, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/v1/decide", strings.NewReader(body))
				r.Header.Set("Content-Type", "application/json")
				w.server.Config.Handler.ServeHTTP(answer, r)
				if answer.Code != http.StatusOK {
					b.Fatal(answer.Code, answer.Body)
				}
			}
		})
	}
}
