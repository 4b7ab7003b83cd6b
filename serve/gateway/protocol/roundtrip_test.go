package protocol

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pipe/serve/gateway/protocol/middle"
	"pipe/serve/gateway/sse"
)

// translated are the protocols between which requests and answers are translated.
var translated = []Caller{Chat, Messages, Responses}

var (
	anyText = rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"a", "<b> \"c\" \\ é\n", "\u2028 ✓", " x "})).Filter(func(s string) bool {
		return strings.TrimSpace(s) != "" && strings.ToValidUTF8(s, "") == s
	})
	anyWord = rapid.StringMatching(`[a-z][a-z0-9_-]{0,12}`)
)

// anyConversation generates a conversation that every protocol can have, in the form in which protocol f reads it.
func anyConversation(t *rapid.T, f Caller) (all []middle.Message) {
	text := func(role string) middle.Message {
		return middle.Message{Role: role, Parts: []middle.Part{{Kind: middle.Text, Text: anyText.Draw(t, "text")}}}
	}
	if rapid.Bool().Draw(t, "system") {
		all = append(all, text(middle.System))
	}
	calls := 0
	for range rapid.IntRange(1, 4).Draw(t, "turns") {
		user := text(middle.User)
		if rapid.Bool().Draw(t, "image") {
			user.Parts = append(user.Parts, middle.Part{Kind: middle.Image, Media: middle.Media{Type: "image/png", Data: "AAAA", Detail: detailOf(f)}})
		}
		all = append(all, user)
		answer := middle.Message{Role: middle.Assistant}
		if rapid.Bool().Draw(t, "reasoning") {
			answer.Parts = append(answer.Parts, anyReasoning(t, f))
		}
		answer.Parts = append(answer.Parts, middle.Part{Kind: middle.Text, Text: anyText.Draw(t, "answer")})
		results := middle.Message{Role: middle.ToolRole}
		for range rapid.IntRange(0, 3).Draw(t, "calls") {
			calls++
			id := fmt.Sprintf("call_%d", calls)
			answer.Parts = append(answer.Parts, middle.Part{Kind: middle.Call, ID: id, Name: anyWord.Draw(t, "tool"), Arguments: `{"x":1.50}`})
			results.Parts = append(results.Parts, middle.Part{Kind: middle.Result, ID: id, Parts: text("").Parts})
		}
		all = append(all, answer)
		if len(results.Parts) > 0 {
			all = append(all, splitResults(f, results)...)
		}
	}
	return append(all, text(middle.User))
}

// detailOf is the detail of an image that a protocol writes for none.
func detailOf(f Caller) string {
	if f == Responses {
		return "auto"
	}
	return ""
}

// splitResults puts results into messages as a protocol does: chat completions have one each.
func splitResults(f Caller, m middle.Message) (all []middle.Message) {
	if f != Chat {
		return []middle.Message{m}
	}
	for _, p := range m.Parts {
		all = append(all, middle.Message{Role: m.Role, Parts: []middle.Part{p}})
	}
	return all
}

func anyReasoning(t *rapid.T, f Caller) middle.Part {
	p := middle.Part{Kind: middle.Reasoning, Text: anyText.Draw(t, "thought"), Signer: f.Name()}
	switch f {
	case Messages:
		p.Signature = "c2ln"
	case Responses:
		p.Signature = "rs_1~c2ln"
	}
	return p
}

// anyRequest generates a request that protocol f can have.
func anyRequest(t *rapid.T, f Caller) *middle.Request {
	m := &middle.Request{Model: "m", Messages: anyConversation(t, f), Stream: rapid.Bool().Draw(t, "stream")}
	m.MaxTokens = rapid.Int64Range(1, 100_000).Draw(t, "max")
	m.User = rapid.SampledFrom([]string{"", "u-1"}).Draw(t, "user")
	if f != Responses {
		m.Stop = rapid.SampledFrom([][]string{nil, {"END"}, {"a", "b"}}).Draw(t, "stop")
	}
	if f != Messages {
		m.Effort = rapid.SampledFrom([]string{"", "low", "high"}).Draw(t, "effort")
	}
	if rapid.Bool().Draw(t, "tools") {
		no := false
		m.Tools = []middle.NamedSchema{{Name: anyWord.Draw(t, "name"), Description: "d", Schema: []byte(`{"type":"object"}`)}}
		if f == Responses {
			m.Tools[0].Strict = &no
		}
		m.Choice = rapid.SampledFrom([]middle.Choice{{Mode: "auto"}, {Mode: "required"}, {Mode: "none"}, {Mode: "tool", Name: m.Tools[0].Name}}).Draw(t, "choice")
		if m.Choice.Mode != "none" && rapid.Bool().Draw(t, "one") {
			m.Parallel = &no
		}
	}
	if rapid.Bool().Draw(t, "schema") {
		yes := true
		m.Output = middle.Output{Kind: "schema", NamedSchema: middle.NamedSchema{Schema: []byte(`{"type":"object"}`), Strict: &yes}}
		if f != Messages {
			m.Output.Name = "answer"
		}
	}
	if rapid.Bool().Draw(t, "temperature") {
		m.Options = append(m.Options, middle.Option{Name: "temperature", Field: "temperature", Value: []byte("0.50")})
	}
	return m
}

// TestRequestsKeepTheirMeaning: a request that is written in a protocol and read again is the same.
func TestRequestsKeepTheirMeaning(t *testing.T) {
	for _, f := range translated {
		t.Run(f.Name(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				m := anyRequest(t, f)
				body, changed, err := f.Write(m, Target{Model: "m"})
				if err != nil || len(changed) > 0 {
					t.Fatal(err, changed)
				}
				in, err := f.ReadRequest(body)
				if err != nil {
					t.Fatalf("%s: %v", body, err)
				}
				got := *in.Middle()
				m.From = f.Name()
				if got.Left = nil; !reflect.DeepEqual(&got, m) {
					t.Fatalf("%s\n%+v\n%+v", body, &got, m)
				}
			})
		})
	}
}

// anyAnswer generates an answer.
func anyAnswer(t *rapid.T, f Caller) *middle.Answer {
	a := &middle.Answer{ID: "a", Model: "m", Finish: middle.Stop}
	if rapid.Bool().Draw(t, "reasoning") {
		a.Parts = append(a.Parts, anyReasoning(t, f))
	}
	if rapid.Bool().Draw(t, "text") {
		a.Parts = append(a.Parts, middle.Part{Kind: middle.Text, Text: anyText.Draw(t, "text")})
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "calls") {
		a.Finish = middle.Calls
		a.Parts = append(a.Parts, middle.Part{Kind: middle.Call, ID: fmt.Sprintf("c%d", i), Name: anyWord.Draw(t, "tool"), Arguments: `{"x":"<\"é"}`})
	}
	if rapid.Bool().Draw(t, "cut") {
		a.Finish = middle.Length
	}
	cached := rapid.Int64Range(0, 50).Draw(t, "cached")
	a.Usage = middle.NewUsage(50+cached, cached, 40, 0)
	return a
}

// eventsOf are the events of an answer.
func eventsOf(t *rapid.T, a *middle.Answer) []middle.Event {
	all := []middle.Event{{Kind: middle.Start, ID: a.ID, Model: a.Model}}
	for _, p := range a.Parts {
		text := p.Text + p.Arguments
		open := p
		open.Text, open.Arguments, open.Signature = "", "", ""
		all = append(all, middle.Event{Kind: middle.Open, Part: open})
		runes := []rune(text)
		at := rapid.IntRange(0, len(runes)).Draw(t, "at")
		for _, piece := range []string{string(runes[:at]), string(runes[at:])} {
			if piece != "" {
				all = append(all, middle.Event{Kind: middle.Delta, Text: piece})
			}
		}
		if p.Signature != "" {
			all = append(all, middle.Event{Kind: middle.Sign, Text: p.Signature, Part: p})
		}
		all = append(all, middle.Event{Kind: middle.Shut})
	}
	return append(all, middle.Event{Kind: middle.Count, Usage: a.Usage}, middle.Event{Kind: middle.End, Finish: a.Finish}, middle.Event{Kind: middle.Done})
}

// collect puts the events of a stream together.
func collect(events []middle.Event) (a *middle.Answer, done bool) {
	a = &middle.Answer{}
	for _, e := range events {
		last := len(a.Parts) - 1
		switch e.Kind {
		case middle.Start:
			a.ID, a.Model = e.ID, e.Model
		case middle.Open:
			a.Parts = append(a.Parts, e.Part)
		case middle.Delta:
			if a.Parts[last].Kind == middle.Call {
				a.Parts[last].Arguments += e.Text
			} else {
				a.Parts[last].Text += e.Text
			}
		case middle.Sign:
			a.Parts[last].Signature, a.Parts[last].Signer = e.Text, e.Part.Signer
		case middle.Count:
			a.Usage = e.Usage
		case middle.End:
			a.Finish = e.Finish
		case middle.Done:
			done = true
		}
	}
	return a, done
}

// decode reads a stream.
func decode(f Format, stream []byte) (all []middle.Event, err error) {
	in, d := sse.NewReader(bytes.NewReader(stream), 1<<20), f.Decoder()
	for {
		e, err := in.Next()
		if errors.Is(err, io.EOF) {
			return append(all, d.End()...), nil
		}
		if err != nil {
			return all, err
		}
		events, err := d.Decode(e)
		if err != nil {
			return all, err
		}
		all = append(all, events...)
	}
}

// TestAnswersKeepTheirMeaning: an answer that is written in a protocol, whole or as a stream, and read again is the same. So is a whole
// answer that is turned into a stream.
func TestAnswersKeepTheirMeaning(t *testing.T) {
	for _, f := range translated {
		t.Run(f.Name(), func(t *testing.T) {
			to, err := f.ReadRequest([]byte(map[string]string{"chat": `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{}]}`, "messages": `{"model":"m","messages":[{}]}`, "responses": `{"model":"m","input":"x"}`}[f.Name()]))
			if err != nil {
				t.Fatal(err)
			}
			rapid.Check(t, func(t *rapid.T) {
				a := anyAnswer(t, f)
				body, err := f.WriteAnswer(a, to)
				if err != nil {
					t.Fatal(err)
				}
				got, err := f.Read(body)
				if err != nil {
					t.Fatalf("%s: %v", body, err)
				}
				compareAnswers(t, got, a)
				again, err := AsStream(to, body)
				if err != nil {
					t.Fatalf("%s: %v", body, err)
				}
				events, err := decode(f, again)
				if err != nil {
					t.Fatalf("%s: %v", again, err)
				}
				got, done := collect(events)
				if !done {
					t.Fatalf("no end: %s", again)
				}
				compareAnswers(t, got, a)
				var stream []byte
				enc := f.Encoder(to)
				for _, e := range eventsOf(t, a) {
					stream = append(stream, enc.Encode(e)...)
				}
				if events, err = decode(f, stream); err != nil {
					t.Fatalf("%s: %v", stream, err)
				}
				if got, done = collect(events); !done {
					t.Fatalf("no end: %s", stream)
				}
				compareAnswers(t, got, a)
			})
		})
	}
}

// compareAnswers compares answers but for ids that the protocol makes anew.
func compareAnswers(t *rapid.T, got, want *middle.Answer) {
	t.Helper()
	for i, p := range got.Parts { // the id of a reasoning is announced before that of its signature is known
		if _, sealed, ok := strings.Cut(p.Signature, "~"); ok {
			got.Parts[i].Signature = "rs_1~" + sealed
		}
	}
	if !reflect.DeepEqual(got.Parts, want.Parts) && len(got.Parts)+len(want.Parts) > 0 {
		t.Fatalf("%+v\n%+v", got.Parts, want.Parts)
	}
	u, w := got.Usage, want.Usage
	if got.Model != want.Model || u.In != w.In || u.Cached != w.Cached || u.Out != w.Out || u.Stated.Tokens != w.Stated.Tokens || !u.Stated.Known {
		t.Fatalf("%+v\n%+v", got, want)
	}
	if len(got.Foreign) > 0 || got.Finish != want.Finish {
		t.Fatalf("%v %v", got, want)
	}
}
