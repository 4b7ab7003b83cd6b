package strictjson

// SkipSpace returns the position of the first byte of a text, from at on, that is not white space of JSON.
func SkipSpace(text []byte, at int) int {
	for at < len(text) && (text[at] == ' ' || text[at] == '\n' || text[at] == '\t' || text[at] == '\r') {
		at++
	}
	return at
}
