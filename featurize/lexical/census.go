package lexical

import (
	"cmp"
	"maps"
	"slices"
	"unicode/utf8"

	"pipe/featurize/tokenizer"
)

// census has, for words, n-grams and characters, in how many texts they are.
type census struct {
	words, grams, characters map[string]int
}

// countTexts counts the words of all texts, and what they are made of.
func countTexts(split *tokenizer.Tokenizer, texts []string, o Options) *census {
	c := &census{words: map[string]int{}, grams: map[string]int{}, characters: map[string]int{}}
	grams, characters := &partCount{of: map[string][]int32{}, ids: map[string]int32{}}, &partCount{of: map[string][]int32{}, ids: map[string]int32{}}
	for n, text := range texts {
		words := split.Words(text)
		slices.Sort(words)
		for _, word := range slices.Compact(words) {
			if utf8.RuneCountInString(word) > longestWord {
				continue
			}
			c.words[word]++
			characters.add(n, word, func(visit func(string)) { gramsInside(word, 1, 1, visit) })
			if o.MaxGrams > 0 {
				grams.add(n, word, func(visit func(string)) { gramsOf(padded(word), o.MinGram, o.MaxGram, visit) })
			}
		}
	}
	grams.into(c.grams)
	characters.into(c.characters)
	return c
}

// partCount counts the texts that have a part of a word.
type partCount struct {
	of    map[string][]int32 // the parts of each word, once each
	ids   map[string]int32
	texts []int // that have the part
	last  []int // 1 + the last text that was counted
}

// add counts the parts of a word of text n that no other word of it has.
func (p *partCount) add(n int, word string, each func(visit func(string))) {
	parts, known := p.of[word]
	if !known {
		each(func(part string) { parts = append(parts, p.id(part)) })
		slices.Sort(parts)
		parts = slices.Clip(slices.Compact(parts))
		p.of[word] = parts
	}
	for _, id := range parts {
		if p.last[id] != n+1 {
			p.last[id] = n + 1
			p.texts[id]++
		}
	}
}

func (p *partCount) id(part string) int32 {
	id, known := p.ids[part]
	if !known {
		id = int32(len(p.texts))
		p.ids[part], p.texts, p.last = id, append(p.texts, 0), append(p.last, 0)
	}
	return id
}

func (p *partCount) into(counts map[string]int) {
	for part, id := range p.ids {
		counts[part] = p.texts[id]
	}
}

// mostFrequent returns names that enough texts have, the most frequent first, up to a limit. Equal counts
// are in order of the names.
func mostFrequent(counts map[string]int, atLeast, most int) []string {
	names := slices.DeleteFunc(slices.Collect(maps.Keys(counts)), func(name string) bool { return counts[name] < atLeast })
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b)) })
	return names[:min(most, len(names))]
}
