package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/pipeline/decisionlog"
	"pipe/pipeline/exitcode"
	"pipe/pipeline/gate"
)

// gateLog writes a log in which a candidate of a third of the users loses with a probability, and the live policy with 1/2.
func gateLog(t *testing.T, users int, loses float64) string {
	t.Helper()
	folder, r := t.TempDir(), rand.New(rand.NewPCG(8, 8))
	out, err := decisionlog.Open(folder, decisionlog.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	actions := &costs.Actions{Experts: []costs.Expert{{Name: "a"}, {Name: "b"}}, Advice: []costs.Advice{{Name: "none"}}}
	for _, name := range []string{"live", "next"} {
		if err := out.Policy(decisionlog.PolicyInfo{Name: name, Digest: "d-" + name, Actions: actions, Dim: 1}); err != nil {
			t.Fatal(err)
		}
	}
	for n := range users {
		rec := &decisionlog.Record{
			ID: fmt.Sprint("d", n), Time: int64(n), User: fmt.Sprint("u", n), Source: "decide", Policy: "live", Digest: "d-live", Share: 0.5, Executed: -1,
			ExpertFees: []float64{0, 0}, AdviceFees: []float64{0}, Available: []bool{true, true}, Propensity: []float64{0.5, 0.5}, OwnPropensity: []float64{1, 0},
		}
		p, loss := 0.5, 0.0
		if r.IntN(2) == 0 {
			rec.Policy, rec.Digest, rec.Canary, rec.Action, rec.Greedy, rec.OwnPropensity, p = "next", "d-next", true, 1, 1, []float64{0, 1}, loses
		}
		if r.Float64() < p {
			loss = 1
		}
		if err := out.Add(rec); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Outcome(decisionlog.Outcome{ID: rec.ID, Loss: &loss, Time: int64(n)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestGate checks the verdicts and the exit codes for a scheduler.
func TestGate(t *testing.T) {
	better, worse, few := gateLog(t, 700, 0.05), gateLog(t, 700, 0.95), gateLog(t, 40, 0.4)
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"--log " + better + " --candidate next --range 0,1", exitcode.OK, "verdict            promote\n"},
		{"--log " + worse + " --candidate next --range 0,1", exitcode.Alarm, "stop: next costs more than live"},
		{"--log " + few + " --candidate next --range 0,1 --live live", exitcode.Stays, "go on: it is not known yet"},
		{"--log " + few + " --candidate nobody --range 0,1", exitcode.BadData, "no decisions of it and of its live policy"},
		{"--log " + few + "/none --candidate next --range 0,1", exitcode.BadData, "no such file"},
		{"--log " + few + " --candidate next", exitcode.Usage, "--range"},
		{"--log " + few + " --candidate next --range 0,1 --policy logged", exitcode.Usage, "do not belong together"},
		{"--log s3://bucket/log --candidate next --range 0,1", exitcode.Usage, "--log"},
	} {
		var out bytes.Buffer
		code := run(t.Context(), append([]string{"ope", "--gate"}, strings.Fields(c.args)...), strings.NewReader(""), &out, &out)
		if code != c.code || !strings.Contains(out.String(), c.says) {
			t.Errorf("%s: exit code %d, want %d: %s", c.args, code, c.code, out.String())
		}
	}
	var out, other bytes.Buffer
	run(t.Context(), []string{"ope", "--gate", "--log", better, "--candidate", "next", "--range", "0,1", "--json"}, strings.NewReader(""), &out, &other)
	var s gate.Status
	if err := json.Unmarshal(out.Bytes(), &s); err != nil || s.Verdict != gate.Promote || !(s.Gain.Low > 0) || s.Outcomes < 600 {
		t.Errorf("%v: %s", err, out.String())
	}
}
