package grade

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pipe/costs/prompt"
	"pipe/internal/config"
	"pipe/internal/textfile"
)

// chatJudge lets a chat model grade answers.
type chatJudge struct {
	*question
	model      ChatModel
	system     string
	prompt     *prompt.Template
	read       func(reply string) (float64, bool)
	unreadable *float64
}

type judgeSettings struct {
	Model      map[string]any     `json:"model"`  // kind and settings of a chat model
	System     string             `json:"system"` // "": none
	Prompt     string             `json:"prompt"`
	Scores     map[string]float64 `json:"scores"`     // score of a reply by the label in it
	Pattern    string             `json:"pattern"`    // or a regular expression whose first group is a number
	Range      []float64          `json:"range"`      // the worst and the best of these numbers
	Unreadable *float64           `json:"unreadable"` // score of an answer whose reply cannot be read; nil: an error
}

// judgePrompt is the default prompt, for the default scores.
const judgePrompt = `QUESTION
{{.Question}}

REFERENCE ANSWERS
{{range .References}}- {{.}}
{{end}}
ANSWER TO GRADE
{{.Answer}}

Does the answer to grade say the same as one of the reference answers? Wording does not matter. Reply with exactly one of these words and nothing else: CORRECT, WRONG.`

func newJudge(ctx context.Context, settings map[string]any, models Models) (Grader, error) {
	cfg := judgeSettings{Range: []float64{0, 1}}
	if err := config.DecodeSettings(settings, &cfg); err != nil {
		return nil, err
	}
	g := &chatJudge{system: cfg.System, unreadable: cfg.Unreadable}
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	var err error
	if g.prompt, err = prompt.Parse("prompt", cfg.Prompt); err != nil {
		return nil, err
	}
	if g.question, err = newQuestion(g.prompt); err != nil {
		return nil, err
	}
	if g.read, err = cfg.reader(); err != nil {
		return nil, err
	}
	if err := canOpen(cfg.Model, models); err != nil {
		return nil, err
	}
	if g.model, err = models.Chat(ctx, cfg.Model); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	return g, nil
}

// validate fills in the defaults, and reports every problem.
func (cfg *judgeSettings) validate() error {
	var problems []error
	add := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	own := len(cfg.Scores) > 0 || cfg.Pattern != ""
	add(own && cfg.Prompt == "", "prompt: not set, but scores or pattern are: the default prompt asks for CORRECT or WRONG")
	add(len(cfg.Scores) > 0 && cfg.Pattern != "", "scores and pattern are both set; set one of them")
	add(len(cfg.Range) != 2 || cfg.Range[0] == cfg.Range[1], "range must be the worst and the best number, not %v", cfg.Range)
	for label, v := range cfg.Scores {
		add(!(v >= 0 && v <= 1), "scores: %s is %v, not 0 to 1", label, v)
	}
	add(cfg.Unreadable != nil && !(*cfg.Unreadable >= 0 && *cfg.Unreadable <= 1), "unreadable must be 0 to 1")
	if !own {
		cfg.Scores = map[string]float64{"CORRECT": 1, "WRONG": 0}
	}
	if cfg.Prompt == "" {
		cfg.Prompt = judgePrompt
	}
	return errors.Join(problems...)
}

// reader returns how replies are read.
func (cfg *judgeSettings) reader() (func(string) (float64, bool), error) {
	if cfg.Pattern != "" {
		return cfg.numberReader()
	}
	labels := slices.Sorted(maps.Keys(cfg.Scores))
	if err := CheckLabels(labels); err != nil {
		return nil, fmt.Errorf("scores: %w", err)
	}
	return func(reply string) (float64, bool) {
		label, _, ok := ParseLabel(reply, labels)
		return cfg.Scores[label], ok
	}, nil
}

// numberReader reads the number of the pattern's first group. One outside the range is not readable.
func (cfg *judgeSettings) numberReader() (func(string) (float64, bool), error) {
	re, err := regexp.Compile(cfg.Pattern)
	if err != nil {
		return nil, fmt.Errorf("pattern: %w", err)
	}
	if re.NumSubexp() != 1 {
		return nil, fmt.Errorf("pattern: it has %d groups; one is needed, around the number", re.NumSubexp())
	}
	worst, best := cfg.Range[0], cfg.Range[1]
	return func(reply string) (float64, bool) {
		found := re.FindAllStringSubmatch(WithoutThoughts(reply), -1)
		if len(found) == 0 {
			return 0, false
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(found[len(found)-1][1]), 64)
		score := (v - worst) / (best - worst)
		return score, err == nil && !math.IsNaN(score) && score >= 0 && score <= 1
	}, nil
}

// Close frees the model.
func (g *chatJudge) Close() error { return g.model.Close() }

// Grade asks the model about every answer. An empty answer has the score 0 without being asked about.
func (g *chatJudge) Grade(ctx context.Context, answers []Answer) ([]float64, error) {
	scores := make([]float64, len(answers))
	var requests []Request
	var of []int // the answer of each request
	for i, a := range answers {
		if _, ok := g.Key(a.Text); !ok {
			continue
		}
		if g.NeedsReference() {
			if err := checkAll(g, a.References); err != nil {
				return nil, &AnswerError{i, err}
			}
		}
		text, err := g.prompt.Write(g.values(a, a.References))
		if err != nil {
			return nil, &AnswerError{i, err}
		}
		requests, of = append(requests, Request{g.system, text}), append(of, i)
	}
	replies, err := g.model.Answer(ctx, requests)
	if err != nil {
		return nil, about(err, of)
	}
	for n, reply := range replies {
		score, ok := g.read(reply)
		g.model.Count(ctx, ok)
		switch {
		case ok:
			scores[of[n]] = score
		case g.unreadable != nil:
			scores[of[n]] = *g.unreadable
		default:
			return nil, &AnswerError{of[n], fmt.Errorf("the judge's reply %s has no score; set unreadable to the score of such answers", textfile.Quoted(textfile.Short(reply)))}
		}
	}
	return scores, nil
}

// about turns the number of a request in an error into that of its answer.
func about(err error, of []int) error {
	if one, ok := errors.AsType[*AnswerError](err); ok {
		return &AnswerError{of[one.Index], one.Err}
	}
	return err
}
