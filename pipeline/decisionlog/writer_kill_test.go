package decisionlog

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// killEnv names the folder of the process that TestKill starts and kills.
const killEnv = "DECISIONLOG_KILLED"

// A writer that is killed at any moment, many times, loses at most what was added within the flush interval, and doubles
// nothing. The child tells which ids it added and which outcomes it kept.
func TestKill(t *testing.T) {
	if folder := os.Getenv(killEnv); folder != "" {
		writeUntilKilled(t, folder)
	}
	folder := t.TempDir()
	rng := rand.New(rand.NewPCG(9, 9))
	told, kept, lost := map[string]bool{}, map[string]bool{}, 0
	for n := range 20 {
		old, outcomes := runAndKill(t, folder, time.Duration(5+rng.IntN(150))*time.Millisecond)
		for id := range old {
			told[id] = true
		}
		for id := range outcomes {
			kept[id] = true
		}
		if n%5 != 4 {
			continue
		}
		have, l := map[string]int{}, 0
		list, log := readAll(t, folder)
		for _, d := range list {
			have[d.ID]++
			if d.Outcome != nil {
				l++
			}
			if have[d.ID] > 1 {
				t.Fatalf("decision %s is there twice", d.ID)
			}
		}
		for id := range told {
			if have[id] == 0 {
				lost++
			}
		}
		if lost > 0 {
			t.Fatalf("%d of %d records that were on disk are lost", lost, len(told))
		}
		if c := log.Counts(); c.Damaged > 0 || c.Conflicts > 0 || c.Unmatched > 0 || c.Outcomes < len(kept) {
			t.Fatalf("%+v; %d outcomes were kept", c, len(kept))
		}
	}
	w, err := Open(folder, quick())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d records, %d outcomes; recovered %+v in %d segments", len(told), len(kept), w.Stats().Recovered, w.Stats().Segments)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "*"+linesEnding)); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	if len(told) < 1000 || len(kept) < 100 {
		t.Errorf("the test is too small: %d records, %d outcomes", len(told), len(kept))
	}
}

// runAndKill starts a writer, kills it after a while, and returns the ids that were on disk by Stats.Lag, and those whose
// outcome was kept. How long a record takes to the disk depends on what else the machine does; what Lag promises does not.
func runAndKill(t *testing.T, folder string, after time.Duration) (old, outcomes map[string]bool) {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^TestKill$")
	c.Env = append(os.Environ(), killEnv+"="+folder)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	added := map[string]int64{}
	outcomes = map[string]bool{}
	lines := bufio.NewScanner(out)
	safe, started := int64(0), false
	for lines.Scan() {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case "ready":
			if !started {
				started = true
				time.AfterFunc(after, func() { _ = c.Process.Signal(syscall.SIGKILL) })
			}
		case "added":
			at, id, ok := strings.Cut(rest, " ")
			if !ok || len(id) != 36 {
				continue // the pipe was cut
			}
			if added[id], err = strconv.ParseInt(at, 10, 64); err != nil {
				t.Fatal(err)
			}
		case "safe":
			if at, whole := strings.CutSuffix(rest, "."); whole {
				if safe, err = strconv.ParseInt(at, 10, 64); err != nil {
					t.Fatal(err)
				}
			}
		case "kept":
			if len(rest) == 36 {
				outcomes[rest] = true
			}
		case "bad":
			t.Error(lines.Text())
		}
	}
	if err := c.Wait(); err == nil || !started {
		t.Fatalf("the writer ended by itself: %v", err)
	}
	old = map[string]bool{}
	for id, at := range added {
		if at < safe {
			old[id] = true
		}
	}
	return old, outcomes
}

func writeUntilKilled(t *testing.T, folder string) {
	s := quick()
	s.SegmentBytes = 1 << 18
	w, err := Open(folder, s)
	if err != nil {
		fmt.Println("bad", err)
		os.Exit(1)
	}
	p := testPolicy(2, 2, 64)
	if err := w.Policy(p); err != nil {
		fmt.Println("bad", err)
	}
	out := bufio.NewWriter(os.Stdout)
	rng := rand.New(rand.NewPCG(uint64(os.Getpid()), 1))
	start := time.Now()
	for n := 0; time.Since(start) < 20*time.Second; n++ {
		r := testRecord(rng, &p)
		if err := w.Add(r); err != nil {
			fmt.Fprintln(out, "bad", err)
		}
		fmt.Fprintf(out, "added %d %s\n", time.Since(start).Microseconds(), r.ID)
		if n%4 == 0 {
			score := rng.Float64()
			if _, err := w.Outcome(Outcome{ID: r.ID, Time: r.Time, Score: &score}); err != nil {
				fmt.Fprintln(out, "bad", err)
			}
			fmt.Fprintf(out, "kept %s\n", r.ID)
		}
		if n == 0 {
			fmt.Fprintln(out, "ready")
		}
		if n%16 == 0 {
			now := time.Since(start)
			fmt.Fprintf(out, "safe %d.\n", (now - w.Stats().Lag).Microseconds())
			out.Flush()
			time.Sleep(200 * time.Microsecond)
		}
	}
	os.Exit(0)
}
