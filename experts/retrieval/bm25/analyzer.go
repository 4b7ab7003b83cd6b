package bm25

import (
	"unicode"
	"unicode/utf8"
)

// analyzer cuts texts into the words that are indexed and searched. It is not
// safe for concurrent use.
type analyzer struct {
	settings Settings
	word     []byte // the current word
}

// words calls take for every word of a text: a run of letters, digits and marks
// in lower case. Words that the settings exclude are skipped. The bytes are
// valid only during the call.
func (a *analyzer) words(text []byte, take func(word []byte)) {
	a.word = a.word[:0]
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			i++
			if lower := asciiWord[c]; lower != 0 {
				a.word = append(a.word, lower)
				continue
			}
		} else {
			r, size := utf8.DecodeRune(text[i:])
			i += size
			if r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)) {
				a.word = utf8.AppendRune(a.word, unicode.ToLower(r))
				continue
			}
		}
		a.end(take)
	}
	a.end(take)
}

// end ends the current word, if any.
func (a *analyzer) end(take func(word []byte)) {
	word := a.word
	a.word = a.word[:0]
	if len(word) == 0 || a.settings.StopWords && isStopWord(word) {
		return
	}
	if a.settings.Stem {
		word = singular(word)
	}
	take(word)
}

// asciiWord maps the ASCII bytes of words to lower case, and others to 0.
var asciiWord = func() (table [utf8.RuneSelf]byte) {
	for c := byte('0'); c <= '9'; c++ {
		table[c] = c
	}
	for c := byte('a'); c <= 'z'; c++ {
		table[c], table[c-'a'+'A'] = c, c
	}
	return table
}()

// stopWords are the most common words of English, and the letters that remain
// of contractions.
var stopWords = func() map[string]bool {
	set := make(map[string]bool)
	for _, word := range []string{
		"a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "d", "did", "do", "does", "for", "from", "had", "has", "have",
		"he", "her", "his", "i", "if", "in", "into", "is", "it", "its", "ll", "m", "of", "on", "or", "re", "s", "she", "so", "such",
		"t", "that", "the", "their", "there", "these", "they", "this", "to", "ve", "was", "were", "which", "who", "will", "with",
	} {
		set[word] = true
	}
	return set
}()

const longestStopWord = 5

func isStopWord(word []byte) bool { return len(word) <= longestStopWord && stopWords[string(word)] }

// singular removes the ending of an English plural, in place, by the rules of
// Harman's s-stemmer (How effective is suffixing?, 1991).
func singular(word []byte) []byte {
	n := len(word)
	if n < 3 || word[n-1] != 's' {
		return word
	}
	switch before := word[n-2]; {
	case before == 'u' || before == 's':
		return word
	case before != 'e':
		return word[:n-1]
	case n > 3 && word[n-3] == 'i':
		if n > 4 && (word[n-4] == 'e' || word[n-4] == 'a') {
			return word // -eies, -aies
		}
		word[n-3] = 'y'
		return word[:n-2]
	case word[n-3] == 'a' || word[n-3] == 'e' || word[n-3] == 'o':
		return word // -aes, -ees, -oes
	}
	return word[:n-1]
}
