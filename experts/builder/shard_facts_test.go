package builder

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pipe/costs"
	"pipe/costs/observe"
	"pipe/experts/builder/part"
	"pipe/experts/builder/parttest"
	"pipe/experts/chat/chattest"
	"pipe/experts/kinds"
	"pipe/internal/realdata"
	"pipe/internal/storage"
)

// seenOf lists the facts of a cell that are known, sorted by name.
func seenOf(t *costs.Tensor, row, action int) string {
	var list []string
	cell := row*t.Actions.Len() + action
	for i := range t.Facts {
		f := &t.Facts[i]
		switch v := f.Data[cell]; {
		case v != v:
		case f.Category():
			list = append(list, f.Name+" "+f.Text(cell))
		default:
			list = append(list, fmt.Sprintf("%s %.4g", f.Name, v))
		}
	}
	return strings.Join(list, ", ")
}

func namesOf(t *costs.Tensor) (names []string) {
	for _, f := range t.Facts {
		names = append(names, f.Name)
	}
	return names
}

// withFactColumns gives the answers of a world of newWorld confidences, logarithms and ends. Some cells are empty.
func (w *world) withFactColumns(t testing.TB) *world {
	t.Helper()
	rows := strings.Split(strings.TrimSpace(readBytes(t, filepath.Join(w.dir, "answers.csv"))), "\n")
	for i := range rows {
		switch {
		case i == 0:
			rows[i] += ",sure,log,end"
		case i%5 == 0:
			rows[i] += ",,,"
		default:
			rows[i] += fmt.Sprintf(",%g,%g,%s", float64(i%8)/8, -float64(i)/4, []string{"stop", "length"}[i%2])
		}
	}
	w.write(t, "answers.csv", strings.Join(rows, "\n")+"\n")
	for key, column := range map[string]string{"confidence": "sure", "logprob": "log", "finish": "end"} {
		w.cfg.Experts[0].Settings[key] = column
	}
	return w
}

// TestFactsOfRecordedAnswers checks cells against the file, pairs that do not exist, and that a build that does not observe
// has the bytes of one that cannot.
func TestFactsOfRecordedAnswers(t *testing.T) {
	w := newWorld(t, 20).withFactColumns(t)
	w.mustRun(t)
	blind := readBytes(t, w.out())
	w.cfg.Observe = observe.Names()
	r, err := Run(t.Context(), w.cfg, Options{Kinds: w.allKinds(), Out: storage.File(w.out()), Dir: storage.File(w.dir), Restart: true})
	if err != nil {
		t.Fatal(err)
	}
	tensor, err := costs.Read(t.Context(), storage.File(w.out()), costs.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"confidence", "finish", "label", "logprob"}; !slices.Equal(namesOf(tensor), want) || !slices.Equal(r.Facts, want) {
		t.Errorf("facts %q, reported %q", namesOf(tensor), r.Facts)
	}
	for cell, want := range map[[2]int]string{
		{0, 0}: "confidence 0.125, finish length, label cat, logprob -0.25", // line 1
		{0, 1}: "confidence 0.25, finish stop, label cat, logprob -0.5",
		{0, 2}: "label dog", // plain has no columns
		{0, 3}: "",          // plain is not under search
		{1, 0}: "confidence 0.5, finish stop, label dog, logprob -1",
		{1, 1}: "label dog", // line 5 has empty cells
		{5, 0}: "confidence 0, finish stop, label dog, logprob -4",
	} {
		if got := seenOf(tensor, cell[0], cell[1]); got != want {
			t.Errorf("row %d, action %s: %q, not %q", cell[0], tensor.Actions.Name(cell[1]), got, want)
		}
	}
	for cell, label := range tensor.Predictions {
		if got := tensor.Fact(observe.Label).Text(cell); got != label {
			t.Errorf("cell %d: label %q of the answer %q", cell, got, label)
		}
	}
	w.cfg.Observe = nil
	for key := range map[string]string{"confidence": "sure", "logprob": "log", "finish": "end"} {
		delete(w.cfg.Experts[0].Settings, key)
	}
	if _, err := Run(t.Context(), w.cfg, Options{Kinds: w.allKinds(), Out: storage.File(w.out()), Dir: storage.File(w.dir), Restart: true}); err != nil {
		t.Fatal(err)
	}
	bare, err := costs.Read(t.Context(), storage.File(w.out()), costs.ReadOptions{})
	if err != nil || bare.Facts != nil || len(readBytes(t, w.out())) != len(blind) {
		t.Errorf("a build that observes nothing has other columns: %v", err)
	}
}

// TestRefusedFacts: facts that no expert reports, and values that are not possible, are errors that name them.
func TestRefusedFacts(t *testing.T) {
	for says, change := range map[string]func(*world){
		`observe: unknown fact "lable"; known are label, `:                                      func(w *world) { w.cfg.Observe = part.Observe{"lable"} },
		`observe: fact "label" is named twice`:                                                  func(w *world) { w.cfg.Observe = part.Observe{"label", "label"} },
		`observe: no expert knows json, length of its answers`:                                  func(w *world) { w.cfg.Observe = part.Observe{"length", "label", "json"} },
		`cosine needs answers that are texts, and a feature of kind text`:                       func(w *world) { w.cfg.Observe = part.Observe{"cosine"} },
		`row 2: column sure: "1.5" is not a number from 0 to 1`:                                 func(w *world) { w.edit(t, "answers.csv", ",0.125,", ",1.5,") },
		`row 2: column sure: "NaN" is not a number from 0 to 1`:                                 func(w *world) { w.edit(t, "answers.csv", ",0.125,", ",NaN,") },
		`row 3: column log: "0.5" is not a logarithm of a probability: a finite number of at m`: func(w *world) { w.edit(t, "answers.csv", ",-0.5,", ",0.5,") },
		`column surer: is missing; the columns are id, `:                                        func(w *world) { w.cfg.Experts[0].Settings["confidence"] = "surer" },
	} {
		w := newWorld(t, 8).withFactColumns(t)
		w.cfg.Observe = part.Observe{"label"}
		change(w)
		if _, err := w.run(t.Context()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want %q", err, says)
		}
	}
}

// TestAddedExpertsAddFacts: an expert that is added to a build with other facts gives the bytes of a build of all experts.
func TestAddedExpertsAddFacts(t *testing.T) {
	for _, first := range []string{"both", "plain"} { // the new expert knows fewer facts, or more
		w := newWorld(t, 30).withFactColumns(t)
		if first == "plain" {
			slices.Reverse(w.cfg.Experts)
		}
		w.cfg.Observe = observe.Names()
		w.mustRun(t)
		cfg := w.cfg
		cfg.Experts = w.cfg.Experts[:1]
		o := Options{Kinds: w.allKinds(), Out: storage.File(filepath.Join(w.dir, "base.parquet")), Dir: storage.File(w.dir)}
		if _, err := Run(t.Context(), cfg, o); err != nil {
			t.Fatal(err)
		}
		o.Base, o.Out = o.Out.String(), storage.File(filepath.Join(w.dir, "grown.parquet"))
		if _, err := Run(t.Context(), w.cfg, o); err != nil {
			t.Fatal(err)
		}
		if readBytes(t, o.Out.String()) != readBytes(t, w.out()) {
			t.Errorf("%s first: bytes differ from those of a full build", first)
		}
	}
}

// finishing is a server whose answers have a reason and log-probabilities of their tokens.
func finishing(t *testing.T) *chattest.Server {
	server := chattest.NewServer(t)
	server.Fault = func(n int, w http.ResponseWriter, r *http.Request) bool {
		var asked struct {
			Messages []struct{ Content string }
			LogProbs bool
		}
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
		}
		user := asked.Messages[len(asked.Messages)-1].Content
		call := "[]"
		text, reason, logs := "It SUPPORTS.", `"stop"`, `{"content":[{"token":"It","logprob":-0.25},{"token":"S","logprob":-0.5}]}`
		switch {
		case strings.Contains(user, "Claim 3 "):
			text, reason, logs = "<think>hm", `"length"`, "null"
		case strings.Contains(user, "Claim 6 "):
			text, reason, logs = `"REFUTES"`, `{"odd": 1}`, `{"content":[{"token":"R","logprob":0.5}]}`
		case strings.Contains(user, "Claim 7 "):
			reason, logs, call = `"tool_calls"`, "null", `[{"id":"1","function":{"name":"search"}}]`
		}
		if !asked.LogProbs {
			logs = "null"
		}
		said, _ := json.Marshal(text)
		fmt.Fprintf(w, `{"choices":[{"message":{"content":%s,"tool_calls":%s},"logprobs":%s,"finish_reason":%s}],"usage":{"prompt_tokens":100,"completion_tokens":5}}`, said, call, logs, reason)
		return true
	}
	return server
}

// TestFactsOfAnEndpoint checks facts, those of kept answers, and those of answers that an earlier program kept, of which
// some are not known and none is asked for again.
func TestFactsOfAnEndpoint(t *testing.T) {
	server := finishing(t)
	w := newClaims(t, server, 9, nil)
	w.cfg.Experts[1].Settings["extra"] = map[string]any{"logprobs": true}
	w.cfg.Observe = observe.Names()
	_, tensor := w.mustRun(t)
	if want := []string{"finish", "json", "label", "length", "logprob"}; !slices.Equal(namesOf(tensor), want) {
		t.Errorf("facts %q", namesOf(tensor))
	}
	wants := map[[2]int][2]string{ // now, and of an earlier program
		{0, 0}: {"finish stop, json 0, label SUPPORTS, length 12", "json 0, label SUPPORTS, length 12"},
		{0, 1}: {"finish stop, json 0, label SUPPORTS, length 12, logprob -0.75", "json 0, label SUPPORTS, length 12"},
		{3, 0}: {"finish length, json 0, length 0", "finish length, json 0, length 0"},
		{3, 1}: {"finish length, json 0, length 0", "finish length, json 0, length 0"},
		{6, 0}: {"json 1, label REFUTES, length 9", "json 1, label REFUTES, length 9"},
		{6, 1}: {"json 1, label REFUTES, length 9", "json 1, label REFUTES, length 9"},
		{7, 0}: {"finish tool_calls", ""}, // a call is no text
	}
	check := func(tensor *costs.Tensor, which int) {
		t.Helper()
		for cell, want := range wants {
			if got := seenOf(tensor, cell[0], cell[1]); got != want[which] {
				t.Errorf("row %d, action %d: %q, not %q", cell[0], cell[1], got, want[which])
			}
		}
	}
	check(tensor, 0)
	whole, asked := readBytes(t, w.out()), server.Requests()
	again := func() {
		t.Helper()
		o := Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir), Restart: true}
		if _, err := Run(t.Context(), w.cfg, o); err != nil {
			t.Fatal(err)
		}
		if server.Requests() != asked {
			t.Errorf("%d requests for kept answers", server.Requests()-asked)
		}
	}
	if again(); readBytes(t, w.out()) != whole {
		t.Error("a build from kept answers has other bytes")
	}
	forget(t, filepath.Join(w.dir, "answers", "answers.jsonl"))
	again()
	old, err := costs.Read(t.Context(), storage.File(w.out()), costs.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	check(old, 1)
	if !slices.Equal(old.Predictions, tensor.Predictions) {
		t.Error("other answers")
	}
}

// forget removes the fields of facts from kept answers: these are the lines of an earlier program.
func forget(t *testing.T, file string) {
	t.Helper()
	type line struct {
		Request          string `json:"request"`
		Text             string `json:"text"`
		PromptTokens     int    `json:"prompt_tokens"`
		CompletionTokens int    `json:"completion_tokens"`
		Truncated        bool   `json:"truncated,omitempty"`
		ToolCall         bool   `json:"tool_call,omitempty"`
		Time             string `json:"time"`
		Check            string `json:"check"`
	}
	lines := strings.SplitAfter(readBytes(t, file), "\n")
	for i, text := range lines[1 : len(lines)-1] {
		var kept line
		if err := json.Unmarshal([]byte(text), &kept); err != nil {
			t.Fatal(err)
		}
		kept.Check = ""
		b, _ := json.Marshal(kept)
		kept.Check = fmt.Sprintf("%08x", crc32.ChecksumIEEE(b))
		b, _ = json.Marshal(kept)
		lines[1+i] = string(b) + "\n"
	}
	if err := os.WriteFile(file, []byte(strings.Join(lines, "")), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestFactsOfOpenAnswers checks texts, the cosine of questions and answers, and how many samples agree.
func TestFactsOfOpenAnswers(t *testing.T) {
	server := chattest.NewServer(t)
	server.Answer = computes
	w := newQuestions(t, server, 6, nil)
	words := w.useWords(&parttest.Words{})
	w.cfg.Experts[1].Settings["samples"], w.cfg.Experts[1].Settings["temperature"] = 3, 1
	w.cfg.Features = append(w.cfg.Features, part.Part{Kind: "text", Settings: map[string]any{"encoder": "words"}})
	w.cfg.Observe = observe.Names()
	o := Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir), Runtime: openRuntime(t)}
	// An estimate asks for some answers and embeds none.
	if e, err := EstimateCalls(t.Context(), w.cfg, o); err != nil || e.Sample == 0 || len(words.Asked()) > 0 {
		t.Errorf("estimate %+v, %v; embedded %q", e, err, words.Asked())
	}
	if _, err := Run(t.Context(), w.cfg, o); err != nil {
		t.Fatal(err)
	}
	tensor, err := costs.Read(t.Context(), storage.File(w.out()), costs.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"confidence", "cosine", "finish", "json", "length"}; !slices.Equal(namesOf(tensor), want) {
		t.Errorf("facts %q", namesOf(tensor))
	}
	for n := range tensor.Len() {
		for a, said := range []string{"perhaps 12", fmt.Sprintf("That makes $%d,000.00.", n+1)} {
			question := fmt.Sprintf("how much is sum%d?", n)
			cosine := observe.CosineOf(words.Vector(question), words.Vector(said))
			want := fmt.Sprintf("cosine %.4g, finish stop, json 0, length %d", float32(cosine), len(said))
			if got := seenOf(tensor, n, a); got != want {
				t.Errorf("row %d, action %d: %q, not %q", n, a, got, want)
			}
			if got := seenOf(tensor, n, 2+a); got != "confidence 1, "+want {
				t.Errorf("row %d, action %d: %q, not all of %q", n, 2+a, got, want)
			}
		}
	}
}

// TestSharesOfSamples: the confidence of a vote is its share, and not known where no answer votes.
func TestSharesOfSamples(t *testing.T) {
	server := chattest.NewServer(t)
	asked := 0
	server.Fault = func(_ int, w http.ResponseWriter, _ *http.Request) bool {
		text := "no idea"
		if asked < 4 {
			text = []string{"3", "2,000", "no idea", "It is 2000."}[asked]
		}
		asked++
		chattest.WriteAnswer(w, text, 100, 5)
		return true
	}
	w := newQuestions(t, server, 2, map[string]any{"samples": 4, "temperature": 0.7, "seed": 40, "concurrency": 1})
	w.cfg.Experts, w.cfg.Advice, w.cfg.Workers = w.cfg.Experts[:1], w.cfg.Advice[:1], 1
	w.cfg.Observe = part.Observe{"confidence", "length"}
	_, tensor := w.mustRun(t)
	if got := seenOf(tensor, 0, 0) + "; " + seenOf(tensor, 1, 0); got != "confidence 0.5, length 5; length 7" {
		t.Errorf("got %q", got)
	}
}

// TestKilledBuildsResumeToTheSameFacts kills builds of recorded open answers with facts of texts and of columns, and whose
// answers are embedded.
func TestKilledBuildsResumeToTheSameFacts(t *testing.T) {
	openRuntime(t)
	w := &world{dir: t.TempDir(), cfg: part.DefaultConfig()}
	rows, answers := &strings.Builder{}, &strings.Builder{}
	fmt.Fprintln(rows, "id,question,answer")
	fmt.Fprintln(answers, "id,said,sure,end")
	for i := range 200 {
		fmt.Fprintf(rows, "q%d,how much is %d?,%d\n", i, i, i)
		fmt.Fprintf(answers, "q%d,it is %d,%s,%s\n", i, i%7*i, []string{"", "0.5", "1"}[i%3], []string{"stop", "length", ""}[i%3])
	}
	w.write(t, "questions.csv", rows.String())
	w.write(t, "answers.csv", answers.String())
	w.cfg.Instances = part.Part{Kind: "table", Settings: map[string]any{"file": "questions.csv", "text": "question", "reference": "answer"}}
	w.cfg.TaskLoss = part.Part{Kind: "number"}
	w.cfg.Advice = []part.AdviceConfig{{Name: "none", Kind: "none"}}
	w.cfg.Experts = []part.ExpertConfig{{Name: "known", Kind: "precomputed", Settings: map[string]any{"file": "answers.csv", "prediction": "said", "confidence": "sure", "finish": "end"}}}
	w.cfg.Features = []part.Part{{Kind: "text", Settings: map[string]any{"encoder": "words"}}}
	w.cfg.Shard, w.cfg.Batch, w.cfg.Workers = 16, 8, 1 // one worker embeds answers in one order
	w.cfg.Observe = observe.Names()
	killRepeatedly(t, child{Config: w.cfg, Dir: w.dir, Delay: 5 * time.Millisecond, Words: true}, 6)

	w.cfg.Workers = 2
	w.useWords(&parttest.Words{})
	o := Options{Kinds: w.allKinds(), OpenText: w.openText, Out: storage.File(w.out()), Dir: storage.File(w.dir), Runtime: openRuntime(t)}
	local, err := Run(t.Context(), w.cfg, o)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(local.Facts, []string{"confidence", "cosine", "finish", "json", "length"}) {
		t.Errorf("facts %q", local.Facts)
	}
	o.Out = storage.File(filepath.Join(t.TempDir(), "many.parquet"))
	sameAsLocal(t, local, inRanges(t, w, o, 5)) // as ranges of many machines
}

// TestFactsOfTrainedExperts: the confidence is the probability of the label that is given, whatever the threshold.
func TestFactsOfTrainedExperts(t *testing.T) {
	w := newTabularWorld(t, 300).withAllExperts()
	w.cfg.Observe = observe.Names()
	w.cfg.Experts[0].Settings["threshold"] = 0.9
	_, tensor := w.build(t)
	if want := []string{"confidence", "label"}; !slices.Equal(namesOf(tensor), want) {
		t.Fatalf("facts %q", namesOf(tensor))
	}
	const negative = "no"
	low := 0
	for cell, sure := range tensor.Fact(observe.Confidence).Data {
		label, expert := tensor.Fact(observe.Label).Text(cell), cell%tensor.Actions.Len()/len(tensor.Actions.Advice)
		switch {
		case label != tensor.Predictions[cell]:
			t.Fatalf("cell %d: label %q of the answer %q", cell, label, tensor.Predictions[cell])
		case sure != sure && label == "": // a pair that does not exist
		case !(sure >= 0 && sure <= 1), expert > 0 && sure < 0.5:
			t.Fatalf("cell %d: confidence %v in %q", cell, sure, label)
		case sure < 0.5 && label != negative:
			t.Fatalf("cell %d: %q with a probability of %v only", cell, label, sure)
		case sure < 0.5:
			low++
		}
	}
	if low == 0 {
		t.Error("no answer of the careful expert has a confidence below one half")
	}
}

// TestFactsOfNetworks compares labels and confidences of real networks with what another runtime and decoder gave.
func TestFactsOfNetworks(t *testing.T) {
	data := filepath.Dir(realdata.Folder(t, "cifar10"))
	cfg := cifarConfig(data, 6)
	cfg.Observe = observe.Names()
	out := filepath.Join(t.TempDir(), "cifar.parquet")
	if _, err := Run(context.Background(), cfg, Options{Kinds: kinds.Builtin(), Out: storage.File(out), Runtime: openRuntime(t)}); err != nil {
		t.Fatal(err)
	}
	tensor, err := costs.Read(t.Context(), storage.File(out), costs.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	row := make(map[string]int)
	for n, id := range tensor.IDs {
		row[id] = n
	}
	folder := filepath.Join(data, "outcomes", "cifar10-four-networks")
	same, all := 0, 0
	for _, r := range readReference(t, filepath.Join(folder, "outcomes.csv.gz")) {
		n, ok := row[r[0]]
		if i := slices.Index(tensor.Actions.Names(), r[1]+"/"+r[2]); ok && i >= 0 {
			if all++; tensor.Fact(observe.Label).Text(n*tensor.Actions.Len()+i) == r[4] {
				same++
			}
		}
	}
	if all != 60*12 || float64(same) < 0.97*float64(all) {
		t.Errorf("%d of %d labels agree", same, all)
	}
	off, compared := 0.0, 0
	for _, r := range readReference(t, filepath.Join(folder, "features.csv.gz")) {
		n, ok := row[r[0]]
		if !ok {
			continue
		}
		most := 0.0
		for _, text := range r[len(r)-10:] {
			var p float64
			fmt.Sscan(text, &p)
			most = max(most, p)
		}
		compared++
		off += math.Abs(float64(tensor.Fact(observe.Confidence).Data[n*tensor.Actions.Len()])-most) / 60
	}
	if compared != 60 || off > 0.02 {
		t.Errorf("confidences of %d images differ by %.4f on average", compared, off)
	}
	t.Logf("%d of %d labels agree, confidences differ by %.4f on average", same, all, off)
}
