package stages

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/costs/observe"
	"pipe/models/cascade"
	"pipe/serve/gateway/protocol"
	"pipe/serve/gateway/protocol/middle"
)

// Read returns what is known of a whole answer in a protocol. A text with a call of a tool, or with parts that are no text, is not
// known.
func Read(f protocol.Format, body []byte) *observe.Answer {
	out := observe.Unknown()
	a, err := f.Read(body)
	if err != nil {
		return &out
	}
	out.Finish, out.Written = string(a.Finish), len(a.Foreign) == 0
	var text strings.Builder
	for _, p := range a.Parts {
		switch p.Kind {
		case middle.Text:
			text.WriteString(p.Text)
		case middle.Reasoning, middle.Refusal:
		default:
			out.Written = false
		}
	}
	if out.Written {
		out.Text = text.String()
	}
	if f.Name() == protocol.Chat.Name() {
		out.LogProb = observe.TokenLogProb(logProbs(body))
	}
	return &out
}

// logProbs is what a chat completion says about the probabilities of its tokens; nil without.
func logProbs(body []byte) json.RawMessage {
	var a struct {
		Choices []struct {
			LogProbs json.RawMessage `json:"logprobs"`
		} `json:"choices"`
	}
	if json.Unmarshal(body, &a) != nil || len(a.Choices) == 0 {
		return nil
	}
	return a.Choices[0].LogProbs
}

// Compare adds the cosine of question and answer, if the cascade looks at it. question is the vector of the question, and encode makes
// one of a text.
func Compare(ctx context.Context, info *cascade.Info, a *observe.Answer, question []float32, encode func(ctx context.Context, text string) ([]float32, error)) error {
	text := a.Content()
	if text == "" || !slices.ContainsFunc(info.Facts, func(f costs.Fact) bool { return f.Name == observe.Cosine }) {
		return nil
	}
	answer, err := encode(ctx, text)
	if err == nil && len(answer) == len(question) {
		a.Cosine = observe.CosineOf(question, answer)
	}
	return err
}

// OneShot says why a request is not answered in stages, in a few words; "": it is. The pair of the first decision then answers alone, as
// that of a policy that decides once.
func OneShot(r *protocol.Incoming) string {
	for _, of := range []struct{ field, plain string }{{"n", "1"}, {"logprobs", "false"}, {"modalities", `["text"]`}, {"background", "false"}} {
		v := strings.Join(strings.Fields(string(r.Field(of.field))), "")
		if v != "" && v != of.plain && (of.field != "logprobs" || r.Stream) {
			return of.field
		}
	}
	if r.ToolsUsed() {
		return "tools"
	}
	if r.Stream && r.Cites() {
		return "citations"
	}
	return ""
}
