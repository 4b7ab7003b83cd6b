package serve

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"pipe/onnx/ort/orttest"
	"pipe/serve/gateway/gatewaytest"
)

// budgetServerEnv names the configuration of a server that TestBudgetOfServers starts and kills.
const budgetServerEnv = "PIPE_BUDGET_SERVER"

// budgetServer is a server in a separate process.
type budgetServer struct {
	*exec.Cmd
	url string
}

// startBudgetServer starts a server, and waits until it listens.
func startBudgetServer(t *testing.T, config string) *budgetServer {
	t.Helper()
	s := &budgetServer{Cmd: exec.Command(os.Args[0], "-test.run=^TestBudgetOfServers$")}
	s.Env = append(os.Environ(), budgetServerEnv+"="+config)
	out, err := s.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "at "); ok {
			s.url = url
			go io.Copy(io.Discard, out) // it ends with the process
			return s
		}
	}
	t.Fatalf("no server: %v", s.Wait())
	return nil
}

// kill kills the server as kill -9 does.
func (s *budgetServer) kill(t *testing.T) {
	t.Helper()
	if err := s.Process.Signal(syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	_ = s.Wait() // it was killed
}

// runBudgetServer is the process.
func runBudgetServer(t *testing.T, config string) {
	c, err := Load(config)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(t.Context(), c, Options{Log: os.Stderr, Runtime: orttest.OneThread(t)})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("at", s.Addresses().HTTP)
	t.Error(s.Run(context.Background()))
}

// Two servers share a budget of money. They are killed again and again while callers send as much as they can, and together they never
// spend more than the budget, but most of it.
func TestBudgetOfServers(t *testing.T) {
	if config := os.Getenv(budgetServerEnv); config != "" {
		runBudgetServer(t, config)
		return
	}
	if testing.Short() {
		t.Skip("runs of separate processes, in which the race detector finds nothing new")
	}
	const limit, fee, kills = 1.0, 0.002, 8 // an answer is billed for 1,000 tokens of the prompt at 1 and 100 of the answer at 10 per million
	service, folder, policy := gatewaytest.New(t), t.TempDir(), aPolicy(t)
	service.Delay = 2 * time.Millisecond
	config := func(i int) string {
		file := filepath.Join(folder, fmt.Sprintf("serve-%d.yaml", i))
		text := fmt.Sprintf(`
listen: 127.0.0.1:0
policies: {paths: [%q]}
log: {folder: %q}
gateway:
  experts:
    small: {base_url: %q, model: m, fields: {max_tokens: 100}, price: {in: 1, cached: 1, out: 10}}
  budgets:
    shared: %q
    list:
      - {name: all, money: %g, per: month, of: total}
`, policy, filepath.Join(folder, fmt.Sprintf("log-%d", i)), service.Base(), filepath.Join(folder, "shared"), limit)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	var servers [2]atomic.Pointer[budgetServer]
	for i := range servers {
		servers[i].Store(startBudgetServer(t, config(i)))
	}
	body := `{"model":"small","messages":[{"role":"user","content":"` + strings.Repeat("word ", 400) + `"}]}`
	var callers sync.WaitGroup
	var answered, refused atomic.Int64
	stop := make(chan struct{})
	for n := range 6 {
		callers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				answer, err := http.Post(servers[n%2].Load().url+"/v1/chat/completions", "application/json", strings.NewReader(body))
				if err != nil { // it was killed
					time.Sleep(5 * time.Millisecond)
					continue
				}
				io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
				switch answer.StatusCode {
				case 200:
					answered.Add(1)
				case 429:
					refused.Add(1)
					time.Sleep(5 * time.Millisecond)
				default:
					t.Errorf("status %d", answer.StatusCode)
				}
			}
		})
	}
	r := rand.New(rand.NewPCG(34, 1))
	for k := range kills {
		time.Sleep(time.Duration(50+r.IntN(150)) * time.Millisecond)
		at := k % 2
		servers[at].Load().kill(t)
		servers[at].Store(startBudgetServer(t, config(at)))
	}
	for deadline := time.Now().Add(time.Minute); refused.Load() < 40 && time.Now().Before(deadline); {
		time.Sleep(20 * time.Millisecond)
	}
	close(stop)
	callers.Wait()
	for i := range servers {
		servers[i].Load().kill(t)
	}
	http.DefaultClient.CloseIdleConnections()
	spent := fee * float64(len(service.Requests()))
	t.Logf("%d kills: the service was paid %.3f of %g, callers got %d answers, and %d refusals", kills, spent, limit, answered.Load(), refused.Load())
	if spent > limit || spent < 0.6*limit || refused.Load() == 0 {
		t.Errorf("%v of %v were spent, %d requests were refused", spent, limit, refused.Load())
	}
}
