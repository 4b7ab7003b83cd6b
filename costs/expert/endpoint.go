package expert

import (
	"context"
	"fmt"

	"pipe/costs/builder/part"
	"pipe/costs/chat"
	"pipe/costs/language"
)

// chatExpert asks a chat model for one of the labels.
type chatExpert struct {
	chat.Model
	part        string
	labels      []string
	unparseable float32 // loss of an answer without a label
	metered     bool
}

type endpointExpertSettings struct {
	chat.EndpointSettings
	UnparseableLoss float32 `json:"unparseable_loss"`
}

func newEndpointExpert(_ context.Context, s *part.Setup, settings map[string]any) (part.Expert, error) {
	cfg := endpointExpertSettings{EndpointSettings: chat.DefaultEndpointSettings(), UnparseableLoss: 1}
	if err := part.DecodeSettings(settings, &cfg); err != nil {
		return nil, err
	}
	if !(cfg.UnparseableLoss >= 0) {
		return nil, fmt.Errorf("unparseable_loss is %v; it must not be negative", cfg.UnparseableLoss)
	}
	if err := language.CheckLabels(s.Labels); err != nil {
		return nil, err
	}
	c, err := chat.OpenEndpoint(s, &cfg.EndpointSettings)
	if err != nil {
		return nil, err
	}
	if err := chat.CountAnswers(s); err != nil {
		return nil, err
	}
	e := &chatExpert{Model: c, part: s.Part, labels: s.Labels, unparseable: cfg.UnparseableLoss, metered: cfg.Price != nil}
	s.Input("unparseable_loss", fmt.Sprint(cfg.UnparseableLoss))
	return e, s.InputJSON("prompt", language.ClaimWording(s.Labels))
}

// Replays is true, since answers are stored.
func (e *chatExpert) Replays() bool { return true }

// Metered reports whether answers have a price.
func (e *chatExpert) Metered() bool { return e.metered }

// Predict asks about every instance under every advice, concurrently.
func (e *chatExpert) Predict(ctx context.Context, batch []part.Instance, shown [][]part.Shown) ([][]part.Prediction, error) {
	var asked []language.Conversation
	for _, level := range shown {
		for n := range level {
			if err := batch[n].NeedText(); err != nil {
				return nil, err
			}
			asked = append(asked, language.ClaimConversation(e.labels, &batch[n], level[n]))
		}
	}
	answers, err := e.Complete(ctx, asked)
	if err != nil {
		return nil, chat.NameInstance(err, batch)
	}
	out := make([][]part.Prediction, len(shown))
	for k, level := range shown {
		if level == nil {
			continue
		}
		out[k] = make([]part.Prediction, len(batch))
		for n := range batch {
			out[k][n] = e.read(chat.TallyOf(ctx), answers[0])
			answers = answers[1:]
		}
	}
	return out, nil
}

// read turns an answer into a prediction. An answer without a label has the loss unparseable_loss.
func (e *chatExpert) read(t *chat.Tally, a chat.Completion) part.Prediction {
	label, strict, ok := language.ParseLabel(a.Text, e.labels)
	p := part.Prediction{Label: label, Fee: float32(a.Fee)}
	switch {
	case strict:
		t.Add(e.part, chat.AnswerCount{Strict: 1})
	case ok:
		t.Add(e.part, chat.AnswerCount{Lenient: 1})
	default:
		t.Add(e.part, chat.AnswerCount{Unparseable: 1})
		p.Judged, p.Loss = true, e.unparseable
	}
	return p
}
