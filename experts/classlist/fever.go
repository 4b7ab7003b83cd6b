package classlist

// feverSpellings maps the spellings of the classes of FEVER, in files and in prompts, to ours.
var feverSpellings = map[string]string{
	"SUPPORTS": "SUPPORTS", "REFUTES": "REFUTES", "NOT ENOUGH INFO": "NOT ENOUGH INFO", "NOT_ENOUGH_INFO": "NOT ENOUGH INFO",
}

// FeverLabel returns the class of FEVER for one of its spellings: SUPPORTS, REFUTES or NOT ENOUGH INFO. ok is false for
// other strings.
func FeverLabel(spelling string) (label string, ok bool) {
	label, ok = feverSpellings[spelling]
	return label, ok
}
