package serve

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pipe/internal/config"
	"pipe/onnx/ort/orttest"
	"pipe/serve/access"
	"pipe/serve/gateway/expert"
)

// TestUnknownPaths checks that requests which no route takes get an error in the documented form.
func TestUnknownPaths(t *testing.T) {
	r := start(t, nil, nil)
	for _, c := range []struct {
		method, path, code, says string
		status                   int
	}{
		{"GET", "/nope", "not_found", "/nope", 404},
		{"POST", "/v1/nope", "not_found", "/v1/nope", 404},
		{"GET", "/v1/decide", "method_not_allowed", "POST", 405},
		{"GET", "/v1/monitor", "no_monitor", "monitor.baseline", 404},
		{"GET", "/" + strings.Repeat("x", 5000), "not_found", "xxx...", 404},
	} {
		status, head, body := r.do(t, c.method, c.path, "")
		var answer struct {
			Error struct{ Message, Type, Code string }
		}
		err := json.Unmarshal([]byte(body), &answer)
		if err != nil || status != c.status || head.Get("Content-Type") != "application/json" || answer.Error.Code != c.code || answer.Error.Type != "invalid_request_error" || !strings.Contains(answer.Error.Message, c.says) || len(body) > 400 {
			t.Errorf("%s %.20s: %d %v %s", c.method, c.path, status, head, body)
		}
	}
	status, _, body := r.do(t, "GET", "/v2/nope", "")
	var answer struct{ Error string }
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != 404 || answer.Error == "" {
		t.Errorf("/v2/nope: %d %s", status, body)
	}
}

// TestCheckReportsEveryProblem checks that a part which cannot be opened does not hide the problems of the others.
func TestCheckReportsEveryProblem(t *testing.T) {
	c := DefaultConfig()
	c.Policies.Paths = []string{"no-policy.onnx"}
	c.Access.Keys = []access.Key{{Name: "web", Key: testKey}}
	c.Access.KeysFile, c.TLS.Cert, c.TLS.Key, c.Monitor.Baseline = "no-keys.yaml", "no-cert.pem", "no-key.pem", "no-baseline.parquet"
	c.TLS.ClientCA, c.Monitor.Actions, c.Policies.Encoders = "no-clients.pem", "no-actions.json", map[string]string{"p": "no-encoder.json"}
	c.Gateway.Experts = map[string]expert.Settings{"a": expert.DefaultSettings(), "b": expert.DefaultSettings()}
	for name, e := range c.Gateway.Experts {
		e.BaseURL, e.Model, e.Prices = "http://127.0.0.1:1/v1", "m", config.Path("no-prices-"+name+".yaml")
		c.Gateway.Experts[name] = e
	}
	report := Check(t.Context(), c, Options{Runtime: orttest.OneThread(t)})
	all := strings.Join(report.Problems, "\n")
	for _, file := range []string{"no-policy.onnx", "no-keys.yaml", "no-cert.pem", "no-clients.pem", "no-baseline.parquet", "no-actions.json", "no-encoder.json", "no-prices-a.yaml", "no-prices-b.yaml"} {
		named := 0
		for _, line := range report.Problems {
			if strings.Contains(line, file) {
				named++
			}
		}
		if named != 1 {
			t.Errorf("the problems do not have one line about %s:\n%s", file, all)
		}
	}
	if notes := strings.Join(report.Notes, "\n"); strings.Contains(notes, "need no key") {
		t.Error(notes)
	}
}

// TestCheckSaysNotesOnce checks that no note of the gateway is repeated.
func TestCheckSaysNotesOnce(t *testing.T) {
	c := DefaultConfig()
	c.Policies.Paths = []string{aPolicy(t)}
	e := expert.DefaultSettings()
	e.BaseURL, e.Model = "http://127.0.0.1:1/v1", "m"
	c.Gateway.Experts = map[string]expert.Settings{"a": e}
	report := Check(t.Context(), c, Options{Runtime: orttest.OneThread(t)})
	slices.Sort(report.Notes)
	if n := len(report.Notes); n < 3 || len(slices.Compact(slices.Clone(report.Notes))) != n {
		t.Errorf("%q, problems %q", report.Notes, report.Problems)
	}
}

// TestMonitorNeedsABaseline checks that settings of a monitor that would do nothing are refused.
func TestMonitorNeedsABaseline(t *testing.T) {
	c := DefaultConfig()
	c.Policies.Paths, c.Monitor.Policy = []string{"x"}, "auto"
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "monitor.baseline") {
		t.Error(err)
	}
	c.Monitor, c.Policies.Paths = DefaultMonitorSettings(), []string{aPolicy(t)}
	report := Check(t.Context(), c, Options{Runtime: orttest.OneThread(t)})
	if !strings.Contains(strings.Join(report.Notes, "\n"), "monitor.baseline") || len(report.Problems) > 0 {
		t.Errorf("%q, problems %q", report.Notes, report.Problems)
	}
}

// TestLogInUse checks that the hint about a log that another server has names the flag of the log.
func TestLogInUse(t *testing.T) {
	folder := config.Path(filepath.Join(t.TempDir(), "log"))
	r := start(t, func(c *Config) { c.Log.Folder = folder }, nil)
	_, err := New(t.Context(), r.config, Options{Runtime: orttest.OneThread(t)})
	var hint interface{ Hint() string }
	if !errors.As(err, &hint) || !strings.Contains(hint.Hint(), "--log") || strings.Contains(hint.Hint(), "--out") || !strings.Contains(err.Error(), string(folder)) {
		t.Error(err)
	}
}

// TestVariablesAreHidden checks that the value of a variable in a wrong place is not shown, also where the whole is validated.
func TestVariablesAreHidden(t *testing.T) {
	const secret = "sk-a-secret-in-the-wrong-place"
	t.Setenv("PIPE_TEST_SECRET", secret)
	file := filepath.Join(t.TempDir(), "serve.yaml")
	text := "listen: ${PIPE_TEST_SECRET}\ngrpc: ${PIPE_TEST_SECRET}\npolicies: {paths: [x]}\nlogs: {level: \"${PIPE_TEST_SECRET}\"}\n"
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	c, err := Load(file)
	if err != nil {
		t.Fatal(err)
	}
	err = c.Validate()
	if err == nil || strings.Contains(err.Error(), secret) || strings.Count(err.Error(), "${PIPE_TEST_SECRET}") != 3 {
		t.Error(err)
	}
}

// TestStopNotice checks how long requests are accepted after a signal where the configuration does not say it.
func TestStopNotice(t *testing.T) {
	c := DefaultConfig()
	if got := c.StopNotice(); got != 0 {
		t.Errorf("on loopback: %v", got)
	}
	c.GRPC = ":8081"
	if got := c.StopNotice(); got != 5*time.Second {
		t.Errorf("for other machines: %v", got)
	}
	c.Stop.Notice = new(time.Duration(0))
	if got := c.StopNotice(); got != 0 {
		t.Errorf("configured: %v", got)
	}
}
