package textfile

import "strings"

// FloatSpelling returns the other spelling of an integer that one program wrote as it is and another as a float: 100.0 for 100,
// and 100 for 100.0. It is "" for other texts.
func FloatSpelling(text string) string {
	whole, fraction, isFloat := strings.Cut(text, ".")
	digits := strings.TrimPrefix(whole, "-")
	switch {
	case digits == "" || strings.Trim(digits, "0123456789") != "":
		return ""
	case !isFloat:
		return text + ".0"
	case fraction == "0":
		return whole
	}
	return ""
}
