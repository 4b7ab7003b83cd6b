package ledger

import (
	"bufio"
	"fmt"
	"math"
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

// killEnv names the file of the process that TestKill starts and kills.
const killEnv = "LEDGER_KILLED"

// TestKill kills a spending process 25 times on one day. Together they spend no more than the allowance: nothing is spent
// twice.
func TestKill(t *testing.T) {
	if file := os.Getenv(killEnv); file != "" {
		spendUntilKilled(t, file)
		return
	}
	file, r := filepath.Join(t.TempDir(), "ledger.json"), rand.New(rand.NewPCG(4, 4))
	sum, killed, spending := 0.0, 0, 0
	for range 25 {
		spent, done := runAndKill(t, file, time.Duration(20+r.IntN(40))*time.Millisecond)
		sum += spent
		if !done {
			killed++
		}
		if spent > 0 {
			spending++
		}
	}
	t.Logf("%d processes were killed, %d spent, %.4f of %v in all", killed, spending, sum, killAllowance)
	if sum > killAllowance*(1+1e-9) || sum < 0.5*killAllowance || killed < 20 || spending < 3 {
		t.Errorf("%d processes were killed, %d spent, %v of %v in all", killed, spending, sum, killAllowance)
	}
}

const killAllowance = 2.0

// runAndKill starts a process and kills it after a while. It returns what the process said before it spent it.
func runAndKill(t *testing.T, file string, after time.Duration) (spent float64, done bool) {
	t.Helper()
	c := exec.Command(os.Args[0], "-test.run=^TestKill$")
	c.Env = append(os.Environ(), killEnv+"="+file)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case "ready":
			time.AfterFunc(after, func() { _ = c.Process.Signal(syscall.SIGKILL) })
		case "spent":
			number, whole := strings.CutSuffix(rest, ";")
			x, err := strconv.ParseFloat(number, 64)
			if whole && err == nil {
				spent += x
			}
		case "bad":
			t.Error(lines.Text())
		}
	}
	return spent, c.Wait() == nil
}

// spendUntilKilled spends in parts, slowly enough that the allowance lasts for several processes.
func spendUntilKilled(t *testing.T, file string) {
	day := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	l, err := Open("test", Settings{killAllowance, Day}, Options{File: file, Every: time.Millisecond, Now: func() time.Time { return day }})
	if err != nil {
		fmt.Println("bad", err)
		return
	}
	fmt.Println("ready")
	for r := rand.New(rand.NewPCG(uint64(os.Getpid()), 1)); ; {
		x := math.Round(r.Float64()*16384) / 1024 / 1024
		if _, ok := l.Spend(x); ok {
			fmt.Printf("spent %v;\n", x)
		}
		time.Sleep(200 * time.Microsecond)
	}
}
