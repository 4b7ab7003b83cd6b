package gateway

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"pipe/models/policy"
	"pipe/serve/decision"
)

// anyPrice is a world whose default policy takes prices: its expected losses are 0.4 of small/none, 0.1 of small/search, 0.3 of
// large/none and 0.2 of large/search, and no fees.
func anyPrice(t *testing.T, change func(*Settings)) *world {
	t.Helper()
	return newWorldOf(t, nil, change, func(folder string, _ *decision.Settings) {
		writeAnyPrice(t, folder, "claims", func(*policy.Policy) {})
	})
}

// What a caller wants of a decision is in headers or in a field of the body, with the meaning of POST /v1/decide. The expert gets
// neither.
func TestWishes(t *testing.T) {
	for name, c := range map[string]struct {
		field, pair string
		header      []string
	}{
		"nothing":             {pair: "small/search"},
		"no expert":           {pair: "large/search", header: []string{"X-Pipe-Without", "expert=small"}},
		"no advice":           {pair: "large/none", header: []string{"X-Pipe-Without", "advice=search"}},
		"no pairs":            {pair: "small/none", header: []string{"X-Pipe-Without", "expert=large, pair=small/search"}},
		"twice":               {pair: "small/none", header: []string{"X-Pipe-Without", "expert=large,expert=large,pair=small/search"}},
		"a fee":               {pair: "large/search", header: []string{"X-Pipe-Fees", "expert=small:0.5"}},
		"fees":                {pair: "large/none", header: []string{"X-Pipe-Fees", "expert=small:0.5,advice=search:0.2", "X-Pipe-Lambda", "1"}},
		"lambda of 0":         {pair: "large/search", header: []string{"X-Pipe-Fees", "expert=small:0.5,advice=search:0.2", "X-Pipe-Lambda", "0"}},
		"field":               {pair: "large/search", field: `{"unavailable":{"experts":["small"]}}`},
		"prices in the field": {pair: "large/none", field: `{"prices":{"experts":{"small":0.5},"advice":{"search":0.2},"lambda":1},"explore":false}`},
		"a pair's fee":        {pair: "large/search", field: `{"prices":{"pairs":{"small/search":0.5}}}`},
		"field and header":    {pair: "large/none", field: `{"unavailable":{"experts":["small"]}}`, header: []string{"X-Pipe-Without", "pair=large/search,expert=small"}},
		"null":                {pair: "small/search", field: `null`},
	} {
		t.Run(name, func(t *testing.T) {
			w := anyPrice(t, nil)
			body := asking + `}`
			if c.field != "" {
				body = strings.Replace(asking, "{", `{"pipe" : `+c.field+` , `, 1) + `}`
			}
			a := w.post(t, body, c.header...)
			if got := a.header.Get("X-Pipe-Expert") + "/" + a.header.Get("X-Pipe-Advice"); a.status != 200 || got != c.pair {
				t.Fatalf("%d %s %s", a.status, got, a.body)
			}
			sent := append(w.small.Requests(), w.large.Requests()...)[0]
			if strings.Contains(string(sent.Body), `"pipe"`) || sent.Header.Get("X-Pipe-Without")+sent.Header.Get("X-Pipe-Lambda") != "" || !json.Valid(sent.Body) {
				t.Errorf("the expert got %v %s", sent.Header, sent.Body)
			}
			rec := w.records(t)[0]
			sum := 0.0
			for i, p := range rec.Propensity {
				if sum += p; p > 0 && !rec.Available[i] {
					t.Errorf("%v %v", rec.Propensity, rec.Available)
				}
			}
			if sum != 1 {
				t.Error(rec.Propensity)
			}
		})
	}
}

// The rest of a body stays as it is, byte by byte, wherever the field stands.
func TestFieldIsCutOut(t *testing.T) {
	const rest = `"model":"pipe", "messages":[{"role":"user","content":"\u0061"}],"seed":12345678901234567890`
	for _, body := range []string{`{` + rest + `, "pipe":{} }`, `{"pipe":{}, ` + rest + ` }`, `{"model":"pipe","pipe":{}, ` + rest[len(`"model":"pipe", `):] + ` }`} {
		w := anyPrice(t, nil)
		if a := w.post(t, body, "X-Pipe-Without", "advice=search,expert=large"); a.status != 200 {
			t.Fatalf("%d %s", a.status, a.body)
		}
		want := strings.Replace(`{`+rest+` }`, `"pipe"`, `"model-s"`, 1)
		if got := string(w.small.Requests()[0].Body); strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(want, " ", "") || strings.Contains(got, `"pipe"`) {
			t.Errorf("%s was sent as %s", body, got)
		}
	}
}

// What is wrong is an error that names the header or the field, and nothing is sent.
func TestWrongWishes(t *testing.T) {
	w := anyPrice(t, nil)
	fixed := newWorld(t, nil)
	for _, c := range []struct {
		field, param, msg string
		header            []string
		world             *world
	}{
		{param: "x-pipe-lambda", msg: `the header x-pipe-lambda is "much", which is not a number`, header: []string{"X-Pipe-Lambda", "much"}},
		{param: "x-pipe-lambda", msg: "is not a number", header: []string{"X-Pipe-Lambda", "NaN"}},
		{param: "x-pipe-lambda", msg: "lambda", header: []string{"X-Pipe-Lambda", "-1"}},
		{param: "x-pipe-fees", msg: "the header x-pipe-fees has a wrong fee", header: []string{"X-Pipe-Fees", "small=1"}},
		{param: "x-pipe-fees", msg: "unknown expert", header: []string{"X-Pipe-Fees", "expert=tiny:1"}},
		{param: "x-pipe-without", msg: "is neither expert=NAME", header: []string{"X-Pipe-Without", "small"}},
		{param: "x-pipe-without", msg: "unknown expert", header: []string{"X-Pipe-Without", "expert=tiny"}},
		{param: "x-pipe-without", msg: "no action remains", header: []string{"X-Pipe-Without", "expert=small,expert=large"}},
		{param: "x-pipe-without", msg: "at most 4096", header: []string{"X-Pipe-Without", strings.Repeat("expert=a,", 5000)}},
		{param: "x-pipe-explore", msg: "neither true nor false", header: []string{"X-Pipe-Explore", "often"}},
		{param: "pipe", msg: "the field pipe: the value cannot be", field: `7`},
		{param: "pipe.prices.lambda", msg: "prices.lambda is not a number", field: `{"prices":{"lambda":"1"}}`},
		{param: "pipe.prices.experts.small", msg: "is not a number", field: `{"prices":{"experts":{"small":"1"}}}`},
		{param: "pipe.fees", msg: "fees is not a parameter", field: `{"fees":{}}`},
		{param: "pipe", msg: "unknown expert", field: `{"unavailable":{"experts":["tiny"]}}`},
		{param: "pipe", msg: "pipe, x-pipe-without: no action remains", field: `{"unavailable":{"experts":["small"]}}`, header: []string{"X-Pipe-Without", "expert=large"}},
		{param: "x-pipe-lambda", msg: "send one of them", field: `{"prices":{"lambda":1}}`, header: []string{"X-Pipe-Lambda", "1"}},
		{param: "x-pipe-lambda", msg: "has fixed prices", header: []string{"X-Pipe-Lambda", "1"}, world: fixed},
	} {
		of := c.world
		if of == nil {
			of = w
		}
		body := asking + `}`
		if c.field != "" {
			body = asking + `,"pipe":` + c.field + `}`
		}
		a := of.post(t, body, c.header...)
		var e struct {
			Error struct{ Message, Type, Param, Code string }
		}
		if err := json.Unmarshal([]byte(a.body), &e); err != nil || a.status != http.StatusBadRequest || e.Error.Param != c.param || !strings.Contains(e.Error.Message, c.msg) || e.Error.Type != invalidRequest {
			t.Errorf("%v %s: %d %s", c.header, c.field, a.status, a.body)
		}
	}
	if n := len(w.small.Requests()) + len(w.large.Requests()) + len(fixed.small.Requests()); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
}
