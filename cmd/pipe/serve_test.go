package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pipe/onnx/ort"
	"pipe/pipeline/decisionlog"
)

// server is pipe serve in a process.
type server struct {
	*program
	url, grpc string
}

// serveIn starts pipe serve in a folder and waits until it prints its addresses.
func serveIn(t *testing.T, folder string, args ...string) *server {
	t.Helper()
	s := &server{}
	found := ort.EnvLibrary + "=" + runtimeLibrary(t)
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s.program = start(t, folder, func(c *exec.Cmd) { c.Stdout, c.Env = w, append(os.Environ(), found) }, append([]string{"serve", "--json", "--listen", "127.0.0.1:0"}, args...)...)
	t.Cleanup(func() { _ = s.Process.Kill(); <-s.ended })
	_ = w.Close()
	defer func() { _ = out.Close() }()
	line, err := bufio.NewReader(out).ReadString('\n')
	var addresses struct{ HTTP, GRPC string }
	if err != nil || json.Unmarshal([]byte(line), &addresses) != nil {
		t.Fatalf("%v printed %q: %v\n%s", args, line, err, s.ends(t))
	}
	s.url, s.grpc = addresses.HTTP, addresses.GRPC
	return s
}

// ends waits for the end of the program and returns what it wrote to standard error.
func (s *server) ends(t *testing.T) string {
	t.Helper()
	select {
	case err := <-s.ended:
		s.ended <- err
	case <-time.After(20 * time.Second):
		_ = s.Process.Kill()
		t.Fatal("the server did not end")
	}
	return s.stderr.String()
}

// samplesIn writes the files of the scripts into a new folder.
func samplesIn(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := writeSamples(folder); err != nil {
		t.Fatal(err)
	}
	return folder
}

// ask sends a body and returns the status and the answer.
func ask(c *http.Client, url, body string) (int, string, error) {
	answer, err := c.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text), err
}

const twoFeatures = `{"features":[[0.5,-0.5]]}`

// TestServeReloads replaces a policy 100 times under load, every tenth time by a broken file: no request fails, and each is
// answered by a policy that was served.
func TestServeReloads(t *testing.T) {
	t.Parallel()
	folder := samplesIn(t)
	served := filepath.Join(folder, "served")
	if err := os.Mkdir(served, 0o777); err != nil {
		t.Fatal(err)
	}
	versions := [][]byte{}
	for _, name := range []string{"policy.onnx", "fixed.onnx"} {
		b, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		versions = append(versions, b)
	}
	put := func(b []byte) {
		t.Helper()
		file := filepath.Join(served, "p.onnx")
		if err := os.WriteFile(file+".new", b, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(file+".new", file); err != nil {
			t.Fatal(err)
		}
	}
	put(versions[0])
	s := serveIn(t, folder, "--policy", "served")
	var asked, failed atomic.Int64
	stop := make(chan struct{})
	var load sync.WaitGroup
	for range 4 {
		load.Go(func() {
			c := &http.Client{Transport: &http.Transport{}}
			defer c.CloseIdleConnections()
			for {
				select {
				case <-stop:
					return
				default:
				}
				asked.Add(1)
				if code, text, err := ask(c, s.url+"/v1/decide", twoFeatures); code != 200 {
					failed.Add(1)
					t.Logf("%d %s %v", code, text, err)
				}
			}
		})
	}
	refused := 0
	for i := range 100 {
		if i%10 == 9 {
			put([]byte("not a policy"))
		} else {
			put(versions[i%2])
		}
		code, text, err := ask(http.DefaultClient, s.url+"/v1/policies/reload", "")
		if code != 200 {
			t.Fatal(code, text, err)
		}
		if strings.Contains(text, `"what":"refused"`) {
			refused++
		}
	}
	close(stop)
	load.Wait()
	if failed.Load() > 0 || asked.Load() < 100 || refused != 10 {
		t.Errorf("%d of %d requests failed; %d files were refused", failed.Load(), asked.Load(), refused)
	}
	t.Logf("%d requests, 100 reloads", asked.Load())
}

// TestServeSignals checks SIGHUP, the end by SIGTERM with a running request, and that a second signal does not wait.
func TestServeSignals(t *testing.T) {
	t.Parallel()
	folder := samplesIn(t)
	s := serveIn(t, folder, "--policy", "policy.onnx", "--grpc", "127.0.0.1:0")
	if !strings.HasPrefix(s.grpc, "grpc://127.0.0.1:") || strings.HasSuffix(s.grpc, ":0") {
		t.Errorf("gRPC is at %q", s.grpc)
	}
	b, err := os.ReadFile(filepath.Join(folder, "fixed.onnx"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "policy.onnx"), b, 0o666); err != nil {
		t.Fatal(err)
	}
	s.send(t, syscall.SIGHUP)
	soon(t, func() bool {
		_, text, _ := ask(http.DefaultClient, s.url+"/v1/decide", twoFeatures)
		return strings.Contains(text, "lower bound")
	})
	c := slowRequest(t, s.url)
	s.send(t, syscall.SIGTERM)
	soon(t, func() bool {
		_, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		return err != nil
	})
	if _, err := io.WriteString(c, twoFeatures[10:]); err != nil {
		t.Fatal(err)
	}
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || answer.StatusCode != 200 {
		t.Errorf("the running request: %v, %v", answer, err)
	}
	if text := s.ends(t); s.ProcessState.ExitCode() != 0 || !strings.Contains(text, `"msg":"stopped"`) {
		t.Errorf("%s: %s", s.ProcessState, text)
	}
	again := serveIn(t, folder, "--policy", "policy.onnx")
	slowRequest(t, again.url)
	again.send(t, syscall.SIGINT)
	soon(t, again.drains)
	again.send(t, syscall.SIGINT)
	again.ends(t)
	if again.ProcessState.Success() {
		t.Error("a second signal waited for the running request")
	}
}

// drains reports whether the server has begun to stop.
func (s *server) drains() bool {
	answer, err := http.Get(s.url + "/readyz")
	if err != nil {
		return true
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusServiceUnavailable
}

// slowRequest sends half a request to decide, and returns the connection.
func slowRequest(t *testing.T, url string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := fmt.Fprintf(c, "POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(twoFeatures), twoFeatures[:10]); err != nil {
		t.Fatal(err)
	}
	time.Sleep(100 * time.Millisecond) // the handler has begun
	return c
}

func soon(t *testing.T, ok func() bool) {
	t.Helper()
	for range 200 {
		if ok() {
			return
		}
		time.Sleep(25 * time.Millisecond)
	}
	t.Fatal("it did not happen within 5 s")
}

// TestServeKilled kills a server and starts it again on the same log: no decision that was answered before the last flush is
// lost, and the log reads without an error. A second server on the log is refused.
func TestServeKilled(t *testing.T) {
	t.Parallel()
	folder := samplesIn(t)
	s := serveIn(t, folder, "--policy", "policy.onnx", "--log", "log")
	for range 50 {
		if code, text, err := ask(http.DefaultClient, s.url+"/v1/decide", twoFeatures); code != 200 {
			t.Fatal(code, text, err)
		}
	}
	found := ort.EnvLibrary + "=" + runtimeLibrary(t)
	other := start(t, folder, func(c *exec.Cmd) { c.Env = append(os.Environ(), found) }, "serve", "--policy", "policy.onnx", "--log", "log", "--listen", "127.0.0.1:0")
	if <-other.ended; other.ProcessState.Success() || !strings.Contains(other.stderr.String(), "log") {
		t.Errorf("a second server on one log: %s: %s", other.ProcessState, other.stderr.String())
	}
	time.Sleep(1500 * time.Millisecond) // longer than the flush interval
	if err := s.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.ended
	s.ended <- nil
	again := serveIn(t, folder, "--policy", "policy.onnx", "--log", "log")
	if code, text, err := ask(http.DefaultClient, again.url+"/v1/decide", twoFeatures); code != 200 {
		t.Fatal(code, text, err)
	}
	again.send(t, syscall.SIGTERM)
	again.ends(t)
	log, err := decisionlog.Read(filepath.Join(folder, "log"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for d, err := range log.Decisions() {
		if err != nil {
			t.Fatal(err)
		}
		if n++; d.Policy != "policy" || d.Propensity[d.Action] != 1 {
			t.Errorf("%+v", d.Record)
		}
	}
	if n != 51 {
		t.Errorf("the log has %d decisions, want 51", n)
	}
}

// TestServeFullDisk limits the size of files below that of a segment of the log: serving goes on or stops, as configured, and
// says so.
func TestServeFullDisk(t *testing.T) {
	t.Parallel()
	for onFull, code := range map[string]int{"continue": http.StatusOK, "stop": http.StatusServiceUnavailable} {
		t.Run(onFull, func(t *testing.T) {
			t.Parallel()
			folder := samplesIn(t)
			text := "policies: {paths: [policy.onnx]}\nlog: {folder: log, flush_interval: 50ms, on_full: " + onFull + "}\n"
			if err := os.WriteFile(filepath.Join(folder, "serve.yaml"), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
			s := serveIn(t, folder, "--config", "serve.yaml")
			limit := unix.Rlimit{Cur: 2000, Max: 2000}
			if err := unix.Prlimit(s.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
				missing(t, "a limit on the size of files", err)
			}
			soon(t, func() bool {
				if _, _, err := ask(http.DefaultClient, s.url+"/v1/decide", twoFeatures); err != nil {
					t.Fatal(err)
				}
				answer, err := http.Get(s.url + "/metrics")
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = answer.Body.Close() }()
				text, err := io.ReadAll(answer.Body)
				return err == nil && strings.Contains(string(text), "pipe_log_stopped 1\n")
			})
			if got, text, err := ask(http.DefaultClient, s.url+"/v1/decide", twoFeatures); got != code {
				t.Errorf("with a full disk: %d %s %v, want %d", got, text, err, code)
			}
			answer, err := http.Get(s.url + "/readyz")
			if err != nil {
				t.Fatal(err)
			}
			_ = answer.Body.Close()
			if answer.StatusCode != code {
				t.Errorf("with a full disk, readiness is %d, want %d", answer.StatusCode, code)
			}
		})
	}
}

// TestServeHostileClients checks that clients which send too much, disconnect, or never end their request are no problem for
// others.
func TestServeHostileClients(t *testing.T) {
	t.Parallel()
	folder := samplesIn(t)
	s := serveIn(t, folder, "--policy", "policy.onnx")
	before := resident(t, s.Process.Pid)
	for range 3 { // 100 MB each
		q, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/v1/decide", io.LimitReader(zeros{}, 100<<20))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Content-Type", "application/json")
		if answer, err := http.DefaultTransport.RoundTrip(q); err == nil {
			if _ = answer.Body.Close(); answer.StatusCode != http.StatusRequestEntityTooLarge {
				t.Errorf("100 MB: %d", answer.StatusCode)
			}
		}
	}
	for range 200 {
		c := slowConnection(t, s.url)
		_ = c.Close()
	}
	if code, text, err := ask(http.DefaultClient, s.url+"/v1/decide", twoFeatures); code != 200 {
		t.Errorf("%d %s %v", code, text, err)
	}
	if after := resident(t, s.Process.Pid); after > before+500<<20 {
		t.Errorf("memory grew from %d to %d MB", before>>20, after>>20)
	}
}

// slowConnection sends half a request.
func slowConnection(t *testing.T, url string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, "POST /v1/decide HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"); err != nil {
		t.Fatal(err)
	}
	return c
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// resident is the memory of a process in bytes.
func resident(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		missing(t, "/proc", err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// TestServeMemory sends requests at full rate for 2 seconds, or PIPE_SOAK, such as 1h: memory does not grow once the server is
// warm.
func TestServeMemory(t *testing.T) {
	t.Parallel()
	whole := 2 * time.Second
	if text := os.Getenv("PIPE_SOAK"); text != "" {
		var err error
		if whole, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	s := serveIn(t, samplesIn(t), "--policy", "policy.onnx", "--log", "log")
	var asked atomic.Int64
	loadFor := func(d time.Duration) {
		var load sync.WaitGroup
		for end := time.Now().Add(d); asked.Load() == 0 || time.Now().Before(end); {
			for range 4 {
				load.Go(func() {
					c := &http.Client{Transport: &http.Transport{}}
					defer c.CloseIdleConnections()
					for range 200 {
						if code, text, err := ask(c, s.url+"/v1/decide", twoFeatures); code != 200 {
							t.Error(code, text, err)
							return
						}
						asked.Add(1)
					}
				})
			}
			load.Wait()
		}
	}
	loadFor(whole / 2)
	warm := resident(t, s.Process.Pid)
	loadFor(whole / 2)
	after := resident(t, s.Process.Pid)
	t.Logf("%d requests in %v: %d MB, then %d MB", asked.Load(), whole, warm>>20, after>>20)
	if after > warm+64<<20 {
		t.Errorf("memory grew from %d to %d MB", warm>>20, after>>20)
	}
}

// TestServeIdleConnections holds connections without requests: 500 of them, or PIPE_IDLE of them, such as 10000, which need
// less than 500 MB.
func TestServeIdleConnections(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("memory is read from /proc")
	}
	n := 500
	if text := os.Getenv("PIPE_IDLE"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur < uint64(n)+100 {
		t.Skipf("this user may open %d files only: ulimit -n %d", limit.Cur, 2*n)
	}
	s := serveIn(t, samplesIn(t), "--policy", "policy.onnx")
	for range n {
		c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		// One request each, so that the connection has all of its buffers.
		if _, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 512)); err != nil {
			t.Fatal(err)
		}
	}
	if code, text, err := ask(http.DefaultClient, s.url+"/v1/decide", twoFeatures); code != 200 {
		t.Errorf("%d %s %v", code, text, err)
	}
	memory := resident(t, s.Process.Pid)
	t.Logf("%d idle connections: %d MB", n, memory>>20)
	if memory > 500<<20 {
		t.Errorf("%d idle connections need %d MB", n, memory>>20)
	}
}
