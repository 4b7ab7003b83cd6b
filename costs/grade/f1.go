package grade

import (
	"context"
	"slices"
	"strings"

	"pipe/internal/config"
)

// f1 is the harmonic mean of precision and recall over the words that an answer and a reference share, as in SQuAD's
// evaluation.
type f1 struct{ normaliser }

type f1Settings struct {
	Ignore []string `json:"ignore"` // case, punctuation, articles; white space always separates words
}

func newF1(_ context.Context, settings map[string]any, _ Models) (Grader, error) {
	cfg := f1Settings{Ignore: slices.Clone(ignorable)}
	if err := config.DecodeSettings(settings, &cfg); err != nil {
		return nil, err
	}
	n, err := newNormaliser(cfg.Ignore)
	return texts{f1{n}}, err
}

func (g f1) words(text string) []string { return strings.FieldsFunc(g.text(text), isSpace) }

func (g f1) key(answer string) (string, bool) {
	key := strings.Join(g.words(answer), " ")
	return key, key != ""
}

// score is 2 PR / (P + R). Where one of the texts has no words, it is 1 if neither has.
func (g f1) score(answer, reference string) float64 {
	given, wanted := g.words(answer), g.words(reference)
	if len(given) == 0 || len(wanted) == 0 {
		if len(given) == len(wanted) {
			return 1
		}
		return 0
	}
	count := make(map[string]int, len(wanted))
	for _, w := range wanted {
		count[w]++
	}
	shared := 0
	for _, w := range given {
		if count[w] > 0 {
			count[w]--
			shared++
		}
	}
	return 2 * float64(shared) / float64(len(given)+len(wanted))
}
