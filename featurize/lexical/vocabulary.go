package lexical

import "strings"

// vocabulary is the tokens, and what each counts as.
type vocabulary struct {
	tokens   []string
	words    int    // tokens that are whole words: those from firstToken on
	features int    // words and n-grams that count
	bags     matrix // tokens x features: how often a feature is in a token
}

// firstToken is the id of the first token with a row that is not zero.
const firstToken = 3

// newVocabulary chooses tokens and features. The features are the words with a token, then the n-grams.
func newVocabulary(c *census, o Options) *vocabulary {
	words := mostFrequent(c.words, o.MinTexts, o.MaxWords)
	grams := mostFrequent(c.grams, o.MinTexts, o.MaxGrams)
	heads, tails := pieces(c, grams, words, o)
	v := &vocabulary{tokens: []string{padToken, unknownToken, textToken}, words: len(words), features: len(words) + len(grams)}
	v.tokens = append(v.tokens, words...)
	v.tokens = append(v.tokens, heads...)
	for _, tail := range tails {
		v.tokens = append(v.tokens, continuing+tail)
	}
	b := &bagger{o: o, grams: make(map[string]int32, len(grams))}
	for i, gram := range grams {
		b.grams[gram] = int32(len(words) + i)
	}
	rows := make([]map[int32]float64, len(v.tokens))
	for id := range rows {
		rows[id] = map[int32]float64{}
		switch {
		case id < firstToken:
		case id < firstToken+len(words):
			rows[id][int32(id-firstToken)] = 1
			b.whole(rows[id], v.tokens[id])
		case id < firstToken+len(words)+len(heads):
			b.part(rows[id], " "+v.tokens[id])
		default:
			b.part(rows[id], strings.TrimPrefix(v.tokens[id], continuing))
		}
	}
	v.bags = newMatrix(rows, v.features)
	return v
}

// bagger counts the n-grams of tokens.
type bagger struct {
	o     Options
	grams map[string]int32
}

func (b *bagger) whole(row map[int32]float64, word string) {
	gramsOf(padded(word), b.o.MinGram, b.o.MaxGram, b.adder(row))
}

func (b *bagger) part(row map[int32]float64, text string) {
	gramsInside(text, b.o.MinGram, b.o.MaxGram, b.adder(row))
}

func (b *bagger) adder(row map[int32]float64) func(string) {
	return func(gram string) {
		if feature, ok := b.grams[gram]; ok {
			row[feature]++
		}
	}
}

// pieces are the texts that begin and continue words without a token of their own: characters, without which such words
// could not be spelled, and the n-grams that count, without the spaces around the word. Words are left out of those that
// begin words: their token serves.
func pieces(c *census, grams, words []string, o Options) (heads, tails []string) {
	if o.MaxPieces == 0 || o.MaxGrams == 0 {
		return nil, nil
	}
	head, tail := map[string]int{}, map[string]int{}
	for _, char := range mostFrequent(c.characters, o.MinTexts, o.MaxPieces/2) {
		head[char], tail[char] = c.characters[char], c.characters[char]
	}
	for _, gram := range grams {
		rest, begins := strings.CutPrefix(gram, " ")
		rest = strings.TrimSuffix(rest, " ")
		to := tail
		if begins {
			to = head
		}
		if rest != "" {
			to[rest] = max(to[rest], c.grams[gram])
		}
	}
	for _, word := range words {
		delete(head, word)
	}
	return share(head, tail, c.characters, o)
}

// share takes the characters, and of the longer pieces the most frequent that there is room for.
func share(head, tail, characters map[string]int, o Options) (heads, tails []string) {
	ranked := make(map[string]int, len(head)+len(tail))
	rank := func(prefix string, pieces map[string]int) {
		for piece, texts := range pieces {
			if _, one := characters[piece]; one {
				texts += 1 << 40 // before all others
			}
			ranked[prefix+piece] = texts
		}
	}
	rank("", head)
	rank(continuing, tail)
	kept := mostFrequent(ranked, 0, o.MaxPieces)
	for _, piece := range kept {
		if rest, continues := strings.CutPrefix(piece, continuing); continues {
			tails = append(tails, rest)
		} else {
			heads = append(heads, piece)
		}
	}
	return heads, tails
}
