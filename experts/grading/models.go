package grading

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"pipe/costs/grade"
	"pipe/experts/builder/part"
	"pipe/experts/chat"
	"pipe/experts/language"
	"pipe/featurize/tokenizer"
)

// models opens the models of a grader, whose settings and files become inputs of the build.
type models struct{ setup *part.Setup }

// Pair opens an ONNX model in a folder of Hugging Face's layout.
func (m *models) Pair(ctx context.Context, settings map[string]any) (grade.PairModel, error) {
	s := m.setup.Subpart("model")
	cfg := language.DefaultPairSettings()
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	f, err := language.OpenFolder(ctx, s, &cfg.FolderSettings)
	if err != nil {
		return nil, err
	}
	classes := make([]string, len(f.Classes()))
	for i := range classes {
		name, ok := f.Classes()[strconv.Itoa(i)]
		if !ok {
			return nil, fmt.Errorf("model %q: id2label of config.json has %d classes, but class %d is missing", f.Path(), len(classes), i)
		}
		classes[i] = name
	}
	if len(classes) == 0 {
		return nil, fmt.Errorf("model %q: config.json does not name the classes (id2label)", f.Path())
	}
	model, err := language.OpenPair(s, &cfg, f, len(classes))
	if err != nil {
		return nil, err
	}
	return &pairModel{model, classes}, nil
}

// pairModel turns the scores of a model into probabilities.
type pairModel struct {
	*language.Pair
	classes []string
}

func (m *pairModel) Classes() []string { return m.classes }

// Probabilities are the softmax over the classes, and for one class the sigmoid.
func (m *pairModel) Probabilities(ctx context.Context, pairs [][2]string) ([][]float32, error) {
	encoded := make([]tokenizer.Encoding, len(pairs))
	for i, p := range pairs {
		var err error
		if encoded[i], err = m.Encode(p[0], p[1]); err != nil {
			return nil, &grade.AnswerError{Index: i, Err: err}
		}
	}
	logits, err := m.Logits(ctx, encoded)
	if err != nil {
		return nil, err
	}
	out := make([][]float32, len(pairs))
	for i := range out {
		out[i] = probabilities(logits[i*len(m.classes) : (i+1)*len(m.classes)])
	}
	return out, nil
}

func probabilities(logits []float32) []float32 {
	if len(logits) == 1 {
		return []float32{float32(1 / (1 + math.Exp(-float64(logits[0]))))}
	}
	top := math.Inf(-1)
	for _, v := range logits {
		top = math.Max(top, float64(v))
	}
	sum := 0.0
	for _, v := range logits {
		sum += math.Exp(float64(v) - top)
	}
	out := make([]float32, len(logits))
	for i, v := range logits {
		out[i] = float32(math.Exp(float64(v)-top) / sum)
	}
	return out
}

// Chat opens a chat model of the build's session: its answers are kept, within the budget.
func (m *models) Chat(ctx context.Context, settings map[string]any) (grade.ChatModel, error) {
	s := m.setup.Subpart("judge")
	c, err := chat.Open(ctx, s, settings)
	if err != nil {
		return nil, err
	}
	if err := chat.CountAnswers(s); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return &chatModel{c, s.Part}, nil
}

// chatModel is a judge.
type chatModel struct {
	chat.Model
	part string
}

// Answer asks about all requests.
func (m *chatModel) Answer(ctx context.Context, requests []grade.Request) ([]string, error) {
	asked := make([]language.Conversation, len(requests))
	for i, r := range requests {
		if r.System != "" {
			asked[i] = append(asked[i], language.Message{Role: "system", Content: r.System})
		}
		asked[i] = append(asked[i], language.Message{Role: "user", Content: r.User})
	}
	answers, err := m.Complete(ctx, asked)
	if at, ok := chat.FailedConversation(err); ok {
		return nil, &grade.AnswerError{Index: at, Err: err}
	}
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(answers))
	for i, a := range answers {
		texts[i] = a.Text
	}
	return texts, nil
}

// Count counts a reply.
func (m *chatModel) Count(ctx context.Context, readable bool) {
	c := chat.AnswerCount{Graded: 1}
	if !readable {
		c = chat.AnswerCount{Unparseable: 1}
	}
	chat.TallyOf(ctx).Add(m.part, c)
}
