package expert

import (
	"sort"
	"strings"

	"pipe/experts/builder/part"
)

// longestFitting returns the longest prefix of passages that fits, given that
// all of them do not: whole passages, then the beginning of the next. If a
// prefix does not fit, longer ones must not fit either. It returns false if
// even the empty prefix does not fit.
func longestFitting(passages []part.Passage, fits func([]part.Passage) bool) ([]part.Passage, bool) {
	total := 0
	for _, p := range passages {
		total += len(strings.Fields(p.Text))
	}
	tooMany := sort.Search(total, func(words int) bool { return !fits(firstWords(passages, words)) })
	if tooMany == 0 {
		return nil, false
	}
	return firstWords(passages, tooMany-1), true
}

// firstWords truncates passages after a number of words; it drops a passage
// that becomes empty.
func firstWords(passages []part.Passage, words int) []part.Passage {
	var kept []part.Passage
	for _, p := range passages {
		if words == 0 {
			break
		}
		list := strings.Fields(p.Text)
		if len(list) > words {
			p.Text = strings.Join(list[:words], " ")
		}
		words -= min(words, len(list))
		kept = append(kept, p)
	}
	return kept
}
