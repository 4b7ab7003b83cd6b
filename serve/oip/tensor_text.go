package oip

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// checkText returns element i of a BYTES tensor, or an error if it is not UTF-8 or has a zero byte, at which the runtime
// would end the string.
func checkText(s string, i int) (string, error) {
	if !utf8.ValidString(s) {
		return "", fmt.Errorf("element %d is not UTF-8: the policy takes texts", i)
	}
	if strings.IndexByte(s, 0) >= 0 {
		return "", fmt.Errorf("element %d has a zero byte: the policy takes texts", i)
	}
	return s, nil
}
