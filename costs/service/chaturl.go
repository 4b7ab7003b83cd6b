package service

import "strings"

// ChatURL is the address of chat completions under a base URL, which may have spaces around it, slashes at its end, or
// the path of chat completions already.
func ChatURL(base string) string {
	const path = "/chat/completions"
	base = strings.TrimRight(strings.TrimSpace(base), "/")
	return strings.TrimRight(strings.TrimSuffix(base, path), "/") + path
}
