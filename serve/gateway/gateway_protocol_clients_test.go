package gateway

import (
	"cmp"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pipe/internal/judge"
	"pipe/serve/gateway/gatewaytest"
)

// TestProtocolClients runs scripts of tools/serve with the official clients of Anthropic and of OpenAI's responses, against an
// expert of the client's own protocol and one of another.
func TestProtocolClients(t *testing.T) {
	for _, c := range []struct {
		name, script string
		kinds        string
		parts        int
	}{
		{"anthropic", "anthropic_client.py", "anthropic openai", 11},
		{"responses", "responses_client.py", "responses anthropic", 11},
		{"node", "protocols_client.mjs", "openai", 6},
	} {
		for kind := range strings.FieldsSeq(c.kinds) {
			t.Run(c.name+" to "+kind, func(t *testing.T) {
				base, module := "/v1", "openai"
				if c.name != "responses" {
					base = ""
				}
				if c.name == "anthropic" {
					module = "anthropic"
				}
				w, fake := newWorldOfKind(t, kind)
				run := scriptOf(t, c.script, module, w.URL+base, "stored")
				out, err := run.CombinedOutput()
				if got := strings.Count(string(out), "ok "); err != nil || got != c.parts {
					t.Errorf("%d of %d parts, %v\n%s\n%s", got, c.parts, err, out, w.text.String())
				}
				waitUntilGone(t, c.name, fake)
			})
		}
	}
}

// scriptOf is a command that runs a script of tools/serve.
func scriptOf(t *testing.T, name, module string, args ...string) *exec.Cmd {
	t.Helper()
	script, err := filepath.Abs("../../tools/serve/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(name, ".mjs") {
		return judge.Node(t, "@anthropic-ai/sdk", script, args...)
	}
	return exec.CommandContext(t.Context(), judge.Python(t, module), append([]string{script}, args...)...)
}

// waitUntilGone waits until the service saw that the client left a slow answer, and a slow stream if it read one.
func waitUntilGone(t *testing.T, client string, fake *gatewaytest.Fake) {
	t.Helper()
	want := 2
	if client == "node" {
		want = 1
	}
	for range 100 {
		if fake.Gone() >= want {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("the service saw %d clients leave, not %d", fake.Gone(), want)
}

// TestAgents gives a task to programs that work with tools, Claude Code (messages) and Codex (responses), whose model is the
// gateway. The model asks for a command, gets its output, and answers.
func TestAgents(t *testing.T) {
	for _, c := range []struct{ agent, kinds string }{{"claude", "anthropic openai"}, {"codex", "responses"}} {
		for kind := range strings.FieldsSeq(c.kinds) {
			t.Run(c.agent+" to "+kind, func(t *testing.T) {
				program := agentOf(t, c.agent)
				w, fake := newWorldOfKind(t, kind)
				run := agentRun(t, c.agent, program, w.URL)
				out, err := run.CombinedOutput()
				seen, _ := fake.Seen()
				results := 0
				for _, s := range seen {
					for _, it := range s.Items {
						if it.Kind == "result" && strings.Contains(it.Text, "the command ran") {
							results++
						}
					}
				}
				if err != nil || !strings.Contains(string(out), "I read ") || results == 0 {
					t.Errorf("%v\n%s\n%d requests, %d results: %+v\n%s", err, out, len(seen), results, seen, w.text.String())
				}
			})
		}
	}
}

// agentOf is the path of a program. Without it the test is skipped, or fails under CI=true if it is Claude Code. Codex is larger than
// all other judges together, so it is not installed.
func agentOf(t *testing.T, name string) string {
	t.Helper()
	found := ""
	if name == "claude" {
		modules := judge.Node(t, "@anthropic-ai/claude-code", "").Env
		for _, e := range modules {
			folders, ok := strings.CutPrefix(e, "NODE_PATH=")
			if !ok {
				continue
			}
			for _, folder := range filepath.SplitList(folders) {
				all, _ := filepath.Glob(filepath.Join(folder, "@anthropic-ai", "claude-code-linux-*", "claude"))
				found = cmp.Or(found, strings.Join(all, ""))
			}
		}
	}
	if found == "" {
		found = os.Getenv("PIPE_" + strings.ToUpper(name))
	}
	if found == "" && name == "claude" && os.Getenv("CI") == "true" {
		t.Fatal("the installed package of Claude Code has no program")
	}
	if found == "" {
		t.Skipf("no %s (PIPE_%s can name it)", name, strings.ToUpper(name))
	}
	return found
}

// agentRun is a command that gives an agent a task, with a home of its own.
func agentRun(t *testing.T, agent, program, url string) *exec.Cmd {
	t.Helper()
	home := t.TempDir()
	c := exec.CommandContext(t.Context(), program, "-p", "take a tool", "--system-prompt", "Be brief.", "--tools", "Bash", "--allowedTools", "Bash(echo:*)")
	c.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=caller", "ANTHROPIC_MODEL=pipe",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
	}
	if agent == "codex" {
		config := "model = \"pipe\"\nmodel_provider = \"gateway\"\n[model_providers.gateway]\nname = \"gateway\"\nbase_url = \"" + url +
			"/v1\"\nwire_api = \"responses\"\nenv_key = \"GATEWAY_KEY\"\nrequest_max_retries = 0\n"
		if err := os.WriteFile(filepath.Join(home, "config.toml"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		c = exec.CommandContext(t.Context(), program, "exec", "--skip-git-repo-check", "take a tool")
		c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "CODEX_HOME=" + home, "GATEWAY_KEY=caller"}
	}
	c.Dir = t.TempDir()
	c.WaitDelay = time.Second
	return c
}

// TestEmbeddingsOfTheClient: OpenAI's client reads embeddings through the gateway as numbers. It asks for base64 by itself, which the
// service therefore must see.
func TestEmbeddingsOfTheClient(t *testing.T) {
	python := judge.Python(t, "openai")
	w, s := newScriptedWorld(t, "openai")
	s.Set(gatewaytest.Script{}, func(rw http.ResponseWriter, _ *http.Request) bool {
		io.WriteString(rw, `{"object":"list","data":[{"object":"embedding","index":0,"embedding":"AACAPgAAwL8="},{"object":"embedding","index":1,"embedding":"AAAAAAAAgD8="}],"model":"model-l","usage":{"prompt_tokens":3,"total_tokens":3}}`)
		return true
	})
	const script = `
import sys, openai
client = openai.OpenAI(base_url=sys.argv[1], api_key="caller", max_retries=0, timeout=10)
e = client.embeddings.create(model="large", input=["Öl", "b"], dimensions=2)
print([d.embedding for d in e.data], e.usage.total_tokens, e.model)
try:
    client.embeddings.create(model="pipe", input="a")
except openai.BadRequestError as e:
    print(e.code, e.param)
`
	if got := judge.Run(t, python, "", script, w.URL+"/v1"); got != "[[0.25, -1.5], [0.0, 1.0]] 3 model-l\nnot_routed model\n" {
		t.Error(got)
	}
	got := s.Requests()
	if len(got) != 1 || !strings.Contains(string(got[0].Body), `"encoding_format":"base64"`) || !strings.Contains(string(got[0].Body), `"dimensions":2`) || !strings.Contains(string(got[0].Body), "Öl") {
		t.Errorf("%+v", got)
	}
}
