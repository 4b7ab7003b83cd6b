package expert

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"pipe/costs"
	"pipe/experts/builder/part"
	"pipe/experts/language"
	"pipe/featurize/tokenizer"
	"pipe/internal/textfile"
)

// pairClassifier is a model of natural language inference. The premise is the shown
// evidence, and the hypothesis is the claim.
type pairClassifier struct {
	*language.Pair
	labels []string // by class of the model
	cfg    pairClassifierSettings
}

type pairClassifierSettings struct {
	language.PairSettings
	LabelNames map[string]string `json:"label_names"` // class in config.json -> label here; none: see inference
	NoEvidence string            `json:"no_evidence"` // the premise if nothing is shown
	Titles     bool              `json:"titles"`      // a passage starts with the name of its page
}

// inference maps the classes of inference models to the labels of claims.
var inference = map[string]string{
	"entailment":    "SUPPORTS",
	"contradiction": "REFUTES",
	"neutral":       "NOT ENOUGH INFO",
}

func newPairClassifier(ctx context.Context, s *part.Setup, settings map[string]any) (part.Expert, error) {
	cfg := pairClassifierSettings{PairSettings: language.DefaultPairSettings(), Titles: true}
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	f, err := language.OpenFolder(ctx, s, &cfg.FolderSettings)
	if err != nil {
		return nil, err
	}
	labels, err := classLabels(f.Classes(), cfg.LabelNames, s.Labels)
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", f.Path(), err)
	}
	model, err := language.OpenPair(s, &cfg.PairSettings, f, len(labels))
	if err != nil {
		return nil, err
	}
	return &pairClassifier{Pair: model, labels: labels, cfg: cfg}, nil
}

// classLabels returns the labels of a model's classes, in the order of the classes.
// It is an error if a class has no label, or a label no class.
func classLabels(classes, names map[string]string, labels []string) ([]string, error) {
	if len(classes) == 0 {
		return nil, errors.New("config.json does not name the classes (id2label)")
	}
	if len(names) == 0 {
		names = inference
	}
	out := make([]string, len(classes))
	for i := range out {
		class, ok := classes[strconv.Itoa(i)]
		if !ok {
			return nil, fmt.Errorf("id2label of config.json has %d classes, but class %d is missing", len(classes), i)
		}
		if out[i], ok = names[class]; !ok {
			out[i], ok = names[strings.ToLower(class)]
		}
		if !ok {
			return nil, fmt.Errorf("label_names has no label for class %q; the model's classes are %s", class, textfile.Listed(slices.Sorted(maps.Values(classes)), part.NamesShown))
		}
		if slices.Contains(out[:i], out[i]) {
			return nil, fmt.Errorf("label_names gives label %q to two classes", out[i])
		}
		if !slices.Contains(labels, out[i]) {
			return nil, fmt.Errorf("label_names: unknown label %q of class %q; known are %s", out[i], class, textfile.Listed(labels, part.NamesShown))
		}
	}
	for _, l := range labels {
		if !slices.Contains(out, l) {
			return nil, fmt.Errorf("label_names: no class has label %q", l)
		}
	}
	return out, nil
}

// Labels returns the labels in the order of the probabilities.
func (e *pairClassifier) Labels() []string { return e.labels }

// Predict classifies every claim with its evidence. Batches are formed within a
// level, so that an answer does not depend on which other levels are requested.
func (e *pairClassifier) Predict(ctx context.Context, batch []part.Instance, shown [][]part.AdvicePayload) ([][]part.Prediction, error) {
	out := make([][]part.Prediction, len(shown))
	for k, level := range shown {
		if level == nil {
			continue
		}
		pairs := make([]tokenizer.Encoding, len(batch))
		for n := range batch {
			if err := batch[n].NeedText(); err != nil {
				return nil, err
			}
			var err error
			if pairs[n], err = e.Encode(e.premise(level[n].Passages), batch[n].Text); err != nil {
				return nil, &costs.DataError{Msg: fmt.Sprintf("instance %q", batch[n].ID), Err: err}
			}
		}
		scores, err := e.Logits(ctx, pairs)
		if err != nil {
			return nil, err
		}
		out[k] = make([]part.Prediction, len(batch))
		for n := range batch {
			row := scores[n*len(e.labels) : (n+1)*len(e.labels)]
			softmax(row)
			out[k][n] = part.Prediction{Label: e.labels[Argmax(row)], Probabilities: row}
		}
	}
	return out, nil
}

// premise joins the passages.
func (e *pairClassifier) premise(passages []part.Passage) string {
	if len(passages) == 0 {
		return e.cfg.NoEvidence
	}
	texts := make([]string, len(passages))
	for i, p := range passages {
		texts[i] = p.Text
		if e.cfg.Titles && p.Page != "" {
			texts[i] = p.Title() + ": " + p.Text
		}
	}
	return strings.Join(texts, " ")
}
