package serve

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pipe/costs"
	"pipe/internal/config"
	"pipe/internal/storage"
	"pipe/models/policy"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide/decidetest"
	"pipe/pipeline/monitor"
	"pipe/serve/access"
)

// aBaseline writes a cost tensor for a policy, with features around 0 and losses of 0 and 1, and returns its file.
func aBaseline(t *testing.T, p *policy.Policy) string {
	t.Helper()
	const rows = 400
	table := &costs.Tensor{Actions: p.Actions, Dim: 4}
	mask := p.Actions.Mask()
	for n := range rows {
		table.IDs = append(table.IDs, fmt.Sprint("row ", n))
		table.Splits = append(table.Splits, costs.Test)
		for f := range 4 {
			table.Features = append(table.Features, float32((n*(7+f))%rows)/rows-0.5)
		}
		for a, open := range mask {
			loss := float32(math.NaN())
			if open {
				loss = float32((n + a) % 2)
			}
			table.Loss = append(table.Loss, loss)
		}
	}
	file := filepath.Join(t.TempDir(), "costs.parquet")
	if err := costs.Write(t.Context(), storage.File(file), table); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestMonitorIsFed checks that decisions and outcomes reach the monitor, that a new version of the policy is followed, and
// that the state survives a restart.
func TestMonitorIsFed(t *testing.T) {
	p := decidetest.AnyPrice(4)
	folder := t.TempDir()
	file, state := filepath.Join(folder, "p.onnx"), filepath.Join(folder, "monitor.json")
	put := func(p *policy.Policy) {
		t.Helper()
		if err := os.Rename(decidetest.WritePolicy(t, p), file); err != nil {
			t.Fatal(err)
		}
	}
	put(p)
	baseline := aBaseline(t, p)
	change := func(c *Config) {
		c.Policies.Paths = []string{file}
		c.Log.Folder = config.Path(filepath.Join(folder, "log"))
		c.Monitor.Baseline, c.Monitor.State = config.Path(baseline), config.Path(state)
	}
	status := func(r *running) (s monitor.Status) {
		t.Helper()
		code, _, body := r.do(t, "GET", "/v1/monitor", "")
		if err := json.Unmarshal([]byte(body), &s); code != 200 || err != nil {
			t.Fatal(code, body, err)
		}
		return s
	}
	decideFar := func(r *running) string { // features far from the baseline
		t.Helper()
		code, _, body := r.do(t, "POST", "/v1/decide", `{"features":[[5,6,7,8]]}`, "Content-Type", "application/json")
		var answer struct{ Decisions []struct{ ID string } }
		if err := json.Unmarshal([]byte(body), &answer); code != 200 || err != nil {
			t.Fatal(code, body, err)
		}
		return answer.Decisions[0].ID
	}
	r := start(t, change, nil)
	for range 60 {
		id := decideFar(r)
		if code, _, body := r.do(t, "POST", "/v1/outcomes", `{"id":"`+id+`","loss":1}`, "Content-Type", "application/json"); code != 200 {
			t.Fatal(code, body)
		}
	}
	waitFor(t, func() bool { return status(r).Outcomes.Known == 60 })
	s := status(r)
	if s.New.Rows != 60 || s.Inputs.Verdict != monitor.Warning || s.Inputs.Changed != 4 || s.Outcomes.Mean == nil || *s.Outcomes.Mean != 1 {
		t.Errorf("%+v", s)
	}
	_, _, body := r.do(t, "GET", "/metrics", "")
	for _, want := range []string{
		`pipe_monitor_verdict{family="inputs",policy="p"} 1`, `pipe_monitor_window_rows{policy="p"} 60`, `pipe_monitor_changed_features{policy="p"} 4`,
		`pipe_monitor_outcomes{policy="p"} 60`, `pipe_monitor_mean_outcome{policy="p"} 1`, `pipe_monitor_skipped{policy="p"} 0`,
	} {
		if !strings.Contains(body, want+"\n") {
			t.Errorf("metrics have no %s", want)
		}
	}
	if err := r.wait(t); err != nil {
		t.Fatal(err)
	}
	again := start(t, change, nil)
	if s := status(again); s.Outcomes.Known != 60 || s.New.Rows != 60 {
		t.Errorf("after a restart: %+v", s.Outcomes)
	}
	old := status(again).Policy.Digest
	p.Info = map[string]string{"guard": `{"fixed":"x","gain":1,"lower_bound":1,"confidence":0.95,"rows":40,"fallback":false}`}
	p.Lambda += 0.5
	put(p)
	again.Reload(t.Context())
	decideFar(again)
	waitFor(t, func() bool { s := status(again); return s.Policy.Digest != old && s.New.Rows == 1 })
	if strings.Contains(again.log.String(), "not monitored") {
		t.Error(again.log)
	}
}

// TestMonitorAtPricesOfUsage checks that the baseline is decided at the prices of the price file, also after it changed.
func TestMonitorAtPricesOfUsage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "prices.yaml")
	putPrices(t, file, pricesOut(30))
	r := start(t, func(c *Config) {
		c.Policies.Paths, c.Policies.Prices, c.Policies.Settle = []string{tokenPolicy(t, "tokens")}, file, time.Millisecond
		c.Monitor.Baseline = config.Path(aBaseline(t, decidetest.AnyPrice(4)))
	}, nil)
	compared := func(price float64) {
		t.Helper()
		putPrices(t, file, pricesOut(price))
		waitFor(t, func() bool { now, _ := r.outOf(t); return now == price })
		waitFor(t, func() bool {
			r.ranked(t, `{"features":[0,0,0,0]}`)
			var s monitor.Status
			_, _, body := r.do(t, "GET", "/v1/monitor", "")
			if err := json.Unmarshal([]byte(body), &s); err != nil {
				t.Fatal(body, err)
			}
			return s.Decisions.Verdict != monitor.Untested && s.New.Rows < 1000
		})
	}
	compared(30)
	r.ranked(t, `{"features":[`+strings.Repeat("[0,0,0,0],", 999)+`[0,0,0,0]]}`)
	compared(400)
}

// TestCheckWritesNothing checks that a check leaves alone what a running server saves.
func TestCheckWritesNothing(t *testing.T) {
	p, folder := decidetest.AnyPrice(4), t.TempDir()
	c := DefaultConfig()
	c.Policies.Paths = []string{decidetest.WritePolicy(t, p)}
	c.Log.Folder = config.Path(filepath.Join(folder, "log"))
	c.Monitor.Baseline, c.Monitor.State = config.Path(aBaseline(t, p)), config.Path(filepath.Join(folder, "monitor.json"))
	c.Access.Keys, c.Access.Spent = []access.Key{{Name: "web", Key: testKey}}, config.Path(filepath.Join(folder, "spent.json"))
	if report := Check(t.Context(), c, Options{Runtime: orttest.OneThread(t)}); report.Err() != nil {
		t.Fatal(report.Problems)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}
