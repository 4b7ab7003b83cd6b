package decideapi

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
)

// openAPIFile describes every HTTP interface that a server can have.
//
//go:embed openapi.json
var openAPIFile []byte

// description is the content of that file, with its members in order.
type description struct {
	OpenAPI    json.RawMessage            `json:"openapi"`
	Info       json.RawMessage            `json:"info"`
	Servers    json.RawMessage            `json:"servers"`
	Security   json.RawMessage            `json:"security"`
	Tags       []tag                      `json:"tags"`
	Paths      map[string]json.RawMessage `json:"paths"`
	Components json.RawMessage            `json:"components"`
}

// tag is a group of paths.
type tag struct {
	Name  string `json:"name"`
	About string `json:"description,omitempty"`
}

// describeServer returns the OpenAPI file without the paths of the given tags, which this server does not have.
func describeServer(absent []string) ([]byte, error) {
	var d description
	if err := json.Unmarshal(openAPIFile, &d); err != nil {
		return nil, err
	}
	for _, name := range absent {
		at := slices.IndexFunc(d.Tags, func(t tag) bool { return t.Name == name })
		if at < 0 {
			return nil, fmt.Errorf("the description has no tag %q", name)
		}
		d.Tags = slices.Delete(d.Tags, at, at+1)
	}
	for path, text := range d.Paths {
		var methods map[string]struct{ Tags []string }
		if err := json.Unmarshal(text, &methods); err != nil {
			return nil, err
		}
		for _, m := range methods {
			if slices.ContainsFunc(m.Tags, func(t string) bool { return slices.Contains(absent, t) }) {
				delete(d.Paths, path)
			}
		}
	}
	return json.MarshalIndent(d, "", "  ")
}

// openAPI answers GET /openapi.json.
func (a *API) openAPI(w http.ResponseWriter, _ *http.Request) error {
	writeJSON(w, http.StatusOK, a.openapi)
	return nil
}
