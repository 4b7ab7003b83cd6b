package serve

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pipe/internal/config"
	"pipe/serve/decision"
)

// openAPI is what the test reads of the file that the server hands out.
type openAPI struct {
	Paths      map[string]map[string]json.RawMessage
	Components struct{ Schemas map[string]json.RawMessage }
}

// TestOpenAPI checks that the server has every route of the file, and that references lead somewhere.
func TestOpenAPI(t *testing.T) {
	r := start(t, nil, nil)
	_, _, text := r.do(t, "GET", "/openapi.json", "")
	var api openAPI
	if err := json.Unmarshal([]byte(text), &api); err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(text, `"#/components/schemas/`)[1:] {
		if name, _, _ := strings.Cut(part, `"`); api.Components.Schemas[name] == nil {
			t.Errorf("the schema %q is missing", name)
		}
	}
	for path, methods := range api.Paths {
		for method := range methods {
			q, err := http.NewRequest(strings.ToUpper(method), strings.NewReplacer("{model}", "policy", "{version}", "1", "{id}", "x").Replace(path), nil)
			if err != nil {
				t.Fatal(err)
			}
			_, pattern := r.mux.Handler(q)
			if path == "/v1/monitor" || strings.HasPrefix(path, "/v1/chat") || strings.HasPrefix(path, "/v1/models") {
				continue // where a monitor and experts are configured
			}
			if pattern == "" || pattern == "/v2/" || strings.HasSuffix(pattern, " /{$}") {
				t.Errorf("the file has %s %s, the server has not", method, path)
			}
		}
	}
}

// TestSchemathesis lets openapi-spec-validator read the file of a running server, and schemathesis send requests that the
// file allows and that it does not. PIPE_SCHEMATHESIS names the folder of both programs:
//
//	python3 -m venv /tmp/api && /tmp/api/bin/pip install schemathesis openapi-spec-validator
//	PIPE_SCHEMATHESIS=/tmp/api/bin go test -run Schemathesis ./serve
func TestSchemathesis(t *testing.T) {
	programs := os.Getenv("PIPE_SCHEMATHESIS")
	if programs == "" {
		t.Skip("PIPE_SCHEMATHESIS does not name a folder with schemathesis and openapi-spec-validator")
	}
	r := start(t, func(c *Config) {
		c.Log.Folder = config.Path(filepath.Join(t.TempDir(), "log"))
		c.Decision.Explore = decision.Explore{Epsilon: 0.1}
	}, nil)
	dir := t.TempDir()
	_, _, text := r.do(t, "GET", "/openapi.json", "")
	for name, content := range map[string]string{"openapi.json": text, "schemathesis.toml": `
# What fits the file need not fit the policy (422), and a decision that an outcome names need not exist (404).
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "401", "403", "404", "409", "422", "429"]

[parameters]
"path.model" = "policy"
"path.version" = "1"
`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	run := func(program string, args ...string) {
		cmd := exec.CommandContext(t.Context(), filepath.Join(programs, program), args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "COLUMNS=120")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", program, err, out)
		}
	}
	run("openapi-spec-validator", "openapi.json")
	api := []string{"run", r.url + "/openapi.json", "--checks", "all", "--max-examples", "40", "--seed", "1", "--no-color"}
	run("schemathesis", append(api, "--include-tag", "decisions", "--include-tag", "policies", "--include-tag", "operation")...)
	// Hardly any tensor fits a policy.
	run("schemathesis", append(api, "--include-tag", "open inference protocol", "--exclude-checks", "positive_data_acceptance")...)
}
