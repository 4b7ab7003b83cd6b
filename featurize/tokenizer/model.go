package tokenizer

import "encoding/json"

// model converts pieces to ids.
type model interface {
	// encode appends the ids of a non-empty piece to dst.
	encode(dst []int32, s *scratch, text string) []int32
}

// scratch is memory that encoding reuses. One goroutine uses it at a time.
type scratch struct {
	pieces []piece
	ids    []int32
	words  map[string][]int32 // ids of words seen before, for byte pair encoding
	merges mergeQueue
	chain  []symbol
	best   []arrival
}

// parseModel reads the section model and adds all tokens to vocab.
func parseModel(o *object, bytes bool, vocab *vocabulary) model {
	kind := o.kind()
	if bytes && kind != "BPE" {
		o.unsupported("type", "a model %q after the pre-tokenizer ByteLevel", kind)
	}
	defer o.done()
	switch kind {
	case "WordPiece":
		return parseWordPiece(o, vocab)
	case "BPE":
		return parseBPE(o, bytes, vocab)
	case "Unigram":
		return parseUnigram(o, vocab)
	}
	o.unsupported("type", "model %q", kind)
	return nil
}

// vocabulary maps tokens to ids and ids to tokens.
type vocabulary struct {
	ids    map[string]int32
	tokens map[int32]string
	size   int // 1 + the highest id
}

// read fills an empty vocabulary from the field vocab of a model.
func (v *vocabulary) read(o *object) {
	var raw json.RawMessage
	if raw = o.need("vocab"); raw == nil {
		return
	}
	o.decode("vocab", raw, &v.ids)
	v.tokens = make(map[int32]string, len(v.ids))
	for token, id := range v.ids {
		if other, taken := v.tokens[id]; taken {
			o.fail("vocab", "tokens %q and %q have the same id %d", min(token, other), max(token, other), id)
			return
		}
		v.put(o, token, id)
	}
}

// put adds a token.
func (v *vocabulary) put(o *object, token string, id int32) {
	if id < 0 || id == 1<<31-1 {
		o.fail("vocab", "token %q has id %d", token, id)
		return
	}
	v.ids[token], v.tokens[id] = id, token
	v.size = max(v.size, int(id)+1)
}

// unknown returns the id of the token in a field, -1 if the field is absent.
func (v *vocabulary) unknown(o *object, key string) int32 {
	token := fieldOr[*string](o, key, nil)
	if token == nil {
		return -1
	}
	id, ok := v.ids[*token]
	if !ok {
		o.fail(key, "token %q is not in the vocabulary", *token)
	}
	return id
}
