package fit

import (
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/internal/realdata"
	"pipe/models"
	"pipe/models/cascade"
	"pipe/onnx/ort/orttest"
)

// frugal is one of the tables of FrugalML: four services, what each answered and how sure it was. The features are one
// that never changes.
func frugal(t *testing.T, name string) *costs.Tensor {
	t.Helper()
	dir := realdata.Folder(t, "outcomes", "frugalml-"+name)
	f, err := os.Open(filepath.Join(dir, "outcomes.csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(z).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var fees struct{ Experts map[string]float64 }
	text, err := os.ReadFile(filepath.Join(dir, "fees.json"))
	if err == nil {
		err = json.Unmarshal(text, &fees)
	}
	if err != nil {
		t.Fatal(err)
	}
	out := &costs.Tensor{Dim: 1, Actions: &costs.Actions{Advice: []costs.Advice{{Name: "none"}}}}
	var names, labels []string
	row := make(map[string]int)
	for _, l := range lines[1:] {
		if !slices.Contains(names, l[1]) {
			names = append(names, l[1])
			out.Actions.Experts = append(out.Actions.Experts, costs.Expert{Name: l[1], Fee: fees.Experts[l[1]]})
		}
		if _, ok := row[l[0]]; !ok {
			row[l[0]] = len(row)
			out.IDs, out.Splits, out.Features = append(out.IDs, l[0]), append(out.Splits, costs.Train), append(out.Features, 0)
		}
		labels = append(labels, l[3])
	}
	slices.Sort(labels)
	label, confidence := costs.Facts{Fact: costs.Fact{Name: "label", Values: slices.Compact(labels)}}, costs.Facts{Fact: costs.Fact{Name: "confidence"}}
	size := len(row) * len(names)
	out.Loss, label.Data, confidence.Data = make([]float32, size), make([]float32, size), make([]float32, size)
	for _, l := range lines[1:] {
		at := row[l[0]]*len(names) + slices.Index(names, l[1])
		value, _ := slices.BinarySearch(label.Values, l[3])
		out.Loss[at], label.Data[at], confidence.Data[at] = number(t, l[2]), float32(value), number(t, l[4])
	}
	out.Facts = []costs.Facts{confidence, label}
	return out
}

func number(t *testing.T, text string) float32 {
	v, err := strconv.ParseFloat(text, 32)
	if err != nil {
		t.Fatal(err)
	}
	return float32(v)
}

// based is the table with what the cheapest service answered as features, for the one-shot policy: its fee, which is next to
// nothing, is added to every other pair.
func based(t *costs.Tensor) *costs.Tensor {
	base := 0
	for i, e := range t.Actions.Experts {
		if e.Fee < t.Actions.Experts[base].Fee {
			base = i
		}
	}
	out, a := *t, *t.Actions
	a.Experts = slices.Clone(a.Experts)
	for i := range a.Experts {
		if i != base {
			a.Experts[i].Fee += a.Experts[base].Fee
		}
	}
	out.Actions, out.Facts, out.Features = &a, nil, nil
	columns := seenColumns(t)
	width := len(columns) / t.Len()
	e := encodingOf(t, everyRow(t), []int{base}, 64)
	for n := range t.Len() {
		out.Features = e.Encode(out.Features, t.Row(n), columns[n*width:(n+1)*width])
	}
	out.Dim = e.Width()
	return &out
}

// On the tables of FrugalML, cascades beside the best one-shot policy, which sees the answer of the cheapest service.
// PIPE_CASCADE_SPLITS is the number of draws of the rows, PIPE_CASCADE_ROWS that of the training rows, PIPE_CASCADE_STAGES the most stages, and
// PIPE_CASCADE_TABLES names the tables. With PIPE_CASCADE_BASE=1, the cascade sees the answer of the cheapest service from the start too.
func TestFrugalML(t *testing.T) {
	if testing.Short() {
		t.Skip("learns four cascades")
	}
	o := models.Options{Runtime: orttest.Open(t, 0)}
	splits, rows, tables := setting(t, "PIPE_CASCADE_SPLITS", 1), setting(t, "PIPE_CASCADE_ROWS", 1000), []string{"DIGIT", "YELP"}
	if names := os.Getenv("PIPE_CASCADE_TABLES"); names != "" {
		tables = strings.Split(names, ",")
	}
	most := setting(t, "PIPE_CASCADE_STAGES", 3)
	for _, name := range tables {
		whole := frugal(t, name)
		with := based(whole)
		table := whole
		if setting(t, "PIPE_CASCADE_BASE", 0) == 1 {
			seen := *with
			seen.Facts, table = whole.Facts, &seen
		}
		gains := make(map[int][]float64)
		for split := range splits {
			order := rand.New(rand.NewPCG(uint64(split), 35)).Perm(whole.Len())
			train := min(rows, whole.Len()*3/4)
			fresh := order[train:min(len(order), train+8000)]
			s := frugalSettings()
			one, _, err := newLearner(with.Subset(order[:train]), nil, fixedPricing(with.Actions, 1), s, o).oneShot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			base := 0.0
			for _, n := range fresh {
				i, err := one.Decide(with.Row(n))
				if err != nil {
					t.Fatal(err)
				}
				base += with.Cost(n, i, 1) / float64(len(fresh))
			}
			fixed := costs.Summarize(whole, fresh, 1).BestCost
			for stages := 2; stages <= most; stages++ {
				s.Stages = stages
				played := cascaded(t, table, order[:train], fresh, s, o)
				sum, stage := 0.0, make([]float64, stages)
				for n := range fresh {
					sum += played.Cost(n) / float64(len(fresh))
					stage[len(played.Order[n])-1] += 1 / float64(len(fresh))
				}
				gains[stages] = append(gains[stages], base-sum)
				t.Logf("%s split %d: fixed %.4f, one-shot %.4f, %d stages %.4f (%.2f)", name, split, fixed, base, stages, sum, stage)
			}
		}
		for stages := 2; stages <= most; stages++ {
			mean, std := models.MeanStd(gains[stages])
			t.Logf("%s: gain of %d stages over one-shot %+.4f, standard error %.4f, over %d splits", name, stages, mean, std/math.Sqrt(float64(splits)), splits)
		}
	}
}

func setting(t *testing.T, name string, otherwise int) int {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	v, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func frugalSettings() Settings {
	s := quick(2)
	s.Values = 64 // as the one-shot policy sees them
	return s
}

// cascaded learns without the guard, and plays.
func cascaded(t *testing.T, whole *costs.Tensor, train, fresh []int, s Settings, o models.Options) *cascade.Played {
	t.Helper()
	own := whole.Subset(train)
	l := newLearner(own, groupsOf(together(own, s.Auto.Apart)), fixedPricing(own.Actions, 1), s, o)
	one, _, err := l.oneShot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	states, reports, err := l.states(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var fallbacks []string
	for _, r := range reports {
		if r.Guard.Fallback {
			fallbacks = append(fallbacks, "{"+strings.Join(r.Executed, " ")+"}")
		}
	}
	t.Logf("%d states, fixed: %v", len(states), fallbacks)
	played, err := playAt(t.Context(), staged(whole, fixedPricing(whole.Actions, 1), s, one, states), whole, fresh, 1, o)
	if err != nil {
		t.Fatal(err)
	}
	return played
}
