package lexical

import "unicode/utf8"

// gramsOf calls visit with the n-grams of text, of first to last characters, as often as they occur. A text that is
// shorter than n is its own n-gram, once: as in the analyzer char_wb of scikit-learn.
func gramsOf(text string, first, last int, visit func(gram string)) {
	starts := startsOf(text)
	count := len(starts) - 1
	for n := first; n <= last; n++ {
		if n >= count {
			visit(text)
			return
		}
		for i := 0; i+n <= count; i++ {
			visit(text[starts[i]:starts[i+n]])
		}
	}
}

// gramsInside is gramsOf for a part of a word: no shorter text stands for an n-gram.
func gramsInside(text string, first, last int, visit func(gram string)) {
	gramsOf(text, first, min(last, utf8.RuneCountInString(text)), visit)
}

// startsOf are the positions of the characters of a text, and its length.
func startsOf(text string) []int {
	starts := make([]int, 0, len(text)+1)
	for i := range text {
		starts = append(starts, i)
	}
	return append(starts, len(text))
}

// padded is a word as its n-grams see it.
func padded(word string) string { return " " + word + " " }
