package gateway

import (
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
	return "/v1/chat/completions", fmt.Sprintf(`{"model":%q,"messages":[{"role":"user","content":"Is oil good?"}],"stream":%v}`, model, stream)
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

// BenchmarkProtocols measures what the gateway adds for each pair of protocols to the time of the last byte, of a whole answer
// and of a stream whose service waits 2 ms before each event. Direct calls, which speak the protocol of the service, and calls
// through the gateway alternate. The policy's encoder is tiny.
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
	if stream {
		fake.Delay = 2 * time.Millisecond
	}
	there, direct := plainAsk(kind, "model-f", stream)
	path, through := plainAsk(caller, "pipe", stream)
	urls, bodies := [2]string{fake.URL + there, w.URL + path}, [2]string{direct, through}
	var last [2][]time.Duration
	for n := range b.N + 20 {
		if n == 20 { // connections, and memory that grows at first
			b.ResetTimer()
		}
		for i := range urls {
			if took := timeOf(b, w.Client(), urls[i], bodies[i]); n >= 20 {
				last[i] = append(last[i], took)
			}
		}
	}
	at := func(i int, share float64) float64 {
		slices.Sort(last[i])
		return float64(last[i][int(share*float64(len(last[i])-1))].Microseconds()) / 1000
	}
	b.ReportMetric(at(0, 0.5), "direct-p50-ms")
	b.ReportMetric(at(1, 0.5)-at(0, 0.5), "added-p50-ms")
	b.ReportMetric(at(1, 0.99)-at(0, 0.99), "added-p99-ms")
	b.ReportMetric(0, "ns/op")
}

// timeOf sends a request and returns the time to the last byte of the answer.
func timeOf(b *testing.B, client *http.Client, url, body string) time.Duration {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Anthropic-Version", "2023-06-01")
	r.Header.Set("Authorization", "Bearer caller")
	began := time.Now()
	response, err := client.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		b.Fatalf("%s %v %s", response.Status, err, text)
	}
	return time.Since(began)
}
