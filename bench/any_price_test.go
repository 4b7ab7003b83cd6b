package bench

import (
	"context"
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
	"pipe/internal/config"
	"pipe/internal/realdata"
	"pipe/internal/storage"
	"pipe/models"
	"pipe/models/auto"
	"pipe/models/baseline"
	"pipe/models/policy"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/replay"
	"pipe/pipeline/stage"
)

// Variables for the whole measurement: PIPE_PRICES=50 PIPE_PRICE_TABLES=all go test ./pipeline/bench -run Regret -v
const (
	pricesVariable = "PIPE_PRICES"       // number of random price vectors
	tablesVariable = "PIPE_PRICE_TABLES" // names of tables of configs/tables.yaml, or all
)

// regretLambdas are the multipliers of the fees of advice that are compared besides the random price vectors.
var regretLambdas = []float64{0, 0.25, 0.5, 1, 1.5, 2, 3, 4, 6, 8}

// TestAnyPriceRegret compares one any-price policy with policies that are trained for each price, on held-out rows.
func TestAnyPriceRegret(t *testing.T) {
	if testing.Short() {
		t.Skip("trains a policy per price")
	}
	t.Setenv("PIPE_DATA", filepath.Dir(realdata.Folder(t, "outcomes")))
	vectors, chosen := 1, []string{"ferplus"}
	if v := os.Getenv(pricesVariable); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			t.Fatal(err)
		}
		vectors = n
	}
	if v := os.Getenv(tablesVariable); v == "all" {
		chosen = nil
	} else if v != "" {
		chosen = strings.Split(v, ",")
	}
	file := defaultTables()
	path := filepath.Join("..", "configs", "tables.yaml")
	if err := config.Load(t.Context(), storage.File(path), &file); err != nil {
		t.Fatal(err)
	}
	if err := file.choose(chosen, nil); err != nil {
		t.Fatal(err)
	}
	r := &tablesRun{c: &file, benchRun: &benchRun{out: t.TempDir(), dir: filepath.Dir(path), rt: orttest.Open(t, 0), progress: stage.Quiet}}
	all, err := r.load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, table := range file.Tables {
		t.Run(table.Name, func(t *testing.T) {
			x, err := newTableSplit(r, table, all[i], table.together(all[i]), 0)
			if err != nil {
				t.Fatal(err)
			}
			measureRegret(t, x, vectors)
		})
	}
}

// regret is the loss of the any-price policy minus that of the policy of a price, and minus that of the best fixed pair.
type regret struct {
	price                string
	own, ownError        float64
	constant, constError float64
}

func measureRegret(t *testing.T, x *tableSplit, vectors int) {
	s := x.auto()
	o := models.Options{Runtime: x.rt}
	anyPrice, report, err := auto.TrainAnyPrice(t.Context(), x.t, x.c.Train.Prices, s, o)
	if err != nil {
		t.Fatal(err)
	}
	var found []regret
	own, _, err := auto.Train(t.Context(), x.t, regretLambdas, s, o)
	if err != nil {
		t.Fatal(err)
	}
	for i, lambda := range regretLambdas {
		found = append(found, compareAt(t, x, x.t, anyPrice.At(lambda), own[i], fmt.Sprintf("lambda %g", lambda)))
	}
	rng := rand.New(rand.NewPCG(1, uint64(x.draw)))
	for v := range vectors {
		priced := withFees(x.t, rng)
		at := anyPrice.At(1)
		at.Actions = priced.Actions
		own, _, err := auto.Train(t.Context(), priced, []float64{1}, s, o)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, compareAt(t, x, priced, at, own[0], fmt.Sprintf("vector %d", v)))
	}
	summarise(t, found, report.Guard)
}

// withFees is a table whose fees are multiplied by factors from 1/4 to 4.
func withFees(t *costs.Tensor, rng *rand.Rand) *costs.Tensor {
	out, actions := *t, *t.Actions
	factor := func() float64 { return math.Pow(4, 2*rng.Float64()-1) }
	actions.Experts, actions.Advice = slices.Clone(actions.Experts), slices.Clone(actions.Advice)
	for j := range actions.Experts {
		actions.Experts[j].Fee *= factor()
	}
	for k := range actions.Advice {
		actions.Advice[k].Fee *= factor()
	}
	out.Actions = &actions
	return &out
}

func compareAt(t *testing.T, x *tableSplit, priced *costs.Tensor, anyPrice, own *policy.Policy, price string) regret {
	decide := func(p *policy.Policy) []int {
		l, err := replay.Decide(context.Background(), x.rt, p, priced, x.held)
		if err != nil {
			t.Fatal(err)
		}
		return l.Action
	}
	lambda := own.Lambda
	fixed, err := constantOf(priced, x, lambda)
	if err != nil {
		t.Fatal(err)
	}
	a, b := decide(anyPrice), decide(own)
	var toOwn, toConstant []float64
	for i, n := range x.held {
		cost := priced.Cost(n, a[i], lambda)
		toOwn = append(toOwn, cost-priced.Cost(n, b[i], lambda))
		toConstant = append(toConstant, cost-priced.Cost(n, fixed[i], lambda))
	}
	r := regret{price: price}
	r.own, r.ownError = meanAndError(toOwn)
	r.constant, r.constError = meanAndError(toConstant)
	return r
}

func constantOf(t *costs.Tensor, x *tableSplit, lambda float64) ([]int, error) {
	for _, rule := range baseline.All() {
		if rule.Name == baseline.BestFixedTrain {
			return rule.Run(baseline.Input{Tensor: t, Rows: x.held, Train: x.train, Lambda: lambda})
		}
	}
	return nil, fmt.Errorf("there is no rule %s", baseline.BestFixedTrain)
}

func meanAndError(v []float64) (mean, failure float64) {
	mean, std := models.MeanStd(v)
	return mean, std / math.Sqrt(float64(len(v)))
}

// summarise checks the measured regrets: small on average, and nowhere clearly large or above the best fixed pair.
func summarise(t *testing.T, found []regret, g policy.Guard) {
	mean := 0.0
	worst, behind := found[0], found[0]
	for _, r := range found {
		mean += r.own / float64(len(found))
		if r.own-r.ownError > worst.own-worst.ownError {
			worst = r
		}
		if r.constant-r.constError > behind.constant-behind.constError {
			behind = r
		}
	}
	t.Logf("%d prices: mean regret %.4f; worst %.4f (standard error %.4f) at %s; against the best fixed pair worst %.4f (standard error %.4f) at %s; fallback %v",
		len(found), mean, worst.own, worst.ownError, worst.price, behind.constant, behind.constError, behind.price, g.Fallback)
	if mean > 0.002 {
		t.Errorf("the mean regret is %.4f", mean)
	}
	if worst.own > 0.005+worst.ownError {
		t.Errorf("the regret at %s is %.4f, standard error %.4f", worst.price, worst.own, worst.ownError)
	}
	if behind.constant > behind.constError {
		t.Errorf("at %s the policy is %.4f above the best fixed pair, standard error %.4f", behind.price, behind.constant, behind.constError)
	}
}
