package stages

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pipe/costs"
	"pipe/costs/observe"
	"pipe/models/cascade"
	"pipe/serve/gateway/protocol"
)

// fourPairs is a cascade of two experts and two advice, with a state for every set of at most one pair.
func fourPairs() *cascade.Info {
	a := &costs.Actions{Experts: []costs.Expert{{Name: "a"}, {Name: "b"}}, Advice: []costs.Advice{{Name: "none"}, {Name: "docs"}}, Features: costs.FeatureSource{Dim: 1}}
	return &cascade.Info{Actions: a, Dim: 1, Stages: 3, Facts: []costs.Fact{{Name: "finish", Values: []string{"length", "stop"}}, {Name: "length"}}, States: [][]int{{}, {0}, {1}, {0, 1}}}
}

// costly decides by a cost for every state and pair, of which the largest do not exist. It fails a test that sees another state than
// asked says.
func costly(t *rapid.T, cost func(state string, pair int) float32) Next {
	return func(_ context.Context, can []bool, rows cascade.Rows) (*cascade.Decisions, error) {
		d := &cascade.Decisions{Cost: make([]float32, 4)}
		best := slices.Index(can, true)
		for i := range d.Cost {
			if d.Cost[i] = cost(fmt.Sprint(rows.Executed), i); can[i] && d.Cost[i] < d.Cost[best] {
				best = i
			}
			if rows.Executed[i] && !can[i] {
				t.Fatalf("the answer of pair %d is at hand, and cannot be accepted", i)
			}
			seen := rows.Observed[i*2+1]
			if rows.Executed[i] != (seen == float32(i+1)) {
				t.Fatalf("pair %d was executed %v, and %v is seen of it", i, rows.Executed[i], seen)
			}
		}
		d.Action, d.Accept = []int64{int64(best)}, []bool{rows.Executed[best]}
		return d, nil
	}
}

// TestPlay: whatever the costs, failures and masks, no pair is asked twice or against its mask, every play ends, and it accepts an answer
// that it got, the best by the policy where it was free to choose.
func TestPlay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		costs := map[string]float32{}
		cost := func(state string, pair int) float32 {
			key := fmt.Sprint(state, pair)
			if _, known := costs[key]; !known {
				costs[key] = float32(rapid.IntRange(0, 1000).Draw(t, key)) + float32(pair)/8
			}
			return costs[key]
		}
		fails, masked := rapid.SliceOfN(rapid.Bool(), 4, 4).Draw(t, "fails"), rapid.SliceOfN(rapid.Bool(), 4, 4).Draw(t, "masked")
		first := rapid.IntRange(0, 3).Draw(t, "first")
		most := rapid.IntRange(1, 6).Draw(t, "calls")
		live := rapid.Bool().Draw(t, "live")
		asked, sent := []int{}, -1
		p := New(Settings{
			Info: fourPairs(), Next: costly(t, cost), Features: []float32{1}, Live: live, Can: func(i int) bool { return !masked[i] },
			Ask: func(_ context.Context, pair int, last, inHand bool) Asked {
				if slices.Contains(asked, pair) || masked[pair] && len(asked) > 0 {
					t.Fatalf("pair %d is asked after %v, masked %v", pair, asked, masked)
				}
				if len(asked) == most {
					return Asked{Stop: true}
				}
				if inHand != slices.ContainsFunc(asked, func(i int) bool { return !fails[i] }) {
					t.Fatalf("in hand %v after %v", inHand, asked)
				}
				asked = append(asked, pair)
				switch {
				case fails[pair]:
					return Asked{}
				case last:
					sent = pair
					return Asked{Pair: pair, Sent: true}
				}
				a := observe.Unknown()
				a.Written, a.Text = true, strings.Repeat("x", pair+1)
				return Asked{Pair: pair, Answer: &a}
			},
		})
		pair, end, err := p.Run(t.Context(), first)
		if err != nil {
			t.Fatal(err)
		}
		answered := slices.DeleteFunc(slices.Clone(asked), func(i int) bool { return fails[i] })
		if !slices.Equal(p.Order, answered) {
			t.Fatalf("%v answered of %v, want %v", p.Order, asked, answered)
		}
		switch {
		case end == Live && (pair != sent || !live), end == None && (len(answered) > 0 || pair != -1), end != None && !slices.Contains(answered, pair):
			t.Fatalf("%s of %d after %v", end, pair, asked)
		case end == Accepted:
			for i := range 4 {
				if state := fmt.Sprint(p.executed); cost(state, i) < cost(state, pair) && (p.executed[i] || !masked[i] && !p.failed[i]) {
					t.Fatalf("%d was accepted in %s, and %d costs less", pair, state, i)
				}
			}
		}
		if end == Accepted && p.Chosen && slices.ContainsFunc(asked, func(i int) bool { return fails[i] }) {
			t.Fatal("a path with a failure is no choice of the policy")
		}
	})
}

// A policy that cannot decide leaves the last answer.
func TestPlayWithoutDecision(t *testing.T) {
	p := New(Settings{
		Info: fourPairs(), Features: []float32{1}, Can: func(int) bool { return true },
		Next: func(context.Context, []bool, cascade.Rows) (*cascade.Decisions, error) {
			return nil, errors.New("closed")
		},
		Ask: func(_ context.Context, pair int, _, _ bool) Asked {
			a := observe.Unknown()
			return Asked{Pair: pair, Answer: &a}
		},
	})
	if pair, end, err := p.Run(t.Context(), 2); pair != 2 || end != InHand || err == nil {
		t.Errorf("%d %s %v", pair, end, err)
	}
	if text := p.Facts(2); text != `{"finish":null,"length":null}` || p.Unknown[0] != 1 || p.Unknown[1] != 1 {
		t.Errorf("%s, unknown %v", text, p.Unknown)
	}
}

// Facts of answers are those of training: of the text without thoughts, in every protocol of callers.
func TestRead(t *testing.T) {
	for _, c := range []struct {
		format protocol.Format
		body   string
		want   observe.Answer
	}{
		{protocol.Chat, `{"choices":[{"message":{"role":"assistant","content":"<think>a</think> [1]"},"finish_reason":"stop","logprobs":{"content":[{"token":"a","logprob":-0.5},{"token":"b","logprob":-0.25}]}}]}`, observe.Answer{Written: true, Text: "<think>a</think> [1]", Finish: "stop", LogProb: -0.75}},
		{protocol.Chat, `{"choices":[{"message":{"role":"assistant","content":"x"},"finish_reason":"length","logprobs":{"content":[{"logprob":-0.5},{"logprob":1}]}}]}`, observe.Answer{Written: true, Text: "x", Finish: "length", LogProb: math.NaN()}},
		{protocol.Chat, `{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`, observe.Answer{Finish: "tool_calls", LogProb: math.NaN()}},
		{protocol.Chat, `{"choices":[{"message":{"role":"assistant","content":null,"refusal":"no"},"finish_reason":"stop"}]}`, observe.Answer{Written: true, Finish: "stop", LogProb: math.NaN()}},
		{protocol.Chat, `{}`, observe.Answer{LogProb: math.NaN()}},
		{protocol.Messages, `{"type":"message","content":[{"type":"thinking","thinking":"hm","signature":""},{"type":"text","text":"a"},{"type":"text","text":"b"}],"stop_reason":"max_tokens"}`, observe.Answer{Written: true, Text: "ab", Finish: "length", LogProb: math.NaN()}},
		{protocol.Responses, `{"status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"yes","annotations":[]}]}]}`, observe.Answer{Written: true, Text: "yes", Finish: "stop", LogProb: math.NaN()}},
	} {
		a := Read(c.format, []byte(c.body))
		if a.Written != c.want.Written || a.Text != c.want.Text || a.Finish != c.want.Finish || a.LogProb != c.want.LogProb && (a.LogProb == a.LogProb || c.want.LogProb == c.want.LogProb) || a.Cosine == a.Cosine || a.Confidence == a.Confidence {
			t.Errorf("%s:\n%+v\n%+v", c.body, *a, c.want)
		}
	}
}

// The cosine is computed only for a cascade that looks at it.
func TestCompare(t *testing.T) {
	info, calls := fourPairs(), 0
	encode := func(_ context.Context, text string) ([]float32, error) {
		if calls++; text != "yes" {
			t.Errorf("%q is encoded", text)
		}
		return []float32{3, 4}, nil
	}
	a := observe.Unknown()
	a.Written, a.Text = true, "<think>no</think>\nyes"
	if err := Compare(t.Context(), info, &a, []float32{1, 0}, encode); err != nil || calls != 0 || a.Cosine == a.Cosine {
		t.Errorf("%v, %d calls, %v", err, calls, a.Cosine)
	}
	info.Facts = append(info.Facts, costs.Fact{Name: observe.Cosine})
	if err := Compare(t.Context(), info, &a, []float32{1, 0}, encode); err != nil || calls != 1 || math.Abs(a.Cosine-0.6) > 1e-12 {
		t.Errorf("%v, %d calls, %v", err, calls, a.Cosine)
	}
}

func TestOneShot(t *testing.T) {
	const (
		chat     = `{"model":"pipe","messages":[{"role":"user","content":"a"}]`
		messages = `{"model":"pipe","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"a"}`
		document = `,{"type":"document","source":{"type":"text","media_type":"text/plain","data":"b"}`
		found    = `,{"type":"search_result","source":"s","title":"t","content":[{"type":"text","text":"b"}],"citations":{"enabled":true}}]}]`
		search   = `,"tools":[{"type":"web_search_20250305","name":"web_search"}]`
	)
	for body, want := range map[string]string{
		messages + document + `}]}],"stream":true}`: "", messages + document + `,"citations":{"enabled":false}}]}],"stream":true}`: "",
		messages + document + `,"citations":{"enabled":true}}]}],"stream":true}`: "citations", messages + document + `,"citations":{"enabled":true}}]}]}`: "",
		messages + found + `,"stream":true}`: "citations", messages + found + `}`: "", messages + `]}]` + search + `}`: "tools",
		chat + `}`: "", chat + `,"n":1,"logprobs":true,"modalities":["text"]}`: "", chat + `,"n":null,"tools":[]}`: "",
		chat + `,"n":2}`: "n", chat + `,"stream":true,"logprobs":true}`: "logprobs", chat + `,"modalities":["text","audio"]}`: "modalities",
		chat + `,"tools":[{"type":"function","function":{"name":"f"}}]}`: "tools",
	} {
		caller := protocol.Chat
		if strings.HasPrefix(body, messages) {
			caller = protocol.Messages
		}
		r, err := caller.ReadRequest([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if got := OneShot(r); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}
