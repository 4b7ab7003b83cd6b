package source

import (
	"context"
	"errors"

	"pipe/experts/builder/part"
)

// wordlist has one instance per word of its settings. Words of five letters and more are long.
type wordlist struct{ entries []part.Entry }

type wordlistSettings struct {
	Words []string `json:"words"`
}

func newWordlist(_ context.Context, s *part.Setup, settings map[string]any) (part.Source, error) {
	var cfg wordlistSettings
	if err := s.Settings(settings, &cfg); err != nil {
		return nil, err
	}
	if len(cfg.Words) == 0 {
		return nil, errors.New("words: not set")
	}
	w := &wordlist{}
	for _, word := range cfg.Words {
		label := "short"
		if len(word) >= 5 {
			label = "long"
		}
		w.entries = append(w.entries, part.Entry{ID: word, Label: label})
	}
	return w, nil
}

func (w *wordlist) Entries() []part.Entry { return w.entries }

func (w *wordlist) Columns() *part.Columns { return nil }

func (w *wordlist) Load(_ context.Context, rows []int) ([]part.Instance, error) {
	batch := make([]part.Instance, len(rows))
	for i, row := range rows {
		batch[i] = part.Instance{Entry: w.entries[row], Text: w.entries[row].ID, Row: row, Line: row + 1}
	}
	return batch, nil
}
