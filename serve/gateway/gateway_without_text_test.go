package gateway

import (
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"pipe/models/policy"
	"pipe/pipeline/decisionlog"
)

// withoutText are conversations in which a policy of texts sees nothing.
var withoutText = map[string]string{
	"a picture":   `[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAEC"}}]}]`,
	"a link":      `[{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.org/a.png"}}]}]`,
	"sound":       `[{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"AAEC","format":"wav"}}]}]`,
	"the system":  `[{"role":"system","content":"Say hello."}]`,
	"empty":       `[{"role":"user","content":""}]`,
	"null":        `[{"role":"user","content":null}]`,
	"white space": `[{"role":"user","content":" \n"}]`,
}

// guarded is the metadata of a policy whose training names its best fixed pair.
var guarded = map[string]string{policy.GuardKey: policy.Guard{Fixed: "large/none", Rows: 10, Gain: 1, LowerBound: 1}.JSON()}

// TestWithoutText: the best fixed pair answers what the policy cannot see, and the header and the log say so. The log marks what is
// not of the policy, whose features it does not have.
func TestWithoutText(t *testing.T) {
	for name, messages := range withoutText {
		t.Run(name, func(t *testing.T) {
			w := newWorldOf(t, guarded, nil)
			a := w.post(t, `{"model":"pipe","messages":`+messages+`}`)
			h := a.header
			if a.status != 200 || h.Get("X-Pipe-Without-Text") != "best_fixed" || h.Get("X-Pipe-Expert") != "large" || h.Get("X-Pipe-Advice") != "none" || h.Get("X-Pipe-Expected-Cost") != "" {
				t.Fatalf("%d %v %s", a.status, h, a.body)
			}
			if sent := string(w.large.Requests()[0].Body); !strings.Contains(sent, messages) {
				t.Errorf("sent %s", sent)
			}
			loss := 1.0
			if _, err := w.decider.Outcome(decisionlog.Outcome{ID: h.Get("X-Pipe-Decision"), Loss: &loss}); err != nil {
				t.Error(err)
			}
			if n, err := testutil.GatherAndCount(w.registry, "pipe_outcome_loss"); n != 0 || err != nil {
				t.Errorf("its loss is counted as the policy's: %d, %v", n, err)
			}
			r := w.records(t)[0]
			if !r.IsFixed() || r.Source != "chat-fixed" || r.Action != 2 || r.Executed != 2 || r.Features != nil || r.ExpectedCost != nil || r.ID != h.Get("X-Pipe-Decision") {
				t.Errorf("%+v", r)
			}
			s, err := decisionlog.Summarize(w.logged)
			if err != nil || s.Policies[0].Fixed != 1 || s.Policies[0].Records != 0 {
				t.Errorf("%+v, %v", s.Policies[0], err)
			}
		})
	}
}

// A text is decided by the policy, whatever else is in the conversation, and says nothing of a fixed pair.
func TestTextsAreDecided(t *testing.T) {
	w := newWorldOf(t, guarded, nil)
	for _, messages := range []string{
		`[{"role":"user","content":"x"}]`,
		`[{"role":"user","content":"x"},{"role":"user","content":""}]`,
		`[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAEC"}},{"type":"text","text":"x"}]}]`,
	} {
		a := w.post(t, `{"model":"pipe","messages":`+messages+`}`)
		if a.status != 200 || a.header["X-Pipe-Without-Text"] != nil || a.header.Get("X-Pipe-Expert")+a.header.Get("X-Pipe-Advice") != "smallsearch" {
			t.Errorf("%s: %d %v", messages, a.status, a.header)
		}
	}
	for _, r := range w.records(t) {
		if r.IsFixed() || r.Source != "chat" || len(r.Features) == 0 {
			t.Errorf("%+v", r)
		}
	}
}

// TestWithoutTextSettings: a pair can be named, conversations can be refused, and where nothing names a pair, the caller learns
// which setting does. What is no conversation is refused in any case.
func TestWithoutTextSettings(t *testing.T) {
	body := `{"model":"pipe","messages":` + withoutText["null"] + `}`
	for name, c := range map[string]struct {
		info    map[string]string
		setting string
		down    bool // the expert small
		warm    int  // texts before
		status  int
		pair    string
		want    string
	}{
		"named":                  {guarded, "small/search", false, 0, 200, "small/search", ""},
		"refused":                {guarded, "refuse", false, 0, 400, "", "400 invalid_request_error invalid_request: messages: no message has a text"},
		"no such pair":           {guarded, "huge/none", false, 0, 400, "", `policy "claims" has no pair "huge/none": the server's setting gateway.without_text can name one, such as small/none`},
		"nothing names one":      {nil, "best_fixed", false, 0, 400, "", `policy "claims" names no best fixed pair: the server's setting gateway.without_text can name one, such as small/none`},
		"the traffic names one":  {nil, "best_fixed", false, 100, 200, "small/search", ""},
		"the named one is down":  {guarded, "small/search", true, 0, 200, "large/none", ""},
		"the best one is absent": {map[string]string{policy.GuardKey: policy.Guard{Fixed: "small/none"}.JSON()}, "best_fixed", true, 0, 200, "large/none", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorldOf(t, c.info, func(s *Settings) {
				s.WithoutText = c.setting
				if c.down {
					delete(s.Experts, "small")
				}
			})
			for range c.warm {
				w.post(t, question+`}`)
			}
			a := w.post(t, body)
			pair := strings.Trim(a.header.Get("X-Pipe-Expert")+"/"+a.header.Get("X-Pipe-Advice"), "/")
			if a.status != c.status || pair != c.pair || !strings.Contains(a.message(), c.want) || (a.header.Get("X-Pipe-Without-Text") == c.setting) != (c.status == 200) {
				t.Errorf("%d by %q: %s", a.status, pair, a.body)
			}
			if a := w.post(t, `{"model":"pipe","messages":[{"role":"user","content":5}]}`); a.status != 400 {
				t.Errorf("no conversation: %d", a.status)
			}
		})
	}
}

// The next pair answers where the fixed one fails.
func TestWithoutTextFallsBack(t *testing.T) {
	w := newWorldOf(t, guarded, nil)
	w.large.Fault = fault(http.StatusInternalServerError)
	a := w.post(t, `{"model":"pipe","messages":`+withoutText["null"]+`}`)
	if a.status != 200 || a.header.Get("X-Pipe-Expert") != "small" || a.header.Get("X-Pipe-Fallbacks") != "1" || a.header.Get("X-Pipe-Without-Text") != "best_fixed" {
		t.Errorf("%d %v", a.status, a.header)
	}
}
