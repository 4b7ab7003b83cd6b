package protocol

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
)

// Azure is OpenAI's models at Azure. Its model is the name of a deployment. A base_url that ends in /openai/v1 is that of the
// API without versions; any other one needs the setting query with an api-version.
var Azure = &Kind{
	Name: "azure", Format: Chat,
	URL: func(base, model string, f Format, _ bool) string {
		base, path := strings.TrimRight(strings.TrimSpace(base), "/"), pathOf(f)
		if withoutVersion(base) {
			return base + "/" + path
		}
		return strings.TrimSuffix(base, "/openai") + "/openai/deployments/" + url.PathEscape(model) + "/" + path
	},
	Also: []Caller{Embeddings, Completions},
	Check: func(base string, query map[string]string) error {
		if query["api-version"] == "" && !withoutVersion(strings.TrimRight(strings.TrimSpace(base), "/")) {
			return errors.New(`query: has no api-version, such as "2024-10-21"; only a base_url that ends in /openai/v1 needs none`)
		}
		return nil
	},
	Authorize: func(h http.Header, key string) {
		if key != "" {
			h.Set("Api-Key", key)
		}
	},
}

// withoutVersion reports whether an address is that of the API without versions.
func withoutVersion(base string) bool { return strings.HasSuffix(base, "/openai/v1") }
