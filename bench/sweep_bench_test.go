package bench

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"pipe/costs"
	"pipe/models"
	"pipe/onnx/ort"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/stage"
	"pipe/pipeline/train"
)

// The shape of the paper's image benchmark.
const (
	sweepRows, sweepDim       = 39_222, 512
	sweepExperts, sweepAdvice = 3, 4
	sweepEpochs               = 400
	sweepFirst                = sweepDim * 512 // weights of the first layer
	sweepWeights              = sweepFirst + 512*256 + 256*sweepExperts*sweepAdvice
)

// BenchmarkSweep times the whole sweep of the paper's image benchmark, every lambda and seed and L2D, on generated
// features and costs: it measures only time, nothing can be learned there. PIPE_SWEEP_EPOCHS is how many of the 400
// epochs are run (1).
func BenchmarkSweep(b *testing.B) {
	epochs := 1
	if text := os.Getenv("PIPE_SWEEP_EPOCHS"); text != "" {
		var err error
		if epochs, err = strconv.Atoi(text); err != nil || epochs < 1 {
			b.Fatalf("PIPE_SWEEP_EPOCHS is %q, not a number of epochs", text)
		}
	}
	rt := orttest.Open(b, 0)
	t, c := sweepTensor(), defaultImagenetTrain()
	c.Network.Epochs = epochs
	p := &sweepProgress{b: b}
	b.ResetTimer()
	for range b.N {
		if err := sweep(b, rt, t, c, p); err != nil {
			b.Fatal(err)
		}
	}
	p.report(epochs)
}

func sweep(b *testing.B, rt *ort.Runtime, t *costs.Tensor, c train.Settings, p stage.Progress) error {
	policies, _, err := train.Policies(b.Context(), rt, t, c, models.CheckpointPolicy{}, p)
	if want := (len(c.Lambdas) + 1) * c.Seeds; err == nil && len(policies) != want {
		err = fmt.Errorf("%d policies, not %d", len(policies), want)
	}
	return err
}

// sweepTensor has training rows of random features; a cell is wrong with a probability that depends on one of them.
func sweepTensor() *costs.Tensor {
	r := rand.New(rand.NewPCG(1, 2))
	a := &costs.Actions{}
	for j := range sweepExperts {
		a.Experts = append(a.Experts, costs.Expert{Name: fmt.Sprintf("expert-%d", j), Fee: 0.04 * float64(j)})
	}
	for k := range sweepAdvice {
		a.Advice = append(a.Advice, costs.Advice{Name: fmt.Sprintf("advice-%d", k), Fee: 0.03 * float64(k)})
	}
	a.Features = costs.FeatureSource{Name: "generated", Dim: sweepDim}
	t := &costs.Tensor{Actions: a, Dim: sweepDim, Splits: make([]costs.Split, sweepRows)}
	for n := range sweepRows {
		t.IDs = append(t.IDs, strconv.Itoa(n))
		for range sweepDim {
			t.Features = append(t.Features, float32(r.NormFloat64()))
		}
		for i := range a.Len() {
			chance := 0.35
			if t.Features[n*sweepDim+i] > 0 {
				chance = 0.3
			}
			loss := float32(0)
			if r.Float64() < chance {
				loss = 1
			}
			t.Loss = append(t.Loss, loss)
		}
	}
	return t
}

// sweepProgress counts steps of models and prints the progress at intervals.
type sweepProgress struct {
	b     *testing.B
	begin time.Time
	what  string
	total int64
	done  atomic.Int64
	said  atomic.Int64 // times sayEvery since the begin
	spent time.Duration
	steps int64
}

// sayEvery is the time between two lines.
const sayEvery = 15 * time.Second

func (p *sweepProgress) Start(total int64, what string) {
	p.finish()
	p.what, p.total, p.begin = what, total, time.Now()
	p.done.Store(0)
	p.said.Store(0)
}

func (p *sweepProgress) Note(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
}

func (p *sweepProgress) Add(n int64) {
	done := p.done.Add(n)
	spent, said := time.Since(p.begin), p.said.Load()
	if now := int64(spent / sayEvery); now == said || !p.said.CompareAndSwap(said, now) {
		return
	}
	left := time.Duration(float64(spent) * float64(p.total-done) / float64(done))
	fmt.Fprintf(os.Stderr, "%s: %d of %d steps of models, %s, about %s to go\n", p.what, done, p.total, spent.Round(time.Second), left.Round(time.Second))
}

func (p *sweepProgress) Done() { p.finish() }

// finish records the finished part.
func (p *sweepProgress) finish() {
	if p.total == 0 {
		return
	}
	p.spent += time.Since(p.begin)
	p.steps += p.done.Load()
	p.total = 0
}

// report prints the time, the time per step and model, the arithmetic rate, and the time of all epochs at this rate.
func (p *sweepProgress) report(epochs int) {
	seconds := p.spent.Seconds() / float64(p.b.N)
	perStep := p.spent.Seconds() / float64(p.steps)
	p.b.Logf("timing only, on generated data: %d of %d epochs", epochs, sweepEpochs)
	p.b.ReportMetric(0, "ns/op")
	p.b.ReportMetric(seconds, "s")
	p.b.ReportMetric(1000*perStep, "ms/step/model")
	p.b.ReportMetric(sweepStepFlops/perStep/1e9, "GFLOP/s")
	p.b.ReportMetric(seconds*sweepEpochs/float64(epochs)/3600, "h/400-epochs")
}

// sweepStepFlops are the operations of one step of one model, 256 rows: per weight and row two forward, two for the
// gradient of the weights and two for that of each layer's input, which the first layer does not need.
const sweepStepFlops = 256 * (6*sweepWeights - 2*sweepFirst)
