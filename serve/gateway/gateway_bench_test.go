package gateway

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"pipe/serve/budget"
	"pipe/serve/gateway/gatewaytest"
	"pipe/serve/ledger"
)

// BenchmarkOverhead measures what the gateway adds to a call of an expert on this machine: the time of the whole answer,
// and of the first byte of a stream. Direct calls and calls through the gateway alternate. The policy's encoder is tiny,
// and no advice is fetched, so what is left is reading, deciding, logging, calling and passing on.
//
//	go test ./serve/gateway -run '^$' -bench Overhead -benchtime 3000x
func BenchmarkOverhead(b *testing.B) {
	for _, stream := range []bool{false, true} {
		name := "whole"
		if stream {
			name = "first byte"
		}
		b.Run(name, func(b *testing.B) {
			w := newWorld(b, func(s *Settings) { delete(s.Advice, "search") })
			body := question + fmt.Sprintf(`,"stream":%v}`, stream)
			direct := strings.Replace(body, `"pipe"`, `"model-l"`, 1)
			urls := [2]string{w.large.URL + "/v1/chat/completions", w.URL + "/v1/chat/completions"}
			bodies := [2]string{direct, body}
			var times [2][]time.Duration
			for range 50 { // connections, and memory that grows at first
				for i := range urls {
					firstByte(b, w.Client(), urls[i], bodies[i], stream)
				}
			}
			b.ResetTimer()
			for range b.N {
				for i := range urls {
					times[i] = append(times[i], firstByte(b, w.Client(), urls[i], bodies[i], stream))
				}
			}
			b.StopTimer()
			at := func(i int, share float64) float64 {
				slices.Sort(times[i])
				return float64(times[i][int(share*float64(len(times[i])-1))].Microseconds()) / 1000
			}
			b.ReportMetric(at(0, 0.5), "direct-p50-ms")
			b.ReportMetric(at(1, 0.5), "gateway-p50-ms")
			b.ReportMetric(at(1, 0.5)-at(0, 0.5), "added-p50-ms")
			b.ReportMetric(at(1, 0.99)-at(0, 0.99), "added-p99-ms")
		})
	}
}

// firstByte sends a request and returns the time to the whole answer, or to the first byte of a stream.
func firstByte(b *testing.B, client *http.Client, url, body string, stream bool) time.Duration {
	began := time.Now()
	response, err := client.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	in := bufio.NewReader(response.Body)
	if stream {
		if _, err := in.ReadByte(); err != nil {
			b.Fatal(err)
		}
	}
	took := time.Since(began)
	if _, err := io.Copy(io.Discard, in); err != nil || response.StatusCode != http.StatusOK {
		b.Fatal(response.Status, err)
	}
	if !stream {
		took = time.Since(began)
	}
	return took
}

// BenchmarkStream measures how fast events pass through.
func BenchmarkStream(b *testing.B) {
	w := newWorld(b, func(s *Settings) { delete(s.Advice, "search") })
	const events = 2000
	stream := strings.Repeat(gatewaytest.Chunk("model-l", "word ", "null"), events) + "data: [DONE]\n\n"
	w.large.Fault = func(_ int, rw http.ResponseWriter, _ *http.Request) bool {
		rw.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(rw, stream)
		return true
	}
	b.SetBytes(int64(len(stream)))
	for b.Loop() {
		if a := w.post(b, question+`,"stream":true}`); len(a.body) != len(stream) {
			b.Fatalf("%d bytes of %d", len(a.body), len(stream))
		}
	}
	b.ReportMetric(float64(b.N*events)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkCascade measures what the gateway adds to the calls of a cascade: of one stage, and of two, at fixed prices and at those of the
// request, with a budget that has a price. Direct calls and calls through the gateway alternate.
//
//	go test ./serve/gateway -run '^$' -bench Cascade -benchtime 3000x
func BenchmarkCascade(b *testing.B) {
	for _, c := range []struct {
		name, model, text string
		calls             int
		priced            bool
		budgets           []budget.Budget
	}{
		{"one pair", "pipe", sure, 1, false, nil},
		{"one stage", "pipe/any", sure, 1, false, nil},
		{"two stages", "pipe/any", unsure, 2, false, nil},
		{"one stage, any price", "pipe/any", sure, 1, true, nil},
		{"two stages, any price", "pipe/any", unsure, 2, true, nil},
		{"two stages, any price, a budget", "pipe/any", unsure, 2, true, []budget.Budget{{Name: "all", Money: 1e6, Per: ledger.Day, Of: budget.Total}}},
	} {
		b.Run(c.name, func(b *testing.B) {
			world := newCascade
			if c.priced {
				world = newPricedCascade
			}
			w := world(b, func(s *Settings) {
				if delete(s.Advice, "search"); c.budgets != nil {
					budgeted(c.budgets...)(s)
				}
			})
			w.small.Text, w.large.Text = c.text, sure
			body := strings.Replace(staging, "pipe/any", c.model, 1) + `}`
			direct := strings.Replace(body, c.model, "model-l", 1)
			var times [2][]time.Duration
			ask := func(keep bool) {
				began := time.Now()
				for range c.calls {
					firstByte(b, w.Client(), w.large.URL+"/v1/chat/completions", direct, false)
				}
				between := time.Now()
				firstByte(b, w.Client(), w.URL+"/v1/chat/completions", body, false)
				if keep {
					times[0], times[1] = append(times[0], between.Sub(began)), append(times[1], time.Since(between))
				}
			}
			for range 50 {
				ask(false)
			}
			b.ResetTimer()
			for range b.N {
				ask(true)
			}
			b.StopTimer()
			var p50 [2]float64
			for i := range times {
				slices.Sort(times[i])
				p50[i] = float64(times[i][len(times[i])/2].Microseconds()) / 1000
			}
			b.ReportMetric(p50[0], "direct-p50-ms")
			b.ReportMetric(p50[1], "gateway-p50-ms")
			b.ReportMetric(p50[1]-p50[0], "added-p50-ms")
		})
	}
}
