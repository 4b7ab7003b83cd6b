package tokenizer

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// decoder rewrites the tokens of a text; the results are concatenated to the
// text.
type decoder func(tokens []string) []string

// parseDecoder reads a component of the section decoder.
func parseDecoder(o *object) decoder {
	d, growth := parseDecoderStep(o)
	checkGrowth(o, growth)
	return d
}

// parseDecoderStep also returns the factor by which replacements can lengthen a
// token.
func parseDecoderStep(o *object) (d decoder, growth int) {
	growth = 1
	switch kind := o.kind(); kind {
	case "WordPiece":
		d = parseWordPieceDecoder(o)
	case "ByteLevel":
		o.ignore("trim_offsets", "add_prefix_space", "use_regex")
		d = decodeBytes
	case "Metaspace":
		d = decodeMetaspace(parseMetaspace(o))
	case "BPEDecoder":
		d = parseSuffixDecoder(o)
	case "ByteFallback":
		d = decodeFallback
	case "Fuse":
		d = func(tokens []string) []string { return []string{strings.Join(tokens, "")} }
	case "Strip":
		d = decodeStrip(field[string](o, "content"), field[int](o, "start"), field[int](o, "stop"))
	case "Replace":
		var n normalizer
		n, growth = parseReplace(o)
		d = eachToken(func(_ int, token string) string { return n.normalize(token) })
	case "Sequence":
		d, growth = parseDecoders(o)
	default:
		o.unsupported("type", "decoder %q", kind)
	}
	o.done()
	return d, growth
}

func parseDecoders(o *object) (d decoder, growth int) {
	var all []decoder
	growth = 1
	for _, step := range o.objects("decoders") {
		d, g := parseDecoderStep(step)
		growth = min(growth*g, growthLimit+1)
		all = append(all, d)
	}
	return func(tokens []string) []string {
		for _, d := range all {
			tokens = d(tokens)
		}
		return tokens
	}, growth
}

// eachToken rewrites token by token.
func eachToken(rewrite func(i int, token string) string) decoder {
	return func(tokens []string) []string {
		out := make([]string, len(tokens))
		for i, token := range tokens {
			out[i] = rewrite(i, token)
		}
		return out
	}
}

// cleanups are the replacements of the WordPiece decoder for spaces before
// punctuation and contractions, in this order.
var cleanups = [][2]string{
	{" .", "."},
	{" ?", "?"},
	{" !", "!"},
	{" ,", ","},
	{" ' ", "'"},
	{" n't", "n't"},
	{" 'm", "'m"},
	{" do not", " don't"},
	{" 's", "'s"},
	{" 've", "'ve"},
	{" 're", "'re"},
}

func parseWordPieceDecoder(o *object) decoder {
	prefix, cleanup := field[string](o, "prefix"), field[bool](o, "cleanup")
	return eachToken(func(i int, token string) string {
		if i > 0 {
			if rest, ok := strings.CutPrefix(token, prefix); ok {
				token = rest
			} else {
				token = " " + token
			}
		}
		if cleanup {
			for _, c := range cleanups {
				token = strings.ReplaceAll(token, c[0], c[1])
			}
		}
		return token
	})
}

// decodeBytes converts byte spellings to bytes. Tokens with other characters,
// such as added tokens, are unchanged.
func decodeBytes(tokens []string) []string {
	var b []byte
	for _, token := range tokens {
		start := len(b)
		for _, r := range token {
			c, ok := spelledByte[r]
			if !ok {
				b = append(b[:start], token...)
				break
			}
			b = append(b, c)
		}
	}
	return []string{lossy(b)}
}

// lossy decodes bytes as UTF-8 and replaces each maximal part of an invalid
// character with U+FFFD, as Unicode 3.9 recommends.
func lossy(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	var s strings.Builder
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		if r == utf8.RuneError && size == 1 {
			size = brokenPart(b)
		}
		s.WriteRune(r)
		b = b[size:]
	}
	return s.String()
}

// brokenPart is the length of the longest prefix of b that begins a valid
// character, at least 1.
func brokenPart(b []byte) int {
	for n := min(3, len(b)); n > 1; n-- {
		for _, rest := range []string{"\x80", "\x90", "\x80\x80", "\x90\x80"} {
			if utf8.ValidString(string(b[:n]) + rest) {
				if _, size := utf8.DecodeRuneInString(string(b[:n]) + rest); size == n+len(rest) {
					return n
				}
			}
		}
	}
	return 1
}

func decodeMetaspace(m metaspace) decoder {
	return eachToken(func(i int, token string) string {
		if i == 0 && m.prefix != "never" {
			return strings.ReplaceAll(token, m.space, "")
		}
		return strings.ReplaceAll(token, m.space, " ")
	})
}

func parseSuffixDecoder(o *object) decoder {
	suffix := fieldOr(o, "suffix", "</w>")
	if suffix == "" {
		o.unsupported("suffix", "an empty suffix") // an empty string matches between all characters
	}
	return decodeSuffix(suffix)
}

// decodeSuffix replaces the suffix of words with a space, and removes it from
// the last token.
func decodeSuffix(suffix string) decoder {
	return func(tokens []string) []string {
		return eachToken(func(i int, token string) string {
			if i == len(tokens)-1 {
				return strings.ReplaceAll(token, suffix, "")
			}
			return strings.ReplaceAll(token, suffix, " ")
		})(tokens)
	}
}

// decodeStrip removes a character from the ends of each token, at most start
// and stop times.
func decodeStrip(content string, start, stop int) decoder {
	return eachToken(func(_ int, token string) string {
		for i := 0; i < start && content != "" && strings.HasPrefix(token, content); i++ {
			token = token[len(content):]
		}
		for i := 0; i < stop && content != "" && strings.HasSuffix(token, content); i++ {
			token = token[:len(token)-len(content)]
		}
		return token
	})
}

// decodeFallback joins tokens <0x00> to <0xFF> to characters; if they are not
// UTF-8, each becomes U+FFFD.
func decodeFallback(tokens []string) []string {
	var out []string
	var bytes []byte
	flush := func() {
		if utf8.Valid(bytes) {
			out = append(out, string(bytes))
		} else {
			out = append(out, strings.Repeat("\ufffd", len(bytes)))
		}
		bytes = bytes[:0]
	}
	for _, token := range tokens {
		if b, ok := fallbackByte(token); ok {
			bytes = append(bytes, b)
			continue
		}
		flush()
		out = append(out, token)
	}
	flush()
	return out
}

func fallbackByte(token string) (byte, bool) {
	if len(token) != 6 || !strings.HasPrefix(token, "<0x") || token[5] != '>' {
		return 0, false
	}
	b, err := strconv.ParseUint(token[3:5], 16, 8)
	return byte(b), err == nil
}
