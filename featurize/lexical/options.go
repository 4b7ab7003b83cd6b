package lexical

import (
	"fmt"
	"runtime"

	"pipe/internal/config"
)

// Options say what is counted in texts and how far it is reduced.
type Options struct {
	Dim       int    // components of the decomposition
	MinTexts  int    // texts that a word, an n-gram or a character must be in to count; from 1
	MaxWords  int    // words with a token of their own, the most frequent ones
	MaxGrams  int    // n-grams that count, the most frequent ones; 0: none
	MaxPieces int    // tokens for pieces of other words, the most frequent ones
	MinGram   int    // characters of the shortest n-grams; a word has a space on each side
	MaxGram   int    // characters of the longest ones
	Sublinear bool   // a token that is in a text c times counts 1 + ln c times
	MaxLength int    // most tokens of a text; longer texts are cut
	Facts     bool   // vectors have len(FactNames) more elements: counts of a text, see FactNames
	Seed      uint64 // of the start of the iteration
	Workers   int    // goroutines; 0: one per core
}

// DefaultOptions are those of pipe featurize --text.
func DefaultOptions() Options {
	return Options{
		Dim: 64, MinTexts: 2, MaxWords: 20_000, MaxGrams: 50_000, MaxPieces: 10_000, MinGram: 2, MaxGram: 5, Sublinear: true, MaxLength: 512,
	}
}

// Validate reports every problem at once.
func (o Options) Validate() error {
	var list config.Problems
	list.Check(o.Dim > 0, "dim is %d; it must be positive", o.Dim)
	list.Check(o.MinTexts > 0, "the least number of texts is %d; it must be positive", o.MinTexts)
	list.Check(o.MaxWords >= 0 && o.MaxGrams >= 0 && o.MaxPieces >= 0, "numbers of words, n-grams and pieces are %d, %d and %d; none may be negative", o.MaxWords, o.MaxGrams, o.MaxPieces)
	list.Check(o.MinGram > 0 && o.MinGram <= o.MaxGram, "n-grams have %d to %d characters; the first number must be positive and the second at least as large", o.MinGram, o.MaxGram)
	list.Check(o.MaxLength > 1, "texts have at most %d tokens; at least 2 are needed", o.MaxLength)
	list.Check(o.Workers >= 0, "workers is %d; it must be at least 0", o.Workers)
	if err := list.Err(); err != nil {
		return fmt.Errorf("lexical: %w", err)
	}
	return nil
}

func (o Options) workers() int {
	if o.Workers == 0 {
		return runtime.GOMAXPROCS(0)
	}
	return o.Workers
}
