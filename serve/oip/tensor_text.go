package oip

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// checkText returns why element i of a BYTES tensor cannot be given to the policy: the runtime takes UTF-8, and ends
// strings at the first zero byte.
func checkText(s string, i int) (string, error) {
	if !utf8.ValidString(s) {
		return "", fmt.Errorf("element %d is not UTF-8: the policy takes texts", i)
	}
	if strings.IndexByte(s, 0) >= 0 {
		return "", fmt.Errorf("element %d has a zero byte: the policy takes texts", i)
	}
	return s, nil
}
