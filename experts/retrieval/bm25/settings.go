package bm25

import (
	"errors"
	"fmt"
)

// Settings define the ranking. They are part of the index, since its bounds on
// scores hold for these values only.
type Settings struct {
	K1        float64 `json:"k1"`         // > 0: how soon the score saturates when a word is repeated
	B         float64 `json:"b"`          // 0 to 1: how much the length of a page counts
	StopWords bool    `json:"stop_words"` // leave out the most common English words
	Stem      bool    `json:"stem"`       // replace English plurals by their singulars
	Title     int     `json:"title"`      // how often the words of the title count as words of the page
}

// maxTitle is the largest weight of titles.
const maxTitle = 100

// DefaultSettings returns the defaults; docs/retrieval.md explains them.
func DefaultSettings() Settings {
	return Settings{K1: 0.9, B: 0.4, StopWords: true, Stem: true, Title: 2}
}

// Validate reports every problem at once.
func (s Settings) Validate() error {
	var problems []error
	if !(s.K1 > 0 && s.K1 <= 100) {
		problems = append(problems, fmt.Errorf("k1 is %v, not a number above 0 and up to 100", s.K1))
	}
	if !(s.B >= 0 && s.B <= 1) {
		problems = append(problems, fmt.Errorf("b is %v, not a number from 0 to 1", s.B))
	}
	if s.Title < 0 || s.Title > maxTitle {
		problems = append(problems, fmt.Errorf("title is %d, not 0 to %d", s.Title, maxTitle))
	}
	return errors.Join(problems...)
}
