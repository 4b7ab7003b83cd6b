package expert

import (
	"sort"
	"strings"

	"pipe/costs/builder/part"
)

// longestFitting returns as much of passages, all of which do not fit, as fits:
// whole ones from the first on, then the beginning of the next. Longer showings
// must not fit where shorter ones do not. It reports false if not even no passage
// fits.
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

// firstWords cuts passages after a number of words; one of which nothing is left
// is left out.
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
