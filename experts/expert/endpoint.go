package expert

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"pipe/costs"
	"pipe/costs/grade"
	"pipe/costs/observe"
	"pipe/experts/builder/part"
	"pipe/experts/chat"
	"pipe/experts/fields"
	"pipe/experts/language"
)

// chatExpert asks a chat model: for one of the labels, or where the build has none for an open answer.
type chatExpert struct {
	chat.Sampler
	part    string
	prompt  promptWriter
	answer  answerReader
	samples int
	metered bool
	facts   []string
}

// promptWriter writes the conversation about an instance.
type promptWriter interface {
	write(in *part.Instance, shown part.AdvicePayload) (language.Conversation, error)
}

// answerReader turns texts of a model into predictions.
type answerReader interface {
	// key returns what a vote counts. ok is false if an answer has no such thing.
	key(text string) (key string, ok bool)
	// read returns the prediction for an answer, and how it counts.
	read(text string) (part.Prediction, chat.AnswerCount)
}

type endpointExpertSettings struct {
	chat.EndpointSettings
	Prompt          string  `json:"prompt"`  // template; "": the prompt about claims
	System          string  `json:"system"`  // template; "": none
	Samples         int     `json:"samples"` // answers to each prompt, of which the most frequent one counts
	UnparseableLoss float32 `json:"unparseable_loss"`
}

// openTokens is the default of max_tokens for open answers.
const openTokens = 1024

func newEndpointExpert(ctx context.Context, s *part.Setup, settings map[string]any) (part.Expert, error) {
	cfg := endpointExpertSettings{EndpointSettings: chat.DefaultEndpointSettings(), Samples: 1, UnparseableLoss: 1}
	open := len(s.Labels) == 0
	if most := openTokens; open {
		cfg.MaxTokens = &most
	}
	if err := part.DecodeSettings(settings, &cfg); err != nil {
		return nil, err
	}
	if err := cfg.validate(open, settings); err != nil {
		return nil, err
	}
	e := &chatExpert{part: s.Part, samples: cfg.Samples, metered: cfg.Price != nil, facts: cfg.observes(open)}
	if err := e.makeReader(s, &cfg); err != nil {
		return nil, err
	}
	if err := e.makeWriter(ctx, s, &cfg); err != nil {
		return nil, err
	}
	if cfg.Samples > 1 {
		s.Input("samples", fmt.Sprint(cfg.Samples))
	}
	c, err := chat.OpenEndpoint(ctx, s, &cfg.EndpointSettings)
	if err != nil {
		return nil, err
	}
	e.Sampler = c
	return e, chat.CountAnswers(s)
}

// mostSamples limits samples: more are surely a mistake.
const mostSamples = 1000

func (cfg *endpointExpertSettings) validate(open bool, given map[string]any) error {
	var problems []error
	add := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	_, judged := given["unparseable_loss"]
	add(!(cfg.UnparseableLoss >= 0), "unparseable_loss is %v; it must not be negative", cfg.UnparseableLoss)
	add(open && judged, "unparseable_loss: the build has no labels; the grader judges every answer")
	add(open && cfg.Prompt == "", "prompt: not set, and the build has no labels to choose from: write a template such as \"{{.question}}\"")
	add(cfg.System != "" && cfg.Prompt == "", "system: it needs a prompt")
	add(cfg.Samples < 1 || cfg.Samples > mostSamples, "samples is %d, not 1 to %d", cfg.Samples, mostSamples)
	add(cfg.Samples > 1 && (cfg.Temperature == nil || !(*cfg.Temperature > 0)), "samples is %d, but temperature is not above 0: all answers would be the same", cfg.Samples)
	return errors.Join(problems...)
}

// observes are the facts of texts, the label where there is one, and what the requests ask for.
func (cfg *endpointExpertSettings) observes(open bool) []string {
	facts := []string{observe.Length, observe.Finish, observe.JSON}
	if !open {
		facts = append(facts, observe.Label)
	}
	if cfg.Samples > 1 {
		facts = append(facts, observe.Confidence)
	}
	if cfg.Extra["logprobs"] == true {
		facts = append(facts, observe.LogProb)
	}
	return facts
}

// makeReader chooses how answers are read.
func (e *chatExpert) makeReader(s *part.Setup, cfg *endpointExpertSettings) error {
	if len(s.Labels) > 0 {
		e.answer = &labelReader{s.Labels, cfg.UnparseableLoss}
		s.Input("unparseable_loss", fmt.Sprint(cfg.UnparseableLoss))
		return grade.CheckLabels(s.Labels)
	}
	loss, ok := s.Loss.(part.OpenLoss)
	if !ok {
		return errors.New("the instances have no labels: choose a grader of open answers as task_loss, such as exact or number")
	}
	e.answer = &openReader{loss}
	return nil
}

// makeWriter chooses what is asked.
func (e *chatExpert) makeWriter(ctx context.Context, s *part.Setup, cfg *endpointExpertSettings) (err error) {
	if cfg.Prompt == "" {
		e.prompt = claimWriter(s.Labels)
		return s.InputJSON("prompt", language.ClaimWording(s.Labels))
	}
	if e.prompt, err = newTemplateWriter(ctx, s, cfg.System, cfg.Prompt); err != nil {
		return err
	}
	return s.InputJSON("prompt", []string{cfg.System, cfg.Prompt})
}

// Replays is true, since answers are stored.
func (e *chatExpert) Replays() bool { return true }

// TakeFields is an error if the advice sets nothing in requests for chat completions.
func (e *chatExpert) TakeFields(a part.FieldSetter) error {
	if len(a.Fields(fields.OpenAI)) == 0 {
		return fmt.Errorf("sets nothing for the protocol %s, which the service speaks", fields.OpenAI)
	}
	return nil
}

// Requests is how many answers are asked for each prompt.
func (e *chatExpert) Requests() int { return e.samples }

// Observes are what the text and the service show.
func (e *chatExpert) Observes() []string { return e.facts }

// Metered reports whether answers have a price.
func (e *chatExpert) Metered() bool { return e.metered }

// Consumes are the tokens of the prompts and answers, also where they have no price, and the calls.
func (e *chatExpert) Consumes() costs.UsageFlags {
	return costs.UsageFlags{costs.TokensIn: true, costs.TokensCached: true, costs.TokensOut: true, costs.Calls: true}
}

// Predict asks about every instance under every advice, concurrently.
func (e *chatExpert) Predict(ctx context.Context, batch []part.Instance, shown [][]part.AdvicePayload) ([][]part.Prediction, error) {
	var asked []chat.Prompt
	for _, level := range shown {
		for n := range level {
			c, err := e.prompt.write(&batch[n], level[n])
			if err != nil {
				return nil, err
			}
			asked = append(asked, chat.Prompt{Turns: c, Fields: level[n].Fields[fields.OpenAI]})
		}
	}
	answers, err := e.Samples(ctx, asked, e.samples)
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

// read turns the answers to one prompt into a prediction.
func (e *chatExpert) read(t *chat.Tally, answers []chat.Completion) part.Prediction {
	winner, votes := vote(answers, e.answer.key)
	chosen := &answers[winner]
	p, count := e.answer.read(chosen.Text)
	t.Add(e.part, count)
	seen := observe.Unknown()
	seen.Written, seen.Text, seen.Finish = true, chosen.Text, chosen.Finish
	if chosen.LogProb != nil {
		seen.LogProb = *chosen.LogProb
	}
	if len(answers) > 1 && votes > 0 {
		seen.Confidence = float64(votes) / float64(len(answers))
	}
	p.Seen = &seen
	var used part.Usage
	for _, a := range answers {
		p.Fee += float32(a.Fee)
		for q, v := range a.Used {
			used[q] += v
		}
	}
	p.Usage = &used
	return p
}

// vote returns the first of the answers with the most frequent key, and how many have it. Of keys that are equally frequent, the one that
// occurs first counts. Answers without a key do not vote.
func vote(answers []chat.Completion, key func(string) (string, bool)) (winner, most int) {
	votes, first := make(map[string]int), make(map[string]int)
	for i, a := range answers {
		if k, ok := key(a.Text); ok {
			if votes[k]++; votes[k] == 1 {
				first[k] = i
			}
		}
	}
	for k, n := range votes {
		if n > most || n == most && first[k] < winner {
			winner, most = first[k], n
		}
	}
	return winner, most
}

// labelReader reads one of the labels.
type labelReader struct {
	labels      []string
	unparseable float32 // loss of an answer without a label
}

func (r *labelReader) key(text string) (string, bool) {
	label, _, ok := grade.ParseLabel(text, r.labels)
	return label, ok
}

// read gives an answer without a label the loss unparseable_loss.
func (r *labelReader) read(text string) (part.Prediction, chat.AnswerCount) {
	label, strict, ok := grade.ParseLabel(text, r.labels)
	switch {
	case strict:
		return part.Prediction{Label: label}, chat.AnswerCount{Strict: 1}
	case ok:
		return part.Prediction{Label: label}, chat.AnswerCount{Lenient: 1}
	}
	return part.Prediction{Judged: true, Loss: r.unparseable}, chat.AnswerCount{Unparseable: 1}
}

// openReader keeps the whole answer, which the task loss judges.
type openReader struct{ loss part.OpenLoss }

func (r *openReader) key(text string) (string, bool) { return r.loss.Key(text) }

func (r *openReader) read(text string) (part.Prediction, chat.AnswerCount) {
	p := part.Prediction{Label: strings.TrimSpace(grade.WithoutThoughts(text))}
	if _, ok := r.loss.Key(p.Label); !ok {
		return p, chat.AnswerCount{Unreadable: 1}
	}
	return p, chat.AnswerCount{Open: 1}
}
