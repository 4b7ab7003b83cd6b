package serve

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pipe/internal/config"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide/decidetest"
	"pipe/pipeline/gate"
	"pipe/serve/decision"
	"pipe/serve/policies/policiestest"
	"pipe/serve/trials"
)

// tried writes the policies live and next, and returns a change of the configuration that tries next.
func tried(t *testing.T, folder string) func(*Config) {
	t.Helper()
	for name, hidden := range map[string]int{"live": 4, "next": 5} {
		if err := os.MkdirAll(filepath.Join(folder, "policies"), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(decidetest.WritePolicy(t, decidetest.Policy(4, hidden)), filepath.Join(folder, "policies", name+".onnx")); err != nil {
			t.Fatal(err)
		}
	}
	return func(c *Config) {
		c.Policies.Paths, c.Policies.Default, c.Log.Folder = []string{filepath.Join(folder, "policies")}, "live", config.Path(filepath.Join(folder, "log"))
		c.Decision.UserKey = "a secret"
		c.Decision.Candidate = []decision.Candidate{{
			Canary: decision.Canary{Policy: "next", Share: 0.4}, Settings: gate.Settings{Costs: []float64{0, 2}}, Promote: decision.PromoteAuto,
		}}
	}
}

// candidate asks for the only candidate.
func (r *running) candidate(t *testing.T) trials.Status {
	t.Helper()
	var all struct{ Candidates []trials.Status }
	if status, _, body := r.do(t, "GET", "/v1/candidates", ""); status != 200 || json.Unmarshal([]byte(body), &all) != nil || len(all.Candidates) != 1 {
		t.Fatalf("%d: %s", status, body)
	}
	return all.Candidates[0]
}

// decided is a decision of the server.
type decided struct {
	Policy struct {
		Name, Digest string
		Canary       bool
	}
	Decisions []struct {
		ID         string
		Propensity float64
	}
}

// ask lets a user decide and sends the outcome: the candidate's choices never lose, the live policy's always do.
func (r *running) askAs(t *testing.T, user string, x [4]float64) decided {
	t.Helper()
	var d decided
	status, _, body := r.do(t, "POST", "/v1/decide", fmt.Sprintf(`{"user": %q, "features": [[%g, %g, %g, %g]]}`, user, x[0], x[1], x[2], x[3]), "Content-Type", "application/json")
	if status != 200 || json.Unmarshal([]byte(body), &d) != nil || len(d.Decisions) != 1 {
		t.Fatalf("%d: %s", status, body)
	}
	loss := 1
	if d.Policy.Canary {
		loss = 0
	}
	if status, _, body := r.do(t, "POST", "/v1/outcomes", fmt.Sprintf(`{"id": %q, "loss": %d}`, d.Decisions[0].ID, loss), "Content-Type", "application/json"); status != 200 {
		t.Fatalf("%d: %s", status, body)
	}
	return d
}

// A cascade cannot take the place of a policy that is tried, nor of the one that it is compared with: it would never be judged. The
// reload says so, and the version before is still served.
func TestCandidateBecomesACascade(t *testing.T) {
	folder := t.TempDir()
	r := start(t, tried(t, folder), nil)
	before := r.candidate(t)
	for _, name := range []string{"next", "live"} {
		path := filepath.Join(folder, "policies", name+".onnx")
		old, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		policiestest.WriteCascade(t, path, 4, 1)
		if _, _, body := r.do(t, "POST", "/v1/policies/reload", ""); !strings.Contains(body, `"refused"`) || !strings.Contains(body, "is a cascade, and what a cascade costs cannot be estimated") {
			t.Errorf("%s: %s", name, body)
		}
		if err := os.WriteFile(path, old, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if after := r.candidate(t); after.Phase != trials.Trying || after.New != before.New || after.Old != before.Old {
		t.Errorf("%+v, before %+v", after, before)
	}
}

// TestCandidate is the whole procedure over HTTP: decisions, outcomes, a restart in the middle, the promotion, another restart, and
// one step back.
func TestCandidate(t *testing.T) {
	folder := t.TempDir()
	change := tried(t, folder)
	r := start(t, change, nil)
	first := r.candidate(t)
	if first.Phase != trials.Trying || first.Share != 0.4 || first.Gate == nil || first.Gate.Gain != nil || first.Of != "live" {
		t.Fatalf("%+v", first)
	}
	random, n := rand.New(rand.NewPCG(1, 2)), 0
	ask := func() decided {
		n++
		return r.askAs(t, fmt.Sprint("user ", n), [4]float64{random.NormFloat64(), random.NormFloat64(), random.NormFloat64(), random.NormFloat64()})
	}
	for range 20 {
		ask()
	}
	before := r.candidate(t).Gate
	if err := r.wait(t); err != nil {
		t.Fatal(err)
	}
	r = start(t, change, nil)
	if got := r.candidate(t).Gate; got.Users != before.Users || got.Outcomes != before.Outcomes || got.Outcomes == 0 || *got.Gain != *before.Gain {
		t.Fatalf("after a restart %+v, before %+v", got, before)
	}
	_, _, metrics := r.do(t, "GET", "/metrics", "")
	_, _, text := r.do(t, "GET", "/", "")
	for part, in := range map[string]string{`pipe_candidate_share{candidate="next",policy="live"} 0.4`: metrics, `of="low"`: metrics, "<h2>Candidates</h2>": text, "Candidate next of live: It goes on": text} {
		if !strings.Contains(in, part) {
			t.Errorf("%q is missing", part)
		}
	}
	for r.candidate(t).Phase != trials.Promoted {
		if n > 3000 {
			t.Fatalf("%+v", r.candidate(t).Gate)
		}
		ask()
	}
	s := r.candidate(t)
	if d := ask(); d.Policy.Name != "live" || d.Policy.Digest != s.New || s.New != first.New || d.Decisions[0].Propensity != 1 {
		t.Errorf("after the promotion %+v decides, %+v", d, s)
	}
	if err := r.wait(t); err != nil {
		t.Fatal(err)
	}
	r = start(t, change, nil)
	if d, s := ask(), r.candidate(t); d.Policy.Digest != first.New || s.Phase != trials.Promoted || s.Share != 0 || !strings.Contains(s.Next, "back") {
		t.Errorf("after a restart %+v decides, %+v", d, s)
	}
	for i, want := range []int{200, 409} {
		if status, _, body := r.do(t, "POST", "/v1/candidates/back?policy=live", ""); status != want {
			t.Errorf("step %d back: %d: %s", i+1, status, body)
		}
	}
	if d, s := ask(), r.candidate(t); d.Policy.Digest != first.Old || s.Phase != trials.Returned || s.Share != 0 {
		t.Errorf("after the step back %+v decides, %+v", d, s)
	}
}

// TestBackNeedsAnAdministrator: another key may look, and not go back.
func TestBackNeedsAnAdministrator(t *testing.T) {
	change := tried(t, t.TempDir())
	r := start(t, func(c *Config) { change(c); withKeys(c) }, nil)
	for key, want := range map[string]int{"": 401, testKey: 403, adminKey: 409} {
		if status, _, body := r.do(t, "POST", "/v1/candidates/back", "", "X-Api-Key", key); status != want {
			t.Errorf("key %q: %d: %s", key, status, body)
		}
	}
	if status, _, body := r.do(t, "GET", "/v1/candidates", "", "X-Api-Key", testKey); status != 200 || !strings.Contains(body, `"trying"`) {
		t.Errorf("%d: %s", status, body)
	}
}

// TestCheckOfCandidates: --check names what is wrong, and writes nothing.
func TestCheckOfCandidates(t *testing.T) {
	folder := t.TempDir()
	c := DefaultConfig()
	tried(t, folder)(&c)
	if r := Check(t.Context(), c, Options{Runtime: orttest.OneThread(t)}); r.Err() != nil {
		t.Errorf("%q", r.Problems)
	}
	if _, err := os.Stat(filepath.Join(folder, "log")); !os.IsNotExist(err) {
		t.Errorf("the check made a log: %v", err)
	}
	c.Log.KeepAge, c.Log.Sample = time.Hour, 0.5
	if r := Check(t.Context(), c, Options{Runtime: orttest.OneThread(t)}); len(r.Problems) != 2 {
		t.Errorf("%q", r.Problems)
	}
	c.Log.KeepAge, c.Log.Sample = 0, 1
	if err := os.Remove(filepath.Join(folder, "policies", "next.onnx")); err != nil {
		t.Fatal(err)
	}
	if r := Check(t.Context(), c, Options{Runtime: orttest.OneThread(t)}); len(r.Problems) == 0 {
		t.Error("a candidate without a file is not noticed")
	}
}
