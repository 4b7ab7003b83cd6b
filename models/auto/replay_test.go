package auto

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/internal/storage"
	"pipe/models"
	"pipe/models/network"
	"pipe/models/policy"
	"pipe/models/regress"
	"pipe/onnx/ort/orttest"
)

// logOf is what a log knows of rows of t, all for training: one pair of each was executed, with the probabilities chances.
func logOf(t *costs.Tensor, rows []int, chances func(n int) []float64, rng *rand.Rand) *costs.Tensor {
	out := t.Subset(rows)
	pairs := t.Actions.Len()
	for i, n := range rows {
		out.Splits[i] = costs.Train
		p := chances(n)
		out.Propensity = append(out.Propensity, p...)
		executed := drawn(p, rng)
		for a := range pairs {
			if a != executed {
				out.Loss[i*pairs+a] = float32(math.NaN())
			}
		}
	}
	return out
}

func drawn(p []float64, rng *rand.Rand) int {
	u, last := rng.Float64(), 0
	for a, v := range p {
		if v > 0 {
			last = a
		}
		if u -= v; u < 0 {
			return a
		}
	}
	return last
}

// epsilon are the probabilities of a pair with a share of uniform exploration.
func epsilon(pair int, share float64, mask []bool) []float64 {
	count := 0.0
	for _, ok := range mask {
		if ok {
			count++
		}
	}
	p := make([]float64, len(mask))
	for a, ok := range mask {
		if ok {
			p[a] = share / count
		}
	}
	p[pair] += 1 - share
	return p
}

// squareCB are the probabilities of inverse gap weighting.
func squareCB(m []float64, gamma float64, mask []bool) []float64 {
	best, count := argmin(m, mask), 0.0
	for _, ok := range mask {
		if ok {
			count++
		}
	}
	p, rest := make([]float64, len(m)), 1.0
	for a, ok := range mask {
		if ok && a != best {
			p[a] = 1 / (count + gamma*(m[a]-m[best]))
			rest -= p[a]
		}
	}
	p[best] = rest
	return p
}

func argmin(v []float64, mask []bool) int {
	best := -1
	for i, ok := range mask {
		if ok && (best < 0 || v[i] < v[best]) {
			best = i
		}
	}
	return best
}

// world is a table with complete rows, of which some become a log and others judge.
type world struct {
	name   string
	t      *costs.Tensor
	small  []int // complete rows that the deployed policy was made of
	pool   []int
	test   []int
	mask   []bool
	fees   []float64
	ridges [][]float64 // estimated costs by row, of the small sample
}

func newWorld(t *testing.T, name string, table *costs.Tensor, seed uint64) *world {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 77))
	rows := rng.Perm(table.Len())
	w := &world{name: name, t: table, mask: table.Actions.Mask(), fees: table.Actions.Fees(1)}
	held := min(3000, len(rows)*3/10)
	w.test, w.small, w.pool = rows[:held], rows[held:held+150], rows[held+150:]
	w.ridges = w.ridge(t, table, w.small, 1000)
	return w
}

// ridge are the estimated costs of all rows by ridge regression on the known outcomes of some rows.
func (w *world) ridge(t *testing.T, from *costs.Tensor, fit []int, penalty float64) (out [][]float64) {
	t.Helper()
	std := network.FitStandardizer(from.Features, from.Dim, fit)
	d := regress.NewData(from, fit, std)
	if d.Known != nil { // a pair that was never executed has the mean of all
		low, high := d.Range()
		for i := range d.Pairs {
			if known := from.KnownRows(fit)[i]; known == 0 && d.Mask[i] {
				d.Y[i], d.Known[i] = float32(high+(high-low)), true
			}
		}
	}
	weights := []float64{1}
	parts, err := regress.Ridge{Penalties: []float64{penalty}}.Fit(context.Background(), d, every(len(fit)), weights)
	if err != nil {
		t.Fatal(err)
	}
	x := std.Apply(w.t.Features, w.t.Dim)
	for n := range w.t.Len() {
		y, row := make([]float64, len(w.mask)), make([]float64, w.t.Dim)
		for c := range row {
			row[c] = float64(x[n*w.t.Dim+c])
		}
		parts[0].Estimator.Estimate(y, row)
		for a := range y {
			y[a] += w.fees[a]
		}
		out = append(out, y)
	}
	return out
}

func every(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// cost is that of a pair on a row.
func (w *world) cost(n, pair int) float64 {
	at := n*len(w.mask) + pair
	c := float64(w.t.Loss[at]) + w.fees[pair]
	if w.t.Fee != nil {
		c += float64(w.t.Fee[at])
	}
	return c
}

// constant is the best, or the worst, pair on the small sample.
func (w *world) constant(sign float64) int {
	mean := make([]float64, len(w.mask))
	for _, n := range w.small {
		for a, ok := range w.mask {
			if ok {
				mean[a] += sign * w.cost(n, a)
			}
		}
	}
	return argmin(mean, w.mask)
}

// behaviour is what made a log: its greedy pair and its probabilities.
type behaviour struct {
	name    string
	greedy  func(n int) int
	chances func(n int) []float64
}

func (w *world) behaviours(rows int) []behaviour {
	best := w.constant(1)
	bad := func(n int) int {
		negative := make([]float64, len(w.mask))
		for a, v := range w.ridges[n] {
			negative[a] = -v
		}
		return argmin(negative, w.mask)
	}
	return []behaviour{
		{"constant+eps", func(int) int { return best }, func(int) []float64 { return epsilon(best, 0.1, w.mask) }},
		{"squarecb", func(n int) int { return argmin(w.ridges[n], w.mask) }, func(n int) []float64 {
			low, high := w.losses()
			m := make([]float64, len(w.mask))
			for a := range m {
				m[a] = (w.ridges[n][a] - low) / (high - low)
			}
			return squareCB(m, 10*math.Sqrt(float64(rows)), w.mask)
		}},
		{"bad+eps", bad, func(n int) []float64 { return epsilon(bad(n), 0.1, w.mask) }},
	}
}

// losses is the range of the costs of the small sample.
func (w *world) losses() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, n := range w.small {
		for a, ok := range w.mask {
			if ok {
				low, high = min(low, w.cost(n, a)), max(high, w.cost(n, a))
			}
		}
	}
	return low, high
}

// decisions are those of a policy on the test rows.
func (w *world) decisions(t *testing.T, p *policy.Policy) []int {
	t.Helper()
	d := decider(t, p)
	sub := w.t.Subset(w.test)
	out, err := d.Decide(context.Background(), sub.Features, sub.Len())
	if err != nil {
		t.Fatal(err)
	}
	actions := make([]int, len(w.test))
	for i, a := range out.Action {
		actions[i] = int(a)
	}
	return actions
}

// saved is the mean of what decisions save against others on the test rows, with its standard error.
func (w *world) saved(over, by func(i int) int) (mean, failure float64) {
	var v []float64
	for i, n := range w.test {
		v = append(v, w.cost(n, over(i))-w.cost(n, by(i)))
	}
	mean, std := models.MeanStd(v)
	return mean, std / math.Sqrt(float64(len(v)))
}

// replayed is the result of learning from one log.
type replayed struct {
	World, Behaviour string
	Rows             int
	Seed             uint64
	Deployed         float64 // its cost
	Gain, Error      float64 // of what stays or is exported, over the deployed policy
	Full             float64 // the same of full information, of 2,000 rows
	FullError        float64
	Ridge            float64 // the same of a plain ridge regression on the executed pairs
	Stays            bool
	LowerBound       float64
	Promised         float64
	Log              *policy.GuardLog
}

// replay learns from a log of n rows by a behaviour, and compares on the test rows. full are the decisions of full information.
func (w *world) replay(t *testing.T, b behaviour, n int, seed uint64, s Settings, full []int) replayed {
	t.Helper()
	log := logOf(w.t, w.pool[:n], b.chances, rand.New(rand.NewPCG(seed, 5)))
	if err := log.ValidatePartial(); err != nil {
		t.Fatal(err)
	}
	s.Seed, s.Deployed = seed, &Deployed{Name: "deployed"}
	for _, row := range w.pool[:n] {
		s.Deployed.Actions = append(s.Deployed.Actions, b.greedy(row))
	}
	policies, reports, err := Train(context.Background(), log, []float64{1}, s, models.Options{Runtime: orttest.Open(t, 0)})
	if err != nil {
		t.Fatal(err)
	}
	g := reports[0].Guard
	out := replayed{World: w.name, Behaviour: b.name, Rows: n, Seed: seed, Stays: g.Fallback, LowerBound: g.LowerBound, Promised: g.Gain, Log: g.Log}
	deployed := func(i int) int { return b.greedy(w.test[i]) }
	for i, row := range w.test {
		out.Deployed += w.cost(row, deployed(i)) / float64(len(w.test))
	}
	if !g.Fallback {
		actions := w.decisions(t, policies[0])
		out.Gain, out.Error = w.saved(deployed, func(i int) int { return actions[i] })
	}
	out.Full, out.FullError = w.saved(deployed, func(i int) int { return full[i] })
	ridge := w.ridge(t, log, every(n), 100)
	out.Ridge, _ = w.saved(deployed, func(i int) int { return argmin(ridge[w.test[i]], w.mask) })
	w.dump(t, out, log, b)
	return out
}

// dump writes a log and its test rows for other programs, if a folder is given for that.
func (w *world) dump(t *testing.T, r replayed, log *costs.Tensor, b behaviour) {
	t.Helper()
	folder := os.Getenv("PIPE_LOG_OUT")
	if folder == "" {
		return
	}
	type row struct {
		X        []float32
		Executed int
		Cost     float64
		P        []float64
		Greedy   int
		Costs    []float64
	}
	of := struct {
		Result    replayed
		Log, Test []row
	}{Result: r}
	for i, n := range w.pool[:r.Rows] {
		a := log.Observed(i)
		of.Log = append(of.Log, row{X: log.Row(i), Executed: a, Cost: w.cost(n, a), P: log.Propensities(i)})
	}
	for _, n := range w.test {
		var all []float64
		for a := range w.mask {
			all = append(all, w.cost(n, a))
		}
		of.Test = append(of.Test, row{X: w.t.Row(n), Greedy: b.greedy(n), Costs: all})
	}
	text, err := json.Marshal(of)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, fmt.Sprintf("%s-%s-%d-%d.json", r.World, r.Behaviour, r.Rows, r.Seed)), text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// replaySettings are those of the recipe without networks, which take most of the time.
func replaySettings() Settings {
	s := DefaultSettings()
	s.Networks, s.Weights = nil, cmp.Or(os.Getenv("PIPE_LOG_WEIGHTS"), s.Weights)
	if v, err := strconv.ParseFloat(os.Getenv("PIPE_LOG_CAUTION"), 64); err == nil {
		s.Caution = v
	}
	if v, err := strconv.ParseFloat(os.Getenv("PIPE_LOG_CONFIDENCE"), 64); err == nil {
		s.Confidence = v
	}
	if v, err := strconv.ParseFloat(os.Getenv("PIPE_LOG_CLIP"), 64); err == nil {
		s.Clip = v
	}
	return s
}

// fullInformation are the decisions of what the recipe learns from complete rows.
func (w *world) fullInformation(t *testing.T, seed uint64) []int {
	t.Helper()
	table := w.t.Subset(w.pool[:min(2000, len(w.pool))])
	for i := range table.Splits {
		table.Splits[i] = costs.Train
	}
	s := replaySettings()
	s.Seed = seed
	policies, _, err := Train(context.Background(), table, []float64{1}, s, models.Options{Runtime: orttest.Open(t, 0)})
	if err != nil {
		t.Fatal(err)
	}
	return w.decisions(t, policies[0])
}

// What is learned from a log is never a standard error worse than the deployed policy that made the log, and of full information's gain
// from 2,000 rows it has a good part. PIPE_LOG_TABLES=GLOB replays complete tensors in place of a planted table, PIPE_LOG_ROWS=500,2000
// says how many rows are logged, PIPE_LOG_SEEDS how many draws there are, and PIPE_LOG_OUT=DIR writes every log for other programs.
func TestLogsReplayed(t *testing.T) {
	if testing.Short() {
		t.Skip("a law of statistics")
	}
	seeds, rows := 1, []int{600, 2000}
	if n, err := strconv.Atoi(os.Getenv("PIPE_LOG_SEEDS")); err == nil {
		seeds = n
	}
	if text := os.Getenv("PIPE_LOG_ROWS"); text != "" {
		rows = nil
		for _, part := range strings.Split(text, ",") {
			n, err := strconv.Atoi(part)
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, n)
		}
	}
	files, _ := filepath.Glob(os.Getenv("PIPE_LOG_TABLES"))
	var all []replayed
	for seed := range uint64(seeds) {
		if len(files) == 0 {
			all = append(all, replayWorld(t, newWorld(t, "planted", crossed.tensor(6000, costs.Train, seed, true), seed), rows, seed)...)
		}
		for _, file := range files {
			table, err := costs.Read(t.Context(), storage.File(file), costs.ReadOptions{})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, replayWorld(t, newWorld(t, strings.TrimSuffix(filepath.Base(file), ".parquet"), table, seed), rows, seed)...)
		}
	}
	for _, r := range all {
		if r.Gain < -r.Error {
			t.Errorf("%s, %s, %d rows, seed %d: %.4f (standard error %.4f) worse than the deployed policy", r.World, r.Behaviour, r.Rows, r.Seed, -r.Gain, r.Error)
		}
		if len(files) == 0 && r.Rows >= 2000 && r.Gain < r.Full/2 {
			t.Errorf("%s, %s, %d rows, seed %d: gain %.4f, full information %.4f", r.World, r.Behaviour, r.Rows, r.Seed, r.Gain, r.Full)
		}
	}
}

func replayWorld(t *testing.T, w *world, rows []int, seed uint64) (all []replayed) {
	t.Helper()
	full := w.fullInformation(t, seed)
	for _, n := range slices.Compact(rows) {
		if n > len(w.pool) {
			t.Logf("%s has %d rows for a log, not %d", w.name, len(w.pool), n)
			continue
		}
		for _, b := range w.behaviours(n) {
			r := w.replay(t, b, n, seed, replaySettings(), full)
			t.Logf("%-12s %-12s %5d seed %d: deployed %.4f, gain %+.4f (%.4f), full %+.4f (%.4f), ridge %+.4f, stays %v, bound %+.4f of %+.4f, %+v",
				r.World, r.Behaviour, r.Rows, r.Seed, r.Deployed, r.Gain, r.Error, r.Full, r.FullError, r.Ridge, r.Stays, r.LowerBound, r.Promised, *r.Log)
			all = append(all, r)
		}
	}
	return all
}
