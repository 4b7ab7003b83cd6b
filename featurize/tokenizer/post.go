package tokenizer

// slot is a part of a finished encoding: the first text, the second, or special
// tokens.
type slot struct {
	text    int // 0 or 1; -1: special tokens
	special []int32
	kind    int32 // segment of these ids
}

// templates describe the encodings of one text and of a pair of texts.
type templates struct{ single, pair []slot }

// plain concatenates texts without special tokens.
var plain = templates{
	single: []slot{{text: 0}},
	pair:   []slot{{text: 0}, {text: 1, kind: 1}},
}

// parsePost reads a component of the section post_processor. The second result
// reports that it does not change ids.
func parsePost(o *object, vocab *vocabulary) (t templates, idle bool) {
	switch kind := o.kind(); kind {
	case "TemplateProcessing":
		t = parseTemplates(o, vocab)
	case "BertProcessing":
		cls, sep := parseNamed(o, "cls", vocab), parseNamed(o, "sep", vocab)
		t = templates{
			single: []slot{special(cls, 0), {text: 0}, special(sep, 0)},
			pair:   []slot{special(cls, 0), {text: 0}, special(sep, 0), {text: 1, kind: 1}, special(sep, 1)},
		}
	case "RobertaProcessing":
		o.ignore("trim_offsets", "add_prefix_space")
		cls, sep := parseNamed(o, "cls", vocab), parseNamed(o, "sep", vocab)
		t = templates{
			single: []slot{special(cls, 0), {text: 0}, special(sep, 0)},
			pair:   []slot{special(cls, 0), {text: 0}, special(sep, 0), special(sep, 0), {text: 1}, special(sep, 0)},
		}
	case "ByteLevel":
		o.ignore("trim_offsets", "add_prefix_space", "use_regex")
		t, idle = plain, true
	case "Sequence":
		t, idle = parsePosts(o, vocab)
	default:
		o.unsupported("type", "post-processor %q", kind)
	}
	o.done()
	return t, idle
}

// parsePosts reads a sequence, in which at most one component may change ids.
func parsePosts(o *object, vocab *vocabulary) (templates, bool) {
	all, idle := plain, true
	for _, step := range o.objects("processors") {
		t, none := parsePost(step, vocab)
		switch {
		case none:
		case !idle:
			step.unsupported("type", "a second post-processor that adds tokens")
		default:
			all, idle = t, false
		}
	}
	return all, idle
}

func special(id, kind int32) slot { return slot{text: -1, special: []int32{id}, kind: kind} }

// parseNamed reads ["[SEP]", 102].
func parseNamed(o *object, key string, vocab *vocabulary) int32 {
	list := field[[]any](o, key)
	if len(list) != 2 {
		o.fail(key, "is not a token and its id")
		return 0
	}
	id, isNumber := list[1].(float64)
	if !isNumber || !vocab.has(id) {
		o.fail(key, "%v is not the id of a token", list[1])
		return 0
	}
	return int32(id)
}

// has reports whether a number is the id of a token.
func (v *vocabulary) has(id float64) bool {
	if id < 0 || id >= float64(v.size) || id != float64(int32(id)) {
		return false
	}
	_, ok := v.tokens[int32(id)]
	return ok
}

func parseTemplates(o *object, vocab *vocabulary) templates {
	tokens := map[string][]int32{}
	if list := o.object("special_tokens"); list != nil {
		for name := range list.fields {
			if t := list.object(name); t != nil {
				tokens[name] = parseSpecial(t, vocab)
			}
		}
	}
	return templates{single: parseTemplate(o, "single", 1, tokens), pair: parseTemplate(o, "pair", 2, tokens)}
}

func parseSpecial(o *object, vocab *vocabulary) []int32 {
	o.ignore("id", "tokens")
	var ids []int32
	for _, id := range field[[]float64](o, "ids") {
		if !vocab.has(id) {
			o.fail("ids", "%v is not the id of a token", id)
			return nil
		}
		ids = append(ids, int32(id))
	}
	o.done()
	return ids
}

// parseTemplate reads the slots for a number of texts.
func parseTemplate(o *object, key string, texts int, tokens map[string][]int32) []slot {
	var slots []slot
	for _, place := range o.objects(key) {
		var s slot
		switch {
		case place.fields["Sequence"] != nil:
			s = parseText(place.object("Sequence"), texts)
		case place.fields["SpecialToken"] != nil:
			s = parseSpecialSlot(place.object("SpecialToken"), tokens)
		default:
			place.fail("", "is neither Sequence nor SpecialToken")
		}
		place.done()
		slots = append(slots, s)
	}
	return slots
}

func parseText(o *object, texts int) (s slot) {
	if o == nil {
		return s
	}
	id := field[string](o, "id")
	switch {
	case id == "B" && texts == 2:
		s.text = 1
	case id != "A":
		o.fail("id", "%q does not name one of %d texts", id, texts)
	}
	s.kind = field[int32](o, "type_id")
	o.done()
	return s
}

func parseSpecialSlot(o *object, tokens map[string][]int32) slot {
	s := slot{text: -1}
	if o == nil {
		return s
	}
	id := field[string](o, "id")
	ids, known := tokens[id]
	if !known {
		o.fail("id", "%q is not in special_tokens", id)
	}
	s.special, s.kind = ids, field[int32](o, "type_id")
	o.done()
	return s
}

// specials counts the special tokens of a template.
func specials(slots []slot) int {
	n := 0
	for _, s := range slots {
		n += len(s.special)
	}
	return n
}

// fill builds an encoding from the ids of the texts.
func fill(slots []slot, special bool, texts ...[]int32) Encoding {
	n := 0
	for _, s := range slots {
		n += len(s.ids(special, texts))
	}
	both := make([]int32, 2*n)
	e := Encoding{IDs: both[:0:n], Types: both[n:n]}
	for _, s := range slots {
		for _, id := range s.ids(special, texts) {
			e.IDs, e.Types = append(e.IDs, id), append(e.Types, s.kind)
		}
	}
	return e
}

// ids are the ids of a slot.
func (s slot) ids(special bool, texts [][]int32) []int32 {
	switch {
	case s.text >= 0:
		return texts[s.text]
	case special:
		return s.special
	}
	return nil
}

// Encoding is the ids of a text or a pair of texts.
type Encoding struct {
	IDs   []int32
	Types []int32 // segment of each id: 0, or 1 if the file sets it for the second text
}
