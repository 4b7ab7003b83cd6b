package builder

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pipe/experts/builder/part"
	"pipe/experts/chat/chattest"
	"pipe/internal/storage"
)

// auditPath is the audit beside an output.
func auditPath(out string) string { return strings.TrimSuffix(out, ".parquet") + auditSuffix }

func auditOf(t testing.TB, out string) []auditLine {
	t.Helper()
	f, err := os.Open(auditPath(out))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var lines []auditLine
	for s := bufio.NewScanner(z); s.Scan(); {
		var line auditLine
		if err := json.Unmarshal(s.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestAuditTellsWhatWasShown(t *testing.T) {
	w := newClaimWorld(t, 40)
	w.cfg.Audit = true
	r, _ := w.mustRun(t)
	if r.Audit != auditPath(w.out()) {
		t.Errorf("the report names %q", r.Audit)
	}
	lines := auditOf(t, w.out())
	if len(lines) != 40*3 {
		t.Fatalf("%d lines", len(lines))
	}
	l := lines[3*7+1]
	if l.ID != "7" || l.Advice != "top-3" || l.Query != "common fact7 thing0" || len(l.Pages) != 3 || l.Pages[0] != "Page_7" || l.Texts[0] != "common fact7 thing0 not" {
		t.Errorf("line %+v", l)
	}
}

// What a reformulator writes is what is searched for, in the place of the claim.
func TestPagesAreFoundByTheQueryOfAReformulator(t *testing.T) {
	server := chattest.NewServer(t)
	server.Answer = func(user string) string {
		var fact, thing int
		if _, err := fmt.Sscanf(user, "CLAIM\ncommon fact%d thing%d", &fact, &thing); err != nil {
			t.Errorf("asked %q: %v", user, err)
		}
		return fmt.Sprintf("fact%d", 39-fact)
	}
	w := newClaimWorld(t, 40)
	w.cfg.Audit = true
	w.cfg.Advice[1].Settings["reformulator"] = server.Settings(map[string]any{"kind": "endpoint"})
	w.mustRun(t)
	for i, l := range auditOf(t, w.out()) {
		n := i / 3
		query, page := fmt.Sprintf("common fact%d thing%d", n, n%7), fmt.Sprintf("Page_%d", n)
		if l.Advice == "top-1" {
			query, page = fmt.Sprintf("fact%d", 39-n), fmt.Sprintf("Page_%d", 39-n)
		}
		if l.Query != query || l.Pages[0] != page {
			t.Errorf("line %+v, want query %q and page %s", l, query, page)
		}
	}
}

// The audit comes and goes with the output.
func TestAuditBelongsToTheOutput(t *testing.T) {
	w := newClaimWorld(t, 20)
	w.cfg.Audit = true
	w.mustRun(t)
	path := auditPath(w.out())
	want := readBytes(t, path)
	w.cfg.Experts[0].Fee = 0.25 // new fees are written without showing anything again
	if r, tensor := w.mustRun(t); r.Audit != path || tensor.Actions.Experts[0].Fee != 0.25 || readBytes(t, path) != want {
		t.Error("new fees change the audit")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := w.run(context.Background()); err == nil || !strings.Contains(err.Error(), "is not the file that was built with the output") {
		t.Errorf("without its audit: %v", err)
	}
	restart := Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir), Restart: true}
	if _, err := Run(context.Background(), w.cfg, restart); err != nil || readBytes(t, path) != want {
		t.Errorf("started over: %v", err)
	}
	w.cfg.Audit = false
	if _, err := w.run(context.Background()); err == nil || !strings.Contains(err.Error(), "settings of build changed") {
		t.Errorf("without an audit: %v", err)
	}
	if _, err := Run(context.Background(), w.cfg, restart); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the audit of another build is left")
	}
}

// A damaged audit of a shard is made again with its shard.
func TestAuditIsMadeAgain(t *testing.T) {
	w := newClaimWorld(t, 48)
	w.cfg.Audit, w.cfg.Workers = true, 1
	w.mustRun(t)
	other := filepath.Join(w.dir, "other.parquet")
	ctx, stop := context.WithCancel(context.Background())
	if _, err := Run(ctx, w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(other), Dir: storage.File(w.dir), Progress: stopping{stop}}); err == nil {
		t.Fatal("the build was not stopped")
	}
	parts, _ := filepath.Glob(filepath.Join(other+".work", "part-*.jsonl.gz"))
	if len(parts) == 0 {
		t.Fatal("no shard is done")
	}
	if err := os.WriteFile(parts[0], []byte("torn"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(context.Background(), w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(other), Dir: storage.File(w.dir)}); err != nil {
		t.Fatal(err)
	}
	if readBytes(t, auditPath(other)) != readBytes(t, auditPath(w.out())) {
		t.Error("the audit differs")
	}
}

// stopping stops a build when something is done.
type stopping struct{ stop func() }

func (stopping) Start(int64, string) {}
func (stopping) Done()               {}
func (stopping) Note(string, ...any) {}
func (s stopping) Add(int64)         { s.stop() }

// Builds that keep what they show and are killed leave the same audit.
func TestKilledAuditsResumeToTheSameBytes(t *testing.T) {
	const claims, kills = 160, 6
	w := newClaimWorld(t, claims)
	w.cfg.Audit = true
	w.cfg.Experts[0] = part.ExpertConfig{Name: "plain", Kind: "precomputed", Settings: map[string]any{"file": "answers.csv", "prediction": "prediction"}}
	answers := "id,prediction\n"
	for i := range claims {
		answers += fmt.Sprintf("%d,REFUTES\n", i)
	}
	w.write(t, "answers.csv", answers)
	w.mustRun(t)
	want := readBytes(t, auditPath(w.out()))
	c := child{Config: w.cfg, Dir: w.dir, Delay: 20 * time.Millisecond, Out: filepath.Join(t.TempDir(), "killed.parquet")}
	killed := 0
	for n := range kills {
		cmd := c.start(t)
		time.AfterFunc(time.Duration(60+50*n)*time.Millisecond, func() { cmd.Process.Kill() })
		if cmd.Wait() != nil {
			killed++
		}
	}
	if err := c.start(t).Wait(); err != nil {
		t.Fatal(err)
	}
	if readBytes(t, auditPath(c.Out)) != want {
		t.Errorf("after %d kills: the audit differs", killed)
	}
	if left, _ := filepath.Glob(filepath.Join(c.Out+".work", "*.gz")); len(left) > 0 || killed == 0 {
		t.Errorf("%d kills, left: %v", killed, left)
	}
}
