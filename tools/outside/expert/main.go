// Expert builds costs with a kind of expert that pipe does not have: it answers with the last word of the text.
package main

import (
	"context"
	"log"
	"os"
	"strings"

	"pipe/experts/builder/part"
	"pipe/location"
	"pipe/onnx/ort"
	"pipe/pipeline/costing"
	"pipe/pipeline/stage"
)

// lastWord answers with the last word of a text, or with the label in its settings if the word is not a label.
type lastWord struct {
	labels []string
	Else   string `json:"else"`
}

func (e *lastWord) Predict(_ context.Context, batch []part.Instance, shown [][]part.AdvicePayload) ([][]part.Prediction, error) {
	answers := make([][]part.Prediction, len(shown))
	for k, level := range shown {
		if level == nil {
			continue // the expert is not asked under this advice
		}
		for _, in := range batch {
			answers[k] = append(answers[k], part.Prediction{Label: e.answer(in.Text)})
		}
	}
	return answers, nil
}

func (e *lastWord) answer(text string) string {
	for _, label := range e.labels {
		if strings.HasSuffix(text, label) {
			return label
		}
	}
	return e.Else
}

func (e *lastWord) Close() error { return nil }

func newLastWord(_ context.Context, s *part.Setup, settings map[string]any) (part.Expert, error) {
	s.Input("code", "1") // raised whenever the answers change
	e := &lastWord{labels: s.Labels}
	return e, s.Settings(settings, e)
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: expert CONFIG OUT")
	}
	kinds := &part.Kinds{Experts: map[string]part.NewExpert{"last_word": newLastWord}}
	o := costing.Options{Config: location.File(os.Args[1]), Out: location.File(os.Args[2]), Kinds: kinds, Runtime: ort.DefaultConfig()}
	r, err := costing.Run(context.Background(), o, stage.Quiet)
	if err != nil {
		log.Fatal(err)
	}
	if err := r.WriteText(os.Stdout); err != nil {
		log.Fatal(err)
	}
}
