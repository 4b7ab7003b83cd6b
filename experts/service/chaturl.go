package service

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// ChatURL is the address of chat completions under a base URL, which may have spaces around it, slashes at its end, or
// the path of chat completions already.
func ChatURL(base string) string {
	const path = "/chat/completions"
	base = strings.TrimRight(strings.TrimSpace(base), "/")
	return strings.TrimRight(strings.TrimSuffix(base, path), "/") + path
}

// WithQuery adds parameters to the query of a URL, sorted by name.
func WithQuery(address string, query map[string]string) string {
	if len(query) == 0 {
		return address
	}
	values := url.Values{}
	for name, value := range query {
		values.Set(name, value)
	}
	mark := "?"
	if strings.Contains(address, mark) {
		mark = "&"
	}
	return address + mark + values.Encode()
}

// CheckBase requires a plain base URL. Its errors do not quote it, since it may contain a password.
func CheckBase(base string) error {
	u, err := url.Parse(strings.TrimSpace(base))
	switch {
	case base == "":
		return errors.New("is not set")
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.New("is not a URL such as https://host/v1")
	case u.User == nil && u.Fragment == "" && (u.RawQuery != "" || u.ForceQuery):
		return errors.New("has a query after the ?: write it into the setting query, such as query: {api-version: 2024-10-21}; a key goes into an environment variable, named by the setting key")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New("has more than scheme, host and path: put a key into an environment variable, and name it with the setting key")
	}
	return nil
}

// secretNames are parameters that hold keys at some services. URLs stand in errors and logs, so a key must not be there.
var secretNames = []string{"accesskey", "accesstoken", "apikey", "authorization", "code", "key", "password", "secret", "sig", "signature", "subscriptionkey", "token"}

// CheckQuery reports parameters without a name, and those whose value would be a key. Its errors quote no values.
func CheckQuery(query map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(query)) {
		plain := strings.ToLower(strings.NewReplacer("-", "", "_", "", ".", "").Replace(name))
		switch {
		case name == "":
			return errors.New("has a parameter without a name")
		case slices.Contains(secretNames, plain):
			return fmt.Errorf("%s cannot be set here: put a key into an environment variable, and name it with the setting key", name)
		}
	}
	return nil
}
