package people

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"pipe/internal/config"
	"pipe/serve/people/hours"
)

// killEnv names the folder of the process that TestKill starts and kills.
const killEnv = "PEOPLE_KILLED"

// killSettings let two people work at all hours.
func killSettings(folder string) Settings {
	s := settings(folder)
	for i := range s.List {
		s.List[i].Settings = hours.Settings{}
	}
	return s
}

// TestKill kills a working process 25 times. What it confirmed is there when the queue is opened again: no item is lost, and no answer
// is lost, changed or given twice.
func TestKill(t *testing.T) {
	if folder := os.Getenv(killEnv); folder != "" {
		workUntilKilled(folder)
		return
	}
	folder, r := t.TempDir(), rand.New(rand.NewPCG(4, 4))
	items, answers := map[string]bool{}, map[string]string{}
	killed := 0
	for range 25 {
		if runAndKill(t, folder, 5+r.IntN(30), time.Duration(r.IntN(4000))*time.Microsecond, items, answers) {
			killed++
		}
		p, err := Open(killSettings(folder), Options{})
		if err != nil {
			t.Fatal(err)
		}
		for id := range items {
			if i, err := p.Get(id); err != nil || answers[id] != "" && (i.Answer == nil || i.Answer.Text != answers[id]) {
				t.Fatalf("%s: %+v, %v; %q was confirmed", id, i.Answer, err, answers[id])
			}
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d processes were killed; %d items, %d answers", killed, len(items), len(answers))
	if killed < 20 || len(items) < 100 || len(answers) < 50 {
		t.Error("too little happened")
	}
}

// runAndKill starts a process and kills it a moment after it has confirmed some changes. It collects what the process confirmed.
func runAndKill(t *testing.T, folder string, changes int, after time.Duration, items map[string]bool, answers map[string]string) (killed bool) {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestKill$")
	c.Env = append(os.Environ(), killEnv+"="+folder)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if changes--; changes == 0 {
			time.AfterFunc(after, func() { _ = c.Process.Signal(syscall.SIGKILL) })
		}
		switch {
		case len(words) == 3 && words[0] == "put" && words[2] == ";":
			items[words[1]] = true
		case len(words) == 4 && words[0] == "answered" && words[3] == ";":
			if before := answers[words[1]]; before != "" && before != words[2] {
				t.Errorf("%s is answered twice: %s, %s", words[1], before, words[2])
			}
			answers[words[1]] = words[2]
		case len(words) > 0 && words[0] == "bad":
			t.Error(lines.Text())
		}
	}
	return c.Wait() != nil
}

// workUntilKilled puts items and answers them. It says what was confirmed.
func workUntilKilled(folder string) {
	s := killSettings(folder)
	s.Folder = config.Path(folder)
	p, err := Open(s, Options{})
	if err != nil {
		fmt.Println("bad", err)
		return
	}
	for n := 0; ; n++ {
		i, _, err := p.Put(New{Expert: "reviewer", Question: json.RawMessage(fmt.Sprint(n))})
		if code(err) == "full" {
			err = nil
		} else if err == nil {
			fmt.Println("put", i.ID, ";")
		}
		if err != nil {
			fmt.Println("bad", err)
		}
		for _, name := range []string{"ana", "ben"} { // a killed process left them with items
			i, found, err := p.ClaimNext(name)
			if !found || err != nil || n%3 == 2 {
				continue
			}
			text := fmt.Sprintf("%s-%d-%d", name, os.Getpid(), n)
			if _, err := p.Answer(i.ID, name, i.Claim.Token, Said{Text: text}); err != nil {
				fmt.Println("bad", err)
				continue
			}
			fmt.Println("answered", i.ID, text, ";")
		}
	}
}
