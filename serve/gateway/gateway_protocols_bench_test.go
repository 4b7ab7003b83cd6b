package gateway

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// plainAsk is a request of a protocol for a short answer.
func plainAsk(protocol, model string, stream bool) (path, body string) {
	switch protocol {
	case "anthropic":
		return "/v1/messages", fmt.Sprintf(`{"model":%q,"max_tokens":100,"messages":[{"role":"user","content":"Is oil good?"}],"stream":%v}`, model, stream)
	case "responses":
		return "/v1/responses", fmt.Sprintf(`{"model":%q,"input":"Is oil good?","store":false,"stream":%v}`, model, stream)
	}
	if path, body := plainAskOf(protocol, model, stream); path != "" {
		return path, body
	}
	usage := ""
	if stream {
		usage = `,"stream_options":{"include_usage":true}`
	}
	return "/v1/chat/completions", fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"Is oil good?"}],"stream":%v%s}`, model, stream, usage)
}

// plainAskOf is a request of a protocol that callers do not speak; "" for the others.
func plainAskOf(kind, model string, stream bool) (path, body string) {
	call := map[string]map[bool]string{
		"gemini": {false: ":generateContent", true: ":streamGenerateContent?alt=sse"}, "bedrock": {false: "/converse", true: "/converse-stream"},
	}[kind][stream]
	switch kind {
	case "gemini":
		return "/v1beta/models/" + model + call, `{"contents":[{"role":"user","parts":[{"text":"Is oil good?"}]}]}`
	case "bedrock":
		return "/model/" + model + call, `{"messages":[{"role":"user","content":[{"text":"Is oil good?"}]}]}`
	case "ollama":
		return "/api/chat", fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"Is oil good?"}],"stream":%v,"truncate":false}`, model, stream)
	}
	return "", ""
}

// BenchmarkProtocols measures what the gateway adds for each pair of protocols, whose policy has a tiny encoder. Direct calls, which
// speak the protocol of the service, and calls through the gateway alternate. Both ask for the usage of streams.
//
// Of whole answers it is the time to the last byte. Of streams, whose service waits 2 ms before each event, it is how late events
// are: from the moment before the service writes one until the caller has read what it says, for the first text, the last text,
// and the last event of all. "start" is how late the first text is together with the time that the request needs to the service.
// What the service waits is in none of these.
//
//	chrt -r 5 go test ./serve/gateway -run '^$' -bench Protocols -benchtime 300x
func BenchmarkProtocols(b *testing.B) {
	for _, kind := range []string{"openai", "responses", "anthropic", "gemini", "ollama", "bedrock"} {
		for _, caller := range callerProtocols {
			for _, stream := range []bool{false, true} {
				b.Run(fmt.Sprintf("%s to %s/stream=%v", caller, kind, stream), func(b *testing.B) { benchmarkPair(b, caller, kind, stream) })
			}
		}
	}
}

func benchmarkPair(b *testing.B, caller, kind string, stream bool) {
	w, fake := newWorldOfKind(b, kind)
	var service marked
	if stream {
		fake.Delay = 2 * time.Millisecond
		fake.Sending = func(event string) { service.add(event, time.Now()) }
		fake.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			service.begin = time.Now()
			fake.ServeHTTP(w, r)
		})
	}
	there, direct := plainAsk(kind, "model-f", stream)
	path, through := plainAsk(caller, "pipe", stream)
	urls, bodies := [2]string{fake.URL + there, w.URL + path}, [2]string{direct, through}
	var times [2]map[string][]time.Duration
	for n := range b.N + 20 {
		if n == 20 { // connections, and memory that grows at first
			b.ResetTimer()
			times = [2]map[string][]time.Duration{{}, {}}
		}
		for i := range urls {
			service = marked{}
			began := time.Now()
			read := askMarked(b, w.Client(), urls[i], bodies[i])
			if times[i] == nil {
				continue
			}
			if !stream {
				times[i]["whole"] = append(times[i]["whole"], read.end.Sub(began))
				continue
			}
			times[i]["start"] = append(times[i]["start"], service.begin.Sub(began)+read.first.Sub(service.first))
			times[i]["first"] = append(times[i]["first"], read.first.Sub(service.first))
			times[i]["last"] = append(times[i]["last"], read.last.Sub(service.last))
			times[i]["end"] = append(times[i]["end"], read.end.Sub(service.end))
		}
	}
	for what, direct := range times[0] {
		through := times[1][what]
		slices.Sort(direct)
		slices.Sort(through)
		for name, share := range map[string]float64{"p50": 0.5, "p99": 0.99} {
			at := func(all []time.Duration) float64 {
				return float64(all[int(share*float64(len(all)-1))].Microseconds()) / 1000
			}
			b.ReportMetric(at(direct), what+"-direct-"+name+"-ms")
			b.ReportMetric(at(through)-at(direct), what+"-added-"+name+"-ms")
		}
	}
	b.ReportMetric(0, "ns/op")
}

// marked has the times at which parts of an answer were written or read.
type marked struct {
	text                    strings.Builder
	begin, first, last, end time.Time // the request, the first text, the last text, the last byte
}

// add takes a part. The texts are those of [gatewaytest.Answer]; each word has an event.
func (m *marked) add(part string, at time.Time) {
	m.text.WriteString(part)
	m.end = at
	if m.first.IsZero() && strings.Contains(m.text.String(), `"I "`) {
		m.first = at
	}
	if m.last.IsZero() && strings.Contains(m.text.String(), `"results."`) {
		m.last = at
	}
}

// askMarked sends a request and reads the answer.
func askMarked(b *testing.B, client *http.Client, url, body string) *marked {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Anthropic-Version", "2023-06-01")
	r.Header.Set("Authorization", "Bearer caller")
	response, err := client.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	var read marked
	part := make([]byte, 64<<10)
	for {
		n, err := response.Body.Read(part)
		if n > 0 {
			read.add(string(part[:n]), time.Now())
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	if response.StatusCode != http.StatusOK {
		b.Fatalf("%s %s", response.Status, read.text.String())
	}
	return &read
}
