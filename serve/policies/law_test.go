package policies

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"pipe/costs"
	"pipe/models/policy"
	"pipe/onnx"
	"pipe/onnx/hf/hftest"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/decide"
	"pipe/pipeline/decide/decidetest"
	"pipe/serve/policies/policiestest"
)

// everything is a set with a policy of each kind of input, an any-price one, and one that is merged with its encoder.
func everything(t testing.TB, change func(s *Settings)) *Set {
	t.Helper()
	dir, models := t.TempDir(), t.TempDir()
	write(t, dir, "any", decidetest.AnyPrice(dim))
	write(t, dir, "plain", decidetest.Policy(dim, 4))
	text, image := hftest.Folder(t), hftest.CLIPFolder(t, hftest.SpellingCLIP(1))
	for name, c := range map[string]struct {
		dim      int
		features costs.FeatureSource
	}{
		"text":  {hftest.Hidden, costs.FeatureSource{Name: "text small", Dim: hftest.Hidden}},
		"image": {12, costs.FeatureSource{Name: "image clip", Dim: 12}},
		"row":   {decidetest.TableDim, costs.FeatureSource{Name: "groups base", Dim: decidetest.TableDim}},
	} {
		if err := decidetest.WriteEncoderPolicy(filepath.Join(dir, name+".onnx"), c.dim, c.features, ""); err != nil {
			t.Fatal(err)
		}
	}
	table := filepath.Join(models, "encoder.json")
	if err := decidetest.WriteTable(table); err != nil {
		t.Fatal(err)
	}
	policiestest.Merge(t, filepath.Join(dir, "text.onnx"), text, filepath.Join(dir, "merged.onnx"))
	s := settings(dir)
	s.Encoders = map[string]string{"text": text, "image": image, "row": table}
	if change != nil {
		change(&s)
	}
	return open(t, s)
}

// request is one request to a policy; a bad one must fail, whatever runs beside it.
type request struct {
	policy string
	in     Inputs
	prices policy.PriceChange
	bad    bool
}

// drawRequest makes a request of one to five rows.
func drawRequest(t testing.TB, r *rand.Rand) request {
	n := 1 + r.IntN(5)
	q := request{policy: []string{"any", "any", "plain", "text", "merged", "image", "row"}[r.IntN(7)], bad: r.IntN(8) == 0}
	switch q.policy {
	case "any", "plain":
		q.in.Features = numbers(r.Uint64(), n)
		if q.bad {
			q.in.Features[r.IntN(len(q.in.Features))] = float32(math.NaN())
		}
	case "text", "merged":
		q.in.Texts = decidetest.Texts(30)[r.IntN(20):][:n]
		if q.bad {
			q.in.Texts = append(slices.Clone(q.in.Texts), "\xff")
		}
	case "image":
		for range n {
			q.in.Images = append(q.in.Images, decidetest.PNG())
		}
		if q.bad {
			q.in.Images[r.IntN(n)] = []byte("no image")
		}
	case "row":
		for i := range n {
			q.in.Rows = append(q.in.Rows, map[string]string{"amount": fmt.Sprint(i), "n_1": "x", "when": "5"})
		}
		if q.bad {
			q.in.Rows[r.IntN(n)] = map[string]string{"amount": "much"}
		}
	}
	if q.policy == "any" && r.IntN(2) == 0 {
		lambda := float64(r.IntN(3))
		q.prices = policy.PriceChange{Lambda: &lambda, Fees: []policy.Fee{{Of: policy.Expert("c"), Amount: 0.1 * float64(r.IntN(4))}}}
	}
	if r.IntN(3) == 0 && (q.policy == "any" || q.policy == "plain") {
		q.prices.Without = []policy.Part{policy.Expert("c"), policy.Advice("long")}[r.IntN(2):][:1]
	}
	return q
}

// answer runs a request as a server does.
func (q request) answer(ctx context.Context, set *Set) (*policy.Decisions, error) {
	p, err := set.Acquire(q.policy)
	if err != nil {
		return nil, err
	}
	defer p.Release()
	at, err := p.Info().Price(q.prices)
	if err != nil {
		return nil, err
	}
	x, err := p.Encode(ctx, q.in)
	if err != nil {
		return nil, err
	}
	return p.Decide(ctx, at, x, len(x)/p.Info().Dim)
}

// Requests that run together, at mixed prices and with bad ones among them, have the bits of the same requests alone.
func TestRequestsTogetherAnswerAsAlone(t *testing.T) {
	set := everything(t, func(s *Settings) { s.Workers = 1 }) // so that they meet
	met := map[string]*atomic.Int64{"encode": {}, "decide": {}}
	for _, q := range []*queue{set.queues.encode, set.queues.decide} {
		q.observe = func(jobs int) {
			if jobs > 1 {
				met[q.stage].Add(1)
			}
		}
	}
	const callers, each = 24, 25
	r := rand.New(rand.NewPCG(5, 5))
	requests, want := make([]request, callers*each), make([]*policy.Decisions, callers*each)
	for i := range requests {
		requests[i] = drawRequest(t, r)
		d, err := requests[i].answer(t.Context(), set)
		var row *decide.RowError
		if bad := requests[i].bad; (err != nil) != bad || bad && !errors.As(err, &row) {
			t.Fatalf("%+v: %v", requests[i], err)
		}
		want[i] = d
	}
	var all sync.WaitGroup
	for c := range callers {
		all.Go(func() {
			for i := c; i < len(requests); i += callers {
				d, err := requests[i].answer(t.Context(), set)
				if bad := requests[i].bad; (err != nil) != bad || !bad && !reflect.DeepEqual(d, want[i]) {
					t.Errorf("%+v: %+v, %v; alone %+v", requests[i], d, err, want[i])
				}
			}
		})
	}
	all.Wait()
	for stage, n := range met {
		if n.Load() == 0 {
			t.Errorf("%s: no requests ran together", stage)
		}
	}
}

// A request of many rows is the same as its rows in several requests.
func TestManyRows(t *testing.T) {
	set := everything(t, func(s *Settings) { s.BatchRows = 16 })
	any, text := acquire(t, set, "any"), acquire(t, set, "merged")
	x := numbers(3, 1000)
	whole, err := any.Decide(t.Context(), nil, x, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, first := range []int{0, 255, 256, 999} {
		one, err := any.Decide(t.Context(), nil, x[first*dim:(first+1)*dim], 1)
		n := one.Actions
		if err != nil || one.Action[0] != whole.Action[first] || !slices.Equal(one.Cost, whole.Cost[first*n:(first+1)*n]) || len(whole.Cost) != 1000*n {
			t.Errorf("row %d: %v, %v", first, one, err)
		}
	}
	x[777*dim] = float32(math.Inf(-1))
	var row *decide.RowError
	if _, err := any.Decide(t.Context(), nil, x, 1000); !errors.As(err, &row) || row.Row != 777 {
		t.Errorf("the error of row 777: %v", err)
	}
	texts := slices.Repeat(decidetest.Texts(30), 4)
	vectors, err := text.Encode(t.Context(), Inputs{Texts: texts})
	if err != nil || len(vectors) != 120*hftest.Hidden {
		t.Fatalf("%d numbers, %v", len(vectors), err)
	}
	for _, i := range []int{0, 17, 119} {
		one, err := text.Encode(t.Context(), Inputs{Texts: texts[i : i+1]})
		if err != nil || !slices.Equal(one, vectors[i*hftest.Hidden:(i+1)*hftest.Hidden]) {
			t.Errorf("text %d: %v", i, err)
		}
	}
	texts[100] = "\xff"
	if _, err := text.Encode(t.Context(), Inputs{Texts: texts}); !errors.As(err, &row) || row.Row != 100 {
		t.Errorf("the error of text 100: %v", err)
	}
}

func TestInputsThatDoNotFit(t *testing.T) {
	set := everything(t, nil)
	for name, in := range map[string]Inputs{
		"none":            {},
		"no rows":         {Features: []float32{}},
		"two kinds":       {Features: numbers(1, 1), Texts: []string{"a"}},
		"wrong width":     {Features: numbers(1, 1)[1:]},
		"texts":           {Texts: []string{"a"}},
		"images":          {Images: [][]byte{decidetest.PNG()}},
		"rows by columns": {Rows: []map[string]string{{"a": "1"}}},
	} {
		_, err := acquire(t, set, "plain").Encode(t.Context(), in)
		var inputs *InputsError
		var other *decide.InputError
		if !errors.As(err, &inputs) && !errors.As(err, &other) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Leaving callers do not fail others, and nothing is left behind.
func TestLeavingCallers(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	set := everything(t, func(s *Settings) { s.Workers = 1 })
	var all sync.WaitGroup
	for c := range 16 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(c), 3))
			for range 20 {
				q := drawRequest(t, r)
				q.bad = false
				ctx, cancel := context.WithCancel(t.Context())
				if c%2 == 0 {
					cancel()
				}
				_, err := q.answer(ctx, set)
				if c%2 == 1 && err != nil && !strings.Contains(err.Error(), "row") && !strings.Contains(err.Error(), "UTF-8") {
					t.Errorf("%v", err)
				}
				cancel()
			}
		})
	}
	all.Wait()
}

// run is the answer of a policy to tensors, as tensors.
func run(t *testing.T, p *Policy, in map[string]*onnx.Tensor, outputs ...string) (map[string]*onnx.Tensor, error) {
	a, err := p.Graph().Run(t.Context(), in)
	if err != nil {
		return nil, err
	}
	return p.Graph().Tensors(a.Decisions, outputs...)
}

// Graph answers as the file does in the runtime.
func TestGraphAnswersAsTheFile(t *testing.T) {
	set := everything(t, nil)
	ids := onnx.Int64s([]int64{3, 4}, []int64{2, 5, 6, 3, 2, 9, 10, 3, 2, 11, 4, 3})
	ones, zeros := slices.Repeat([]int64{1}, 12), make([]int64, 12)
	a := decidetest.AnyPrice(dim).Actions
	fees := policy.PricesOf(a, 2).Tensors()
	for _, c := range []struct {
		name   string
		inputs map[string]*onnx.Tensor
	}{
		{"plain", map[string]*onnx.Tensor{"features": onnx.Float32s([]int64{3, dim}, numbers(2, 3))}},
		{"any", map[string]*onnx.Tensor{
			"features": onnx.Float32s([]int64{3, dim}, numbers(2, 3)), "expert_fees": fees[policy.ExpertFeesInput],
			"advice_fees": onnx.Float32s([]int64{3, 3}, []float32{0, 1, 2, 0, 0.1, 0, 0, 0, 0}),
			"pair_fees":   onnx.Float32s([]int64{1, 9}, make([]float32, 9)), "available": onnx.Bools([]int64{1, 9}, slices.Repeat([]bool{true}, 9)),
		}},
		{"merged", map[string]*onnx.Tensor{"input_ids": ids, "attention_mask": onnx.Int64s(ids.Shape, ones), "token_type_ids": onnx.Int64s(ids.Shape, zeros)}},
	} {
		p := acquire(t, set, c.name)
		rt := orttest.Open(t, 1)
		s, err := rt.SessionFile(p.File, rt.SessionOptions())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if got := p.Graph().Inputs(); !sameNames(got, s.Inputs()) || !sameNames(p.Graph().Outputs(), s.Outputs()) {
			t.Errorf("%s: %v to %v, the file has %v to %v", c.name, got, p.Graph().Outputs(), s.Inputs(), s.Outputs())
		}
		want, err := s.Run(t.Context(), c.inputs)
		if err != nil {
			t.Fatal(err)
		}
		got, err := run(t, p, c.inputs)
		if err != nil || len(got) != len(want) {
			t.Errorf("%s: %v, %v", c.name, got, err)
			continue
		}
		for name, w := range want {
			if !near(got[name], w) {
				t.Errorf("%s: %s is %v, the file's %v", c.name, name, got[name], w)
			}
		}
		one, err := run(t, p, c.inputs, "scores")
		if err != nil || len(one) != 1 || !reflect.DeepEqual(one["scores"], got["scores"]) {
			t.Errorf("%s: one output is %v, %v", c.name, one, err)
		}
	}
}

func sameNames(a, b []onnx.IO) bool {
	return slices.EqualFunc(a, b, func(v, w onnx.IO) bool { return v.Name == w.Name && v.DType == w.DType && len(v.Shape) == len(w.Shape) })
}

// near reports whether tensors are equal but for rounding: the runtime optimises the whole file otherwise.
func near(a, b *onnx.Tensor) bool {
	if a == nil || a.DType != b.DType || !slices.Equal(a.Shape, b.Shape) {
		return false
	}
	if a.DType != onnx.Float32 {
		return slices.Equal(a.Raw, b.Raw)
	}
	for i, v := range a.Float32s() {
		if w := b.Float32s()[i]; math.Abs(float64(v-w)) > 1e-5*max(1, math.Abs(float64(w))) {
			return false
		}
	}
	return true
}

// Many rows of tokens run in parts, and their errors name the row of the request.
func TestGraphOfManyTokens(t *testing.T) {
	set := everything(t, func(s *Settings) { s.BatchTokens = 10 })
	const rows, width = 23, 4
	r, v := rand.New(rand.NewPCG(2, 2)), make([]int64, rows*width)
	for i := range v {
		v[i] = 4 + r.Int64N(20)
	}
	p := acquire(t, set, "merged")
	in := func(first, end int) map[string]*onnx.Tensor {
		shape := []int64{int64(end - first), width}
		return map[string]*onnx.Tensor{
			"input_ids": onnx.Int64s(shape, v[first*width:end*width]), "attention_mask": onnx.Int64s(shape, slices.Repeat([]int64{1}, (end-first)*width)),
			"token_type_ids": onnx.Int64s(shape, make([]int64, (end-first)*width)),
		}
	}
	all, err := run(t, p, in(0, rows))
	if err != nil {
		t.Fatal(err)
	}
	actions := int(all["scores"].Shape[1])
	for i := range rows {
		one, err := run(t, p, in(i, i+1))
		if err != nil || !slices.Equal(one["scores"].Float32s(), all["scores"].Float32s()[i*actions:(i+1)*actions]) {
			t.Errorf("row %d: %v, %v", i, one, err)
		}
	}
	v[17*width+1] = 5000
	var row *decide.RowError
	if _, err := run(t, p, in(0, rows)); !errors.As(err, &row) || row.Row != 17 {
		t.Errorf("an unknown token in row 17: %v", err)
	}
}

// Prices that a request leaves out are those of the file.
func TestGraphPricesAreOptional(t *testing.T) {
	set := everything(t, nil)
	p := acquire(t, set, "any")
	in := map[string]*onnx.Tensor{"features": onnx.Float32s([]int64{2, dim}, numbers(2, 2))}
	got, err := run(t, p, in)
	if err != nil {
		t.Fatal(err)
	}
	want, err := p.Decide(t.Context(), nil, numbers(2, 2), 2)
	if err != nil || !slices.Equal(got["action"].Int64s(), want.Action) || !slices.Equal(got["expected_cost"].Float32s(), want.Cost) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	in["available"] = onnx.Bools([]int64{2, 9}, append(slices.Repeat([]bool{false, false, true}, 3), slices.Repeat([]bool{true}, 9)...))
	got, err = run(t, p, in, "advice", "action")
	if err != nil || got["advice"].Int64s()[0] != 2 || got["action"].Int64s()[1] != want.Action[1] {
		t.Errorf("with a mask per row: %v, %v", got, err)
	}
}

func TestGraphRefuses(t *testing.T) {
	set := everything(t, nil)
	nan := numbers(2, 2)
	nan[dim+1] = float32(math.NaN())
	good := func() *onnx.Tensor { return onnx.Float32s([]int64{2, dim}, numbers(2, 2)) }
	ids := func(v ...int64) map[string]*onnx.Tensor {
		n := int64(len(v))
		return map[string]*onnx.Tensor{
			"input_ids": onnx.Int64s([]int64{1, n}, v), "attention_mask": onnx.Int64s([]int64{1, n}, slices.Repeat([]int64{1}, len(v))),
			"token_type_ids": onnx.Int64s([]int64{1, n}, make([]int64, n)),
		}
	}
	short := ids(2, 5, 3)
	short["attention_mask"] = onnx.Int64s([]int64{1, 2}, []int64{1, 1})
	for name, c := range map[string]struct {
		policy  string
		in      map[string]*onnx.Tensor
		outputs []string
		row     int // of the error; -1: it is about a tensor
	}{
		"nothing":             {"plain", nil, nil, -1},
		"no such input":       {"plain", map[string]*onnx.Tensor{"features": good(), "x": good()}, nil, -1},
		"no such output":      {"plain", map[string]*onnx.Tensor{"features": good()}, []string{"action", "x"}, -1},
		"another type":        {"plain", map[string]*onnx.Tensor{"features": onnx.Int64s([]int64{1, dim}, make([]int64, dim))}, nil, -1},
		"another width":       {"plain", map[string]*onnx.Tensor{"features": onnx.Float32s([]int64{2, 3}, numbers(2, 1))}, nil, -1},
		"another rank":        {"plain", map[string]*onnx.Tensor{"features": onnx.Float32s([]int64{dim}, numbers(2, 1))}, nil, -1},
		"no rows":             {"plain", map[string]*onnx.Tensor{"features": onnx.Float32s([]int64{0, dim}, nil)}, nil, -1},
		"too few bytes":       {"plain", map[string]*onnx.Tensor{"features": {DType: onnx.Float32, Shape: []int64{2, dim}, Raw: make([]byte, 5)}}, nil, -1},
		"a negative size":     {"plain", map[string]*onnx.Tensor{"features": {DType: onnx.Float32, Shape: []int64{-2, dim}, Raw: make([]byte, 5)}}, nil, -1},
		"NaN":                 {"plain", map[string]*onnx.Tensor{"features": onnx.Float32s([]int64{2, dim}, nan)}, nil, 1},
		"prices of fixed":     {"plain", map[string]*onnx.Tensor{"features": good(), "expert_fees": onnx.Float32s([]int64{1, 3}, make([]float32, 3))}, nil, -1},
		"rows of prices":      {"any", map[string]*onnx.Tensor{"features": good(), "expert_fees": onnx.Float32s([]int64{3, 3}, make([]float32, 9))}, nil, -1},
		"a fee that is NaN":   {"any", map[string]*onnx.Tensor{"features": good(), "expert_fees": onnx.Float32s([]int64{1, 3}, nan[dim:dim+3])}, nil, -1},
		"nothing available":   {"any", map[string]*onnx.Tensor{"features": good(), "available": onnx.Bools([]int64{2, 9}, append(slices.Repeat([]bool{true}, 9), make([]bool, 9)...))}, nil, -1},
		"advice 0 has a fee":  {"any", map[string]*onnx.Tensor{"features": good(), "advice_fees": onnx.Float32s([]int64{1, 3}, []float32{0.5, 0, 0})}, nil, -1},
		"only what is not":    {"any", map[string]*onnx.Tensor{"features": good(), "available": onnx.Bools([]int64{1, 9}, slices.Concat(make([]bool, 5), []bool{true}, make([]bool, 3)))}, nil, -1},
		"no such token":       {"merged", ids(2, 63, 1000, 3), nil, 0},
		"a negative token":    {"merged", ids(2, -1, 3), nil, 0},
		"too many tokens":     {"merged", ids(slices.Repeat([]int64{5}, hftest.Positions+1)...), nil, 0},
		"masks of other size": {"merged", short, nil, -1},
		"features of merged":  {"merged", map[string]*onnx.Tensor{"features": good()}, nil, -1},
	} {
		out, err := run(t, acquire(t, set, c.policy), c.in, c.outputs...)
		var tensor *TensorError
		var row *decide.RowError
		switch {
		case err == nil:
			t.Errorf("%s: %v", name, out)
		case c.row < 0 && !errors.As(err, &tensor), c.row >= 0 && (!errors.As(err, &row) || row.Row != c.row):
			t.Errorf("%s: %T %v", name, err, err)
		}
	}
}

// A change of the encoder's file alone makes another version.
func TestReloadSeesTheEncoder(t *testing.T) {
	var table string
	set := everything(t, func(s *Settings) { table = s.Encoders["row"] })
	before := acquire(t, set, "row")
	b, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	put(t, table, []byte(strings.Replace(string(b), `"mean": 2`, `"mean": 20`, 1)))
	for _, c := range set.Reload(t.Context()) {
		if want := map[bool]Verdict{true: Replaced, false: Unchanged}[c.Name == "row"]; c.Verdict != want {
			t.Errorf("%v", c)
		}
	}
	row := Inputs{Rows: []map[string]string{{"amount": "7"}}}
	x, err1 := before.Encode(t.Context(), row)
	y, err2 := acquire(t, set, "row").Encode(t.Context(), row)
	if err := errors.Join(err1, err2); err != nil || slices.Equal(x, y) {
		t.Errorf("%v and %v, %v", x, y, err)
	}
	put(t, table, []byte("{"))
	if c := set.Reload(t.Context()); !slices.ContainsFunc(c, func(c Change) bool { return c.Name == "row" && c.Verdict == Refused }) {
		t.Errorf("a broken encoder: %v", c)
	}
}
