package builder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pipe/costs"
	"pipe/costs/prices"
	"pipe/experts/builder/part"
	"pipe/experts/chat"
	"pipe/experts/chat/chattest"
	"pipe/experts/service"
	"pipe/experts/service/servicetest"
	"pipe/internal/digest"
	"pipe/internal/storage"
)

// newClaims writes n claims, every fifth of them twice, and the configuration of
// a build that asks two models at a server about them.
func newClaims(t testing.TB, server *chattest.Server, n int, more map[string]any) *world {
	t.Helper()
	w := &world{dir: t.TempDir(), cfg: part.DefaultConfig()}
	claims, features := &strings.Builder{}, &strings.Builder{}
	fmt.Fprintln(features, "id,x")
	for i := range n {
		label, text := "SUPPORTS", fmt.Sprintf("Claim %d holds.", i-i%5/4)
		if i%3 == 0 {
			label, text = "REFUTES", fmt.Sprintf("Claim %d does not hold.", i)
		}
		fmt.Fprintf(claims, "{\"id\": %d, \"label\": %q, \"claim\": %q}\n", i, label, text)
		fmt.Fprintf(features, "%d,%d\n", i, i)
	}
	fmt.Fprintf(claims, "{\"id\": %d, \"label\": \"NOT ENOUGH INFO\", \"claim\": \"Nobody knows claim %d.\"}\n", n, n)
	fmt.Fprintf(features, "%d,%d\n", n, n)
	w.write(t, "claims.jsonl", claims.String())
	w.write(t, "features.csv", features.String())
	w.cfg.Instances = part.Part{Kind: "fever", Settings: map[string]any{"file": "claims.jsonl"}}
	w.cfg.Labels = claimLabels
	w.cfg.Advice = []part.AdviceConfig{{Name: "none", Kind: "none"}}
	w.cfg.Experts = []part.ExpertConfig{
		{Name: "small", Kind: "endpoint", Settings: server.Settings(more)},
		{Name: "large", Kind: "endpoint", Settings: server.Settings(more)},
	}
	w.cfg.Experts[1].Settings["model"] = "l"
	w.cfg.Features = []part.Part{{Kind: "file", Settings: map[string]any{"file": "features.csv"}}}
	w.cfg.Shard, w.cfg.Batch, w.cfg.Workers = 8, 4, 2
	return w
}

// countsOf returns the counts of a report without what is of the run alone.
func countsOf(r *Report) string {
	var counts []chat.AnswerCount
	for _, c := range r.Answers {
		c.Asked, c.Cached, c.Spent = 0, 0, 0
		counts = append(counts, c)
	}
	return fmt.Sprintf("%+v", counts)
}

// TestBuildThatAsksAnEndpoint checks losses, fees, counts and the files of a
// build, and that a second one asks nothing.
func TestBuildThatAsksAnEndpoint(t *testing.T) {
	t.Setenv(servicetest.KeyVariable, servicetest.Key)
	server := chattest.NewServer(t)
	plain := server.Answer
	server.Answer = func(user string) string {
		if strings.Contains(user, "Nobody") {
			return "Who knows? Your key is " + servicetest.Key
		}
		return plain(user)
	}
	w := newClaims(t, server, 30, map[string]any{"key": servicetest.KeyVariable, "price": map[string]any{"prompt": 1, "completion": 2, "currency": "USD"}, "unparseable_loss": 0.75})
	r, tensor := w.mustRun(t)
	all, distinct := server.Answers()
	if all != distinct || all >= 2*31 {
		t.Errorf("%d answers to %d requests about %d cells", all, distinct, 2*31)
	}
	for i, label := range tensor.Labels {
		want, loss, fee := label, float32(0), float32(110e-6)
		if label == "NOT ENOUGH INFO" {
			want, loss = "", 0.75
		}
		for a := range 2 {
			cell := 2*i + a
			if tensor.Predictions[cell] != want || tensor.Loss[cell] != loss || tensor.Fee[cell] != fee {
				t.Errorf("%s: answer %q, loss %v, fee %v; want %q, %v, %v", tensor.IDs[i], tensor.Predictions[cell], tensor.Loss[cell], tensor.Fee[cell], want, loss, fee)
			}
			u := tensor.Usage
			if cached := u[costs.TokensCached][cell]; u[costs.TokensIn][cell] != 100 || cached == cached || u[costs.TokensOut][cell] != 5 || u[costs.Calls][cell] != 1 || u[costs.Seconds] != nil {
				t.Errorf("%s: usage %v", tensor.IDs[i], u)
			}
		}
	}
	double := 2.0
	list := &prices.Table{Currency: "USD", Models: map[string][]prices.Period{}}
	for _, expert := range []string{"small", "large"} {
		list.Models[expert] = []prices.Period{{In: &double, Out: &double}}
	}
	now, err := prices.AtPrices(tensor, list)
	if err != nil || math.Abs(float64(now.Fee[0])-210e-6) > 1e-9 {
		t.Errorf("at other prices: %v, %v", now, err)
	}
	for i, c := range r.Answers {
		if c.Part != []string{`expert "small"`, `expert "large"`}[i] || c.Asked != int64(distinct/2) || c.Asked+c.Cached != 31 ||
			c.Strict != 10 || c.Lenient != 20 || c.Unparseable != 1 || c.PromptTokens != 3100 || c.CompletionTokens != 155 {
			t.Errorf("counts %+v", c)
		}
	}
	whole := readBytes(t, w.out())
	again, _ := w.mustRun(t)
	if countsOf(again) != countsOf(r) || again.Resumed != again.Shards {
		t.Errorf("a finished build reports %+v, want %+v", again, r)
	}
	elsewhere, err := Run(t.Context(), w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir), Restart: true})
	if err != nil || countsOf(elsewhere) != countsOf(r) || elsewhere.Answers[0].Asked != 0 || elsewhere.Answers[0].Spent != 0 {
		t.Errorf("a build from kept answers reports %+v, %v", elsewhere, err)
	}
	if readBytes(t, w.out()) != whole {
		t.Error("a build from kept answers has other bytes")
	}
	if n, _ := server.Answers(); n != all {
		t.Errorf("%d answers were asked for again", n-all)
	}
	if strings.Contains(readBytes(t, filepath.Join(w.dir, "answers", "answers.jsonl")), "Authorization") || filesHold(t, w.dir, servicetest.Key) {
		t.Error("a file holds the key")
	}
}

// A build that a program began which kept no usage goes on: what its shards used is not known.
func TestShardsWithoutUsage(t *testing.T) {
	server := chattest.NewServer(t)
	w := newClaims(t, server, 30, map[string]any{"concurrency": 1})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir), Progress: stopping{stop: cancel}}
	if _, err := Run(ctx, w.cfg, o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	earlier, err := filepath.Glob(filepath.Join(workFolder(w.out()), "part-*.parquet"))
	if err != nil || len(earlier) == 0 {
		t.Fatal(earlier, err)
	}
	rows := 0
	for _, file := range earlier {
		part, err := costs.Read(t.Context(), storage.File(file), costs.ReadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		part.Usage = costs.Usage{}
		if err := costs.Write(t.Context(), storage.File(file), part); err != nil {
			t.Fatal(err)
		}
		rows += part.Len()
	}
	r, tensor := w.mustRun(t)
	known := 0
	for _, v := range tensor.Usage[costs.TokensIn] {
		if v == v {
			known++
		}
	}
	if r.Resumed != len(earlier) || known != 2*(tensor.Len()-rows) {
		t.Errorf("%d of %d shards resumed; %d cells are known of %d rows, %d of them of before", r.Resumed, len(earlier), known, tensor.Len(), rows)
	}
}

// filesHold reports whether a text is in any file of a folder.
func filesHold(t *testing.T, folder, text string) (held bool) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		held = held || strings.Contains(string(b), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return held
}

// A wrong key ends the build at the first answer, names the variable, and what
// was answered before is kept.
func TestWrongKeyStopsTheBuild(t *testing.T) {
	t.Setenv(servicetest.KeyVariable, servicetest.Key)
	server := chattest.NewServer(t)
	server.Fault = func(n int, w http.ResponseWriter, r *http.Request) bool {
		if n >= 6 {
			servicetest.Status(401)(w, r)
		}
		return n >= 6
	}
	w := newClaims(t, server, 30, map[string]any{"key": servicetest.KeyVariable, "concurrency": 2})
	_, err := w.run(t.Context())
	var fault *service.Error
	if !errors.As(err, &fault) || fault.Status != 401 || !strings.Contains(err.Error(), `expert "`) || !strings.Contains(err.Error(), `instance "`) || strings.Contains(err.Error(), servicetest.Key) {
		t.Fatalf("got %v", err)
	}
	if n := server.Requests(); n > 6+4 {
		t.Errorf("%d requests after the key was refused", n-6)
	}
	server.Heal()
	if _, err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if all, distinct := server.Answers(); all > distinct+4 {
		t.Errorf("%d answers to %d requests", all, distinct)
	}
}

// The end of the context ends a build at once and leaves nothing running; the
// same build then goes on.
func TestCancelledBuildGoesOn(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	server := chattest.NewServer(t)
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	server.Fault = func(n int, _ http.ResponseWriter, r *http.Request) bool {
		if n < 10 {
			return false
		}
		cancel()
		<-r.Context().Done()
		return true
	}
	w := newClaims(t, server, 30, map[string]any{"timeout": 600})
	begin := time.Now()
	if _, err := w.run(ctx); !errors.Is(err, context.Canceled) || time.Since(begin) > 5*time.Second {
		t.Fatalf("after %v: %v", time.Since(begin), err)
	}
	server.Heal()
	if _, err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if all, distinct := server.Answers(); all > distinct+4 {
		t.Errorf("%d answers to %d requests", all, distinct)
	}
}

// A new price, restarted, is a new fee without a question; limits are no inputs.
func TestNewPricesAskNothing(t *testing.T) {
	server := chattest.NewServer(t)
	w := newClaims(t, server, 10, map[string]any{"price": map[string]any{"prompt": 1, "completion": 1}})
	w.mustRun(t)
	n := server.Requests()
	for _, e := range w.cfg.Experts {
		e.Settings["timeout"], e.Settings["concurrency"], e.Settings["requests_per_second"] = 77, 1, 9
	}
	if r, _ := w.mustRun(t); r.Resumed != r.Shards {
		t.Error("limits made a new build")
	}
	w.cfg.Experts[0].Settings["price"] = map[string]any{"prompt": 10, "completion": 10}
	var changed *ChangedError
	if _, err := w.run(t.Context()); !errors.As(err, &changed) || !strings.Contains(err.Error(), `expert "small" changed`) {
		t.Errorf("a new price: %v", err)
	}
	if _, err := Run(t.Context(), w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir), Restart: true}); err != nil {
		t.Fatal(err)
	}
	tensor, err := costs.Read(t.Context(), storage.File(w.out()), costs.ReadOptions{})
	if err != nil || tensor.Fee[0] != 1050e-6 || tensor.Fee[1] != 105e-6 {
		t.Errorf("fees %v, %v", tensor.Fee[:2], err)
	}
	if server.Requests() != n {
		t.Errorf("%d requests for a price", server.Requests()-n)
	}
}

// A build whose budget is used up goes on with the next one, to the same bytes.
func TestBuildWithABudget(t *testing.T) {
	server := chattest.NewServer(t)
	settings := map[string]any{"price": map[string]any{"prompt": 1000, "completion": 1000}, "max_tokens": 10}
	w := newClaims(t, server, 40, settings)
	runs := 0
	for ; ; runs++ {
		budget, err := chat.NewBudget(2)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Run(t.Context(), w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir), Budget: budget})
		var over *chat.BudgetError
		if err == nil {
			if c := r.Answers[0]; c.Strict+c.Lenient != 41 || c.Money < 4.3 || c.Spent > 2 {
				t.Errorf("counts %+v", c)
			}
			break
		}
		if !errors.As(err, &over) || over.Spent > 2 || runs > 10 {
			t.Fatalf("run %d: %v", runs, err)
		}
	}
	if all, distinct := server.Answers(); all != distinct || runs < 3 {
		t.Errorf("%d answers to %d requests, %d runs stopped", all, distinct, runs)
	}
	got := readBytes(t, w.out())
	if _, err := Run(t.Context(), w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir), Restart: true, Answers: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	if readBytes(t, w.out()) != got {
		t.Error("the bytes differ from those of one run")
	}
}

// Builds of one run, such as the settings of a benchmark, share its budget.
func TestBuildsShareABudget(t *testing.T) {
	server := chattest.NewServer(t)
	w := newClaims(t, server, 10, map[string]any{"price": map[string]any{"prompt": 1000, "completion": 1000}, "max_tokens": 10})
	money, err := chat.NewBudget(3)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		_, err = Run(t.Context(), w.cfg, Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir), Restart: true, Answers: t.TempDir(), Budget: money})
		if i == 0 && err != nil {
			t.Fatal(err)
		}
	}
	var over *chat.BudgetError
	if !errors.As(err, &over) || over.Budget != 3 || over.Spent <= 2 || over.Spent > 3 {
		t.Errorf("the second build: %v", err)
	}
	for _, limit := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := chat.NewBudget(limit); err == nil {
			t.Errorf("a budget of %v", limit)
		}
	}
}

// Labels that answers cannot tell apart, and instances without text, are errors.
func TestBadEndpointExperts(t *testing.T) {
	server := chattest.NewServer(t)
	for _, c := range []struct {
		change func(*world)
		want   string
	}{
		{func(w *world) { w.cfg.Experts[0].Settings["unparseable_loss"] = -1 }, "unparseable_loss is -1"},
		{func(w *world) { w.cfg.Labels = append([]string{"not_enough info"}, claimLabels...) }, `label "NOT ENOUGH INFO" cannot be distinguished from "not_enough info"`},
		{func(w *world) {
			w.write(t, "rows.csv", "id,label,split\n0,a,train\n1,b,val\n")
			w.cfg.Instances = part.Part{Kind: "table", Settings: map[string]any{"file": "rows.csv", "split": "split"}}
			w.cfg.Labels, w.cfg.Split = nil, part.Part{Kind: "column"}
			w.write(t, "features.csv", "id,x\n0,1\n1,2\n")
		}, "has no text"},
	} {
		w := newClaims(t, server, 5, nil)
		c.change(w)
		if _, err := w.run(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
	if n := server.Requests(); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// TestKilledBuildsPayNoAnswerTwice kills builds at random moments. What is kept
// when a build dies is never asked for again, so that a kill costs at most the
// requests in flight.
func TestKilledBuildsPayNoAnswerTwice(t *testing.T) {
	const concurrency = 3
	kills := 20
	if testing.Short() {
		kills = 4
	}
	t.Setenv(servicetest.KeyVariable, servicetest.Key)
	server := chattest.NewServer(t)
	server.Delay = 2 * time.Millisecond
	w := newClaims(t, server, 150, map[string]any{"key": servicetest.KeyVariable, "concurrency": concurrency, "price": map[string]any{"prompt": 1, "completion": 1}})
	undisturbed := child{Config: w.cfg, Dir: w.dir, Out: filepath.Join(t.TempDir(), "whole.parquet")}
	begin := time.Now()
	if err := undisturbed.start(t).Wait(); err != nil {
		t.Fatal(err)
	}
	took := time.Since(begin)
	_, distinct := server.Answers()
	r := rand.New(rand.NewPCG(1, 2))
	killed, lost := 0, 0
	c := child{Config: w.cfg, Dir: w.dir}
	for killed < kills {
		c.Out = filepath.Join(t.TempDir(), "killed.parquet")
		server.TakeServed()
		kept := map[string]bool{}
		for finished := false; !finished; {
			cmd := c.start(t)
			if killed < kills {
				time.AfterFunc(time.Duration(r.Int64N(int64(took))), func() { cmd.Process.Kill() })
			}
			err := cmd.Wait()
			if err != nil && cmd.ProcessState.Exited() {
				t.Fatalf("after %d kills: %v", killed, err)
			}
			finished = err == nil
			if !finished {
				killed++
			}
			lost += checkKept(t, server, c.Out, kept, 2*concurrency)
		}
		if readBytes(t, c.Out) != readBytes(t, undisturbed.Out) {
			t.Fatalf("after %d kills: the bytes differ", killed)
		}
		if len(kept) != distinct || filesHold(t, filepath.Dir(c.Out), servicetest.Key) {
			t.Fatalf("%d answers are kept, want %d; or a file holds the key", len(kept), distinct)
		}
	}
	t.Logf("%d kills lost %d answers on their way", killed, lost)
}

// checkKept compares what a server answered since the last call with what was
// kept before and is now. It returns how many answers got lost.
func checkKept(t *testing.T, server *chattest.Server, out string, kept map[string]bool, inFlight int) (lost int) {
	t.Helper()
	served := make(map[string]int)
	for body, n := range server.TakeServed() {
		served[digest.Of(fmt.Appendf(nil, "POST %s/chat/completions\n%s", server.Base(), body))] = n
	}
	for request := range served {
		if kept[request] {
			t.Fatal("an answer that is kept was asked for again")
		}
	}
	file, err := os.ReadFile(filepath.Join(filepath.Dir(out), "answers", "answers.jsonl"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(file)) {
		var a struct{ Request string }
		if strings.HasSuffix(line, "\n") && json.Unmarshal([]byte(line), &a) == nil && a.Request != "" {
			kept[a.Request] = true
		}
	}
	for request, n := range served {
		if !kept[request] {
			lost++
		} else if n > 1 {
			t.Fatalf("an answer was asked for %d times at once", n)
		}
	}
	if lost > inFlight {
		t.Fatalf("a kill lost %d answers, more than are in flight", lost)
	}
	return lost
}
