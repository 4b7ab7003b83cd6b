package serve

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"pipe/internal/config"
	"pipe/pipeline/decide/decidetest"
	"pipe/serve/budget"
	"pipe/serve/decision"
	"pipe/serve/gateway/gatewaytest"
	"pipe/serve/ledger"
	"pipe/serve/people"
)

// openAPI is what the test reads of the file that the server hands out.
type openAPI struct {
	Paths      map[string]map[string]json.RawMessage
	Components struct{ Schemas map[string]json.RawMessage }
}

// described is the file that a server hands out.
func described(t *testing.T, r *running) (api openAPI, text string) {
	t.Helper()
	_, _, text = r.do(t, "GET", "/openapi.json", "")
	if err := json.Unmarshal([]byte(text), &api); err != nil {
		t.Fatal(err)
	}
	return api, text
}

// pathsOf are the paths that match a pattern of package path.
func pathsOf(api openAPI, pattern string) (n int) {
	for name := range api.Paths {
		if ok, _ := path.Match(pattern, name); ok {
			n++
		}
	}
	return n
}

// TestOpenAPI checks that a server has every route of its file, that what is not configured is not in it, and that references
// lead somewhere.
func TestOpenAPI(t *testing.T) {
	folder := t.TempDir()
	baseline, service := aBaseline(t, decidetest.AnyPrice(4)), gatewaytest.New(t)
	whole := func(c *Config) {
		read, err := Load(gatewayFile(t, folder, service.Base(), "model-1", "first-key-0123456789"))
		if err != nil {
			t.Fatal(err)
		}
		read.Gateway.Budgets.List = []budget.Budget{{Name: "calls", Tokens: 1e6, Per: ledger.Day, Of: budget.Total}}
		e := read.Gateway.Experts["small"]
		e.Fields = map[string]any{"max_tokens": 100}
		read.Gateway.Experts["small"] = e
		c.People.Folder, c.People.Experts = config.Path(filepath.Join(folder, "people")), map[string]people.Expert{"reviewer": {Seconds: 60}}
		c.People.List = []people.Person{{Name: "ana", Answers: []string{"reviewer"}}}
		c.Gateway, c.Monitor.Baseline, c.Log.Folder = read.Gateway, config.Path(baseline), config.Path(filepath.Join(folder, "log"))
	}
	for name, c := range map[string]struct {
		change func(*Config)
		want   int // outcomes, monitor, gateway, budgets and people
	}{"nothing else": {nil, 0}, "everything": {whole, 1}} {
		t.Run(name, func(t *testing.T) {
			r := start(t, c.change, nil)
			api, text := described(t, r)
			for _, part := range strings.Split(text, `"#/components/schemas/`)[1:] {
				if name, _, _ := strings.Cut(part, `"`); api.Components.Schemas[name] == nil {
					t.Errorf("the schema %q is missing", name)
				}
			}
			for _, pattern := range []string{"/v1/outcomes", "/v1/monitor", "/v1/budgets", "/v1/people", "/v1/people/items", "/v1/people/tickets/*", "/v1/chat/completions", "/v1/models", "/v1/models/*"} {
				if n := pathsOf(api, pattern); n != c.want {
					t.Errorf("%s is %d times in the file, want %d", pattern, n, c.want)
				}
			}
			if pathsOf(api, "/v1/decide") != 1 || pathsOf(api, "/v2/models/*/infer") != 1 {
				t.Error("what every server has is missing")
			}
			for path, methods := range api.Paths {
				for method := range methods {
					r.hasRoute(t, strings.ToUpper(method), path)
				}
			}
		})
	}
}

// hasRoute asks for a path of the file.
func (r *running) hasRoute(t *testing.T, method, path string) {
	t.Helper()
	at := strings.NewReplacer("{model}", "policy", "{version}", "1", "{id}", "x").Replace(path)
	q, err := http.NewRequest(method, at, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, pattern := r.mux.Handler(q)
	if pattern == "" || pattern == "/v2/" || strings.HasSuffix(pattern, " /{$}") {
		t.Errorf("the file has %s %s, the server has not", method, path)
	}
	for _, code := range []string{"no_log", "no_monitor", "no_gateway", "no_budgets", "no_people"} {
		if _, _, body := r.do(t, method, at, `{"id":"x","loss":1}`, "Content-Type", "application/json"); strings.Contains(body, code) {
			t.Errorf("the file has %s %s, the server answers %s", method, path, body)
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
	run("schemathesis", append(api, "--include-tag", "decisions", "--include-tag", "outcomes", "--include-tag", "policies", "--include-tag", "operation")...)
	// Hardly any tensor fits a policy.
	run("schemathesis", append(api, "--include-tag", "open inference protocol", "--exclude-checks", "positive_data_acceptance")...)
}
