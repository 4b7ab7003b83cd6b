package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"pipe/experts/chat/chattest"
	"pipe/pipeline/exitcode"
)

// paidFiles writes claims and the configuration of two models at a server that is paid by the token: 100 of a prompt and 5
// of an answer at 10 and 100 per million, so 0.0015 an answer.
func paidFiles(t *testing.T, base string, n int) (folder string) {
	t.Helper()
	folder = t.TempDir()
	var claims, features strings.Builder
	features.WriteString("id,x\n")
	for i := range n {
		label, word := "SUPPORTS", ""
		if i%3 == 0 {
			label, word = "REFUTES", " not"
		}
		fmt.Fprintf(&claims, "{\"id\": %d, \"label\": %q, \"claim\": \"Claim %d is%s true.\"}\n", i, label, i, word)
		fmt.Fprintf(&features, "%d,%d\n", i, i)
	}
	config := fmt.Sprintf(`costs:
  instances: {kind: fever, file: claims.jsonl}
  labels: [SUPPORTS, REFUTES]
  advice: [{name: none, kind: none}]
  experts:
    - {name: small, kind: endpoint, base_url: %[1]q, model: s, backoff: 0.01, price: {prompt: 10, completion: 100}}
    - {name: large, kind: endpoint, base_url: %[1]q, model: l, backoff: 0.01, price: {prompt: 10, completion: 100}, fee: 0.1}
  features: [{kind: file, file: features.csv}]
  shard: 8
  batch: 4
  workers: 2
`, base)
	for name, text := range map[string]string{"claims.jsonl": claims.String(), "features.csv": features.String(), "costs.yaml": config} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// costsIn starts pipe costs in a folder.
func costsIn(t *testing.T, folder, out string, more ...string) *program {
	t.Helper()
	return start(t, folder, nil, append([]string{"costs", "--config", "costs.yaml", "--out", out, "--quiet"}, more...)...)
}

func (p *program) succeeds(t *testing.T) {
	t.Helper()
	if err := <-p.ended; err != nil {
		t.Fatalf("%v: %v: %s", p.Args, err, p.stderr.String())
	}
}

// fails waits for the end and checks exit code, error and that there is a hint.
func (p *program) fails(t *testing.T, code int, message string) {
	t.Helper()
	<-p.ended
	text := p.stderr.String()
	if p.ProcessState.ExitCode() != code || !strings.Contains(text, message) || strings.Count(text, "pipe: error:") != 1 || !strings.Contains(text, "pipe: hint:") {
		t.Errorf("%v: exit code %d, want %d; %s; want %q and a hint", p.Args, p.ProcessState.ExitCode(), code, text, message)
	}
}

// Workers share a build, one is killed in the middle, and a shard is run twice at once: the gathered output has the bytes of
// a local run, and no answer is paid twice but those in flight at the kill.
func TestShardsOfPaidAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("runs of separate processes, in which the race detector finds nothing new")
	}
	t.Parallel()
	server := chattest.NewServer(t)
	server.Delay = 15 * time.Millisecond
	const claims = 160
	folder := paidFiles(t, server.Base(), claims)
	costsIn(t, folder, "local.parquet").succeeds(t)
	_, distinct := server.Answers()
	server.TakeServed()

	shard := func(which string) *program {
		return costsIn(t, folder, "many.parquet", "--shards", "5", "--shard", which, "--lease", "3s")
	}
	killed, second := shard("next"), shard("next")
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if all, _ := server.Answers(); all > 40 {
			break
		}
	}
	killed.send(t, syscall.SIGKILL)
	<-killed.ended
	costsIn(t, folder, "many.parquet", "--shards", "5", "--gather").fails(t, exitcode.Failure, "of 5 shards are missing")
	twice := []*program{shard("4"), shard("4")}
	for _, p := range append(twice, second, shard("next")) {
		p.succeeds(t)
	}
	costsIn(t, folder, "many.parquet", "--shards", "5", "--gather").succeeds(t)
	if !bytes.Equal(readAll(t, filepath.Join(folder, "many.parquet")), readAll(t, filepath.Join(folder, "local.parquet"))) {
		t.Error("the gathered output has other bytes than the local run")
	}
	// A killed worker loses what it had in flight, at most four requests to each of two models. Two workers at the same
	// shard ask for nothing twice.
	all, again := 0, server.TakeServed()
	for _, n := range again {
		all += n
	}
	if twice := all - distinct; len(again) != distinct || twice > 8 {
		t.Errorf("%d of %d requests were answered, and %d were paid again, want at most 8", len(again), distinct, twice)
	}
	t.Logf("%d requests; %d were paid again", distinct, all-distinct)

	// The output is as good as one that was built here: nothing is left to do, and new fees are written into it.
	costsIn(t, folder, "many.parquet").succeeds(t)
	if asked := server.TakeServed(); len(asked) > 0 {
		t.Errorf("a local run of the gathered output asks %d times", len(asked))
	}
}

// All workers together never spend more than the budget, whatever they are; a larger budget goes on.
func TestShardsShareABudget(t *testing.T) {
	t.Parallel()
	const price = 0.0015
	claims, least := 160, 0.5
	if testing.Short() {
		claims, least = 64, 0.25 // what three workers reserve for their next requests is more of it
	}
	answers := 2 * claims
	whole := float64(answers) * price
	server := chattest.NewServer(t)
	server.Delay = 2 * time.Millisecond
	folder := paidFiles(t, server.Base(), claims)
	run := func(budget string) (failed int) {
		var workers []*program
		for range 3 {
			workers = append(workers, costsIn(t, folder, "out.parquet", "--shards", "4", "--shard", "next", "--budget", budget, "--lease", "3s", "--workers", "3"))
		}
		for _, p := range workers {
			if <-p.ended == nil {
				continue
			}
			if failed++; !strings.Contains(p.stderr.String(), "the budget of "+budget+" is used up") || !strings.Contains(p.stderr.String(), "a larger --budget") {
				t.Error(p.stderr.String())
			}
		}
		return failed
	}
	for _, share := range []float64{0.21, 0.52} {
		budget := math.Round(share*whole*1e4) / 1e4
		if run(fmt.Sprint(budget)) == 0 {
			t.Errorf("%d answers were paid from too little", answers)
		}
		if all, _ := server.Answers(); float64(all)*price > budget || float64(all)*price < least*budget {
			t.Errorf("%d answers cost %.4f of a budget of %.4f", all, float64(all)*price, budget)
		}
	}
	if run(fmt.Sprintf("%.2f", 4*whole)) != 0 {
		t.Errorf("%d answers could not be paid from 4 times their price", answers)
	}
	if all, distinct := server.Answers(); all != distinct || all != answers {
		t.Errorf("%d answers to %d requests", all, distinct)
	}
	costsIn(t, folder, "out.parquet", "--shards", "4", "--gather").succeeds(t)
}

// Wrong command lines and work of another configuration are one error each.
func TestShardsBadInput(t *testing.T) {
	if testing.Short() {
		t.Skip("runs of separate processes, in which the race detector finds nothing new")
	}
	t.Parallel()
	server := chattest.NewServer(t)
	folder := paidFiles(t, server.Base(), 24)
	for message, more := range map[string][]string{
		"shards need one of":                       {"--shards", "2"},
		"need one of --shard, --gather and --list": {"--shards", "2", "--shard", "0", "--gather"},
		"--shard needs --shards":                   {"--shard", "0"},
		"shard 2: there are 2 shards":              {"--shards", "2", "--shard", "2"},
		"drop the work of other workers":           {"--shards", "2", "--shard", "0", "--restart"},
		"4 shards are too many":                    {"--shards", "4", "--shard", "0"},
		"leave the flags of shards out":            {"--shards", "2", "--shard", "0", "--dry-run"},
		"lease is 1s":                              {"--shards", "2", "--shard", "0", "--lease", "1s"},
		"0 workers":                                {"--shards", "2", "--shard", "0", "--workers", "0"},
		"--base adds experts":                      {"--shards", "2", "--shard", "0", "--base", "features.csv"},
	} {
		p := costsIn(t, folder, "out.parquet", more...)
		<-p.ended
		if text := p.stderr.String(); p.ProcessState.ExitCode() != exitcode.Usage || !strings.Contains(text, message) {
			t.Errorf("%v: %d, %s; want %q", more, p.ProcessState.ExitCode(), text, message)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "out.parquet.shards", "manifest.json")); err == nil {
		t.Error("a wrong command line has begun the work")
	}
	costsIn(t, folder, "out.parquet", "--list").fails(t, exitcode.Failure, "no worker has begun")
	costsIn(t, folder, "out.parquet", "--shards", "2", "--gather").fails(t, exitcode.Failure, "no worker has begun")
	costsIn(t, folder, "out.parquet", "--shards", "3", "--shard", "0").succeeds(t)
	costsIn(t, folder, "out.parquet", "--shards", "2", "--shard", "0").fails(t, exitcode.Failure, "there were 3 shards, are 2")
	config := string(readAll(t, filepath.Join(folder, "costs.yaml")))
	if err := os.WriteFile(filepath.Join(folder, "costs.yaml"), []byte(strings.Replace(config, "model: s", "model: other", 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	costsIn(t, folder, "out.parquet", "--shards", "3", "--shard", "1").fails(t, exitcode.Failure, `settings of expert "small" changed`)
	if err := os.WriteFile(filepath.Join(folder, "costs.yaml"), []byte(config), 0o666); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if code := run(t.Context(), []string{"costs", "--config", filepath.Join(folder, "costs.yaml"), "--out", filepath.Join(folder, "out.parquet"), "--list", "--json"}, nil, &out, &out); code != exitcode.OK {
		t.Fatal(out.String())
	}
	var list struct{ Shards []struct{ State string } }
	if err := json.Unmarshal(out.Bytes(), &list); err != nil || len(list.Shards) != 3 || list.Shards[0].State != "done" || list.Shards[1].State != "open" {
		t.Errorf("%s, %v", out.String(), err)
	}
	costsIn(t, folder, "out.parquet", "--list", "--restart").succeeds(t)
	costsIn(t, folder, "out.parquet", "--shards", "2", "--shard", "next").succeeds(t)
	if all, distinct := server.Answers(); all != distinct {
		t.Errorf("%d answers to %d requests: shards were dropped, not answers", all, distinct)
	}
	costsIn(t, folder, "out.parquet", "--shards", "2", "--gather").succeeds(t)
}

// A flag of shards without the others is an error: a run on one machine would ignore it, and might pay for everything.
func TestShardFlagsAlone(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, line := range []string{
		"costs --config c.yaml --out o.parquet --work w", "costs --config c.yaml --out o.parquet --workers 3", "costs --config c.yaml --out o.parquet --lease 5s",
		"decide --policy p.onnx --in r.csv --out o.csv --work w", "featurize --columns c.yaml --in r.csv --out o --tries 2", "index --pages p --out o --shards 0",
		"import --config c.yaml --out o.parquet --work w",
	} {
		var stderr bytes.Buffer
		if code := run(t.Context(), strings.Fields(line), nil, io.Discard, &stderr); code != exitcode.Usage || !strings.Contains(stderr.String(), "shards need one of --shard, --gather and --list") {
			t.Errorf("%s: exit code %d: %s", line, code, stderr.String())
		}
	}
}
