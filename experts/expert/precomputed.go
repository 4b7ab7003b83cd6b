package expert

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"pipe/costs"
	"pipe/costs/observe"
	"pipe/experts/builder/part"
	"pipe/internal/storage"
	"pipe/internal/textfile"
)

// precomputed reads its answers from a file in long form: one row per instance
// and, if there are such columns, per expert and advice. Without an advice
// column only the answers without advice are known.
type precomputed struct {
	answers map[answerKey]part.Prediction
	takes   []string // advice for which the file has answers
	advice  []string // all levels
	timed   bool     // the file has the time of answers
	metered bool
	facts   []string
}

type answerKey struct{ id, advice string }

type precomputedSettings struct {
	File       part.Path         `json:"file"`
	ID         string            `json:"id"`           // columns
	Expert     string            `json:"expert"`       // "": all rows belong to this expert
	As         string            `json:"as"`           // name of the expert in the file; "": its name here
	Advice     string            `json:"advice"`       // "": the answers are without advice
	Prediction string            `json:"prediction"`   // "": the file has losses
	Loss       string            `json:"loss"`         // "": the build's task loss judges the predictions
	Fee        string            `json:"measured_fee"` // "": none. The key fee is the expert's own fee
	Confidence string            `json:"confidence"`   // in the prediction, 0..1; "": none. An empty cell is not known
	LogProb    string            `json:"logprob"`      // of the prediction; "": none
	Finish     string            `json:"finish"`       // why the prediction ends; "": none
	LabelNames map[string]string `json:"label_names"`  // label in the file -> label here
	Seconds    string            `json:"seconds"`      // how long the answer took; "": not known
}

func newPrecomputed(ctx context.Context, s *part.Setup, settings map[string]any) (part.Expert, error) {
	cfg := precomputedSettings{ID: "id"}
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	if cfg.File == "" || cfg.Prediction == "" && cfg.Loss == "" {
		return nil, fmt.Errorf("file is %q; it must be set, and so must the column prediction or loss", string(cfg.File))
	}
	file := s.Path(cfg.File)
	if err := s.File(ctx, "answers", file); err != nil {
		return nil, err
	}
	e := &precomputed{advice: s.LevelNames(), metered: cfg.Fee != "", facts: cfg.observes(s.Loss)}
	if cfg.As == "" {
		cfg.As = s.Name
	}
	if err := e.read(ctx, file, &cfg, s.Labels, s.Held); err != nil {
		return nil, err
	}
	if err := e.readSeconds(ctx, file, &cfg, s.Held); err != nil {
		return nil, err
	}
	return e, e.complete(file.String(), s.Source.Entries(), s.Unavailable)
}

// read reads the rows of this expert.
func (e *precomputed) read(ctx context.Context, file storage.Location, cfg *precomputedSettings, labels []string, held *textfile.MemoryBudget) error {
	ids, texts := textfile.NewNames(held), textfile.NewNames(held)
	e.answers = make(map[answerKey]part.Prediction)
	found := make(map[string]bool)
	err := part.EachRow(ctx, file, func(have *part.Columns) ([]string, error) {
		return have.Existing(cfg.ID, cfg.Expert, cfg.Advice, cfg.Prediction, cfg.Loss, cfg.Fee, cfg.Confidence, cfg.LogProb, cfg.Finish)
	}, func(cells []string, line int) error {
		bad := func(name, format string, args ...any) error {
			return &costs.DataError{File: file.String(), Row: line, Column: name, Msg: fmt.Sprintf(format, args...)}
		}
		if cfg.Expert != "" && cells[1] != cfg.As {
			return nil
		}
		key := answerKey{cells[0], e.advice[0]}
		if cfg.Advice != "" {
			key.advice = cells[2]
		}
		level := slices.Index(e.advice, key.advice)
		if level < 0 {
			return bad(cfg.Advice, "unknown advice %q; known are %s", key.advice, strings.Join(e.advice, ", "))
		}
		key.advice = e.advice[level] // does not keep the text of the row in memory
		if _, ok := e.answers[key]; ok {
			return bad(cfg.ID, "%q has a second answer under advice %q", key.id, key.advice)
		}
		p, err := cfg.prediction(cells[3], cells[4], cells[5], labels, bad)
		if err != nil {
			return err
		}
		if err := held.Add(answerBytes); err != nil {
			return err
		}
		id, err := ids.Add(key.id)
		if err != nil {
			return err
		}
		label, err := texts.Add(p.Label)
		if err != nil {
			return err
		}
		key.id, p.Label = ids.List()[id], texts.List()[label]
		if p.Seen, err = cfg.seen(cells[6], cells[7], cells[8], bad); err != nil {
			return err
		}
		if p.Seen != nil {
			finish, err := texts.Add(p.Seen.Finish)
			if err == nil {
				err = held.Add(seenBytes)
			}
			if err != nil {
				return err
			}
			p.Seen.Finish = texts.List()[finish]
		}
		e.answers[key] = p
		found[key.advice] = true
		return nil
	})
	if err != nil {
		return err
	}
	if len(e.answers) == 0 {
		return &costs.DataError{File: file.String(), Column: cfg.Expert, Msg: fmt.Sprintf("no row of expert %q", cfg.As)}
	}
	for _, name := range e.advice {
		if found[name] {
			e.takes = append(e.takes, name)
		}
	}
	return nil
}

// answerBytes is about the memory of an answer in the map, without its texts.
const answerBytes = 160

// seenBytes is about the memory of the facts of an answer.
const seenBytes = 96

// prediction checks one answer.
func (cfg *precomputedSettings) prediction(label, loss, fee string, labels []string, bad func(string, string, ...any) error) (part.Prediction, error) {
	p := part.Prediction{Label: label}
	if here, ok := cfg.LabelNames[label]; ok {
		p.Label = here
	}
	if cfg.Prediction != "" && cfg.Loss == "" && len(labels) > 0 && !slices.Contains(labels, p.Label) {
		return p, bad(cfg.Prediction, "unknown label %q; known are %s", p.Label, textfile.Listed(labels, part.NamesShown))
	}
	for _, n := range []struct {
		name, text string
		to         *float32
	}{{cfg.Loss, loss, &p.Loss}, {cfg.Fee, fee, &p.Fee}} {
		if n.name == "" {
			continue
		}
		v, err := textfile.ParseFloat32(n.text)
		if err != nil || v < 0 {
			return p, bad(n.name, "%q is not a finite, non-negative number", textfile.Short(n.text))
		}
		*n.to = v
	}
	p.Judged = cfg.Loss != ""
	return p, nil
}

// observes are the facts of columns, the label, and of open answers what their text shows.
func (cfg *precomputedSettings) observes(loss part.TaskLoss) (facts []string) {
	_, open := loss.(part.OpenLoss)
	switch {
	case cfg.Prediction == "":
	case open:
		facts = append(facts, observe.Length, observe.JSON)
	default:
		facts = append(facts, observe.Label)
	}
	for name, column := range map[string]string{observe.Confidence: cfg.Confidence, observe.LogProb: cfg.LogProb, observe.Finish: cfg.Finish} {
		if column != "" {
			facts = append(facts, name)
		}
	}
	return facts
}

// seen checks the facts of one answer. It returns nil if there are no columns of facts. An empty cell is not known.
func (cfg *precomputedSettings) seen(confidence, logprob, finish string, bad func(string, string, ...any) error) (*observe.Answer, error) {
	if cfg.Confidence == "" && cfg.LogProb == "" && cfg.Finish == "" {
		return nil, nil
	}
	s := observe.Unknown()
	s.Finish = finish
	for _, n := range []struct {
		name, text, what string
		least, most      float32
		to               *float64
	}{
		{cfg.Confidence, confidence, "a number from 0 to 1", 0, 1, &s.Confidence},
		{cfg.LogProb, logprob, "a logarithm of a probability: a finite number of at most 0", -math.MaxFloat32, 0, &s.LogProb},
	} {
		if n.name == "" || n.text == "" {
			continue
		}
		v, err := textfile.ParseFloat32(n.text)
		if err != nil || v < n.least || v > n.most {
			return nil, bad(n.name, "%q is not %s", textfile.Short(n.text), n.what)
		}
		*n.to = float64(v)
	}
	return &s, nil
}

// complete returns an error about answers that are missing from the file, with
// their number and the first few.
func (e *precomputed) complete(file string, entries []part.Entry, unavailable []string) error {
	var missing []string
	count := 0
	for _, name := range e.takes {
		if slices.Contains(unavailable, name) {
			continue
		}
		for _, in := range entries {
			if _, ok := e.answers[answerKey{in.ID, name}]; !ok {
				if count++; count <= 5 {
					missing = append(missing, fmt.Sprintf("%s under %s", in.ID, name))
				}
			}
		}
	}
	if count == 0 {
		return nil
	}
	return &costs.DataError{File: file, Msg: fmt.Sprintf("%d answers are missing, such as %s", count, strings.Join(missing, "; "))}
}

// Takes reports whether the file has answers for an advice.
func (e *precomputed) Takes(advice string) bool { return slices.Contains(e.takes, advice) }

// TakeFields returns nil, since the answers were recorded under the advice.
func (e *precomputed) TakeFields(part.FieldSetter) error { return nil }

// Replays returns true, since the answers come from a file.
func (e *precomputed) Replays() bool { return true }

// Observes are the facts that the file has, and those of its predictions.
func (e *precomputed) Observes() []string { return e.facts }

// Metered reports whether the file has a fee column.
func (e *precomputed) Metered() bool { return e.metered }

// Predict looks up the answers.
func (e *precomputed) Predict(_ context.Context, batch []part.Instance, shown [][]part.AdvicePayload) ([][]part.Prediction, error) {
	out := make([][]part.Prediction, len(shown))
	for k, level := range shown {
		if level == nil {
			continue
		}
		out[k] = make([]part.Prediction, len(batch))
		for n := range batch {
			out[k][n] = e.answers[answerKey{batch[n].ID, e.advice[k]}]
		}
	}
	return out, nil
}

// Close does nothing.
func (e *precomputed) Close() error { return nil }
