package oip

import (
	"encoding/json"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"pipe/pipeline/decisionlog"
	"pipe/serve/decision"
	"pipe/serve/metrics"
	pb "pipe/serve/oip/inferencepb"
)

// Every decision on tensors is in the log, with the choice of the policy for certain and the prices that it was made at.
func TestDecisionsAreLogged(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "log")
	log, err := decisionlog.Open(folder, decisionlog.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, func(o *Options) {
		settings := decision.DefaultSettings()
		settings.Explore.Epsilon = 1 // does not concern decisions on tensors
		d, err := decision.New(o.Policies, log, nil, nil, settings)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		o.Decider = d
	})
	x := numbers(8, 3)
	want := s.expected(t, "fixed", nil, x)
	r := s.send(t, "POST", "/v2/models/fixed/infer", table(x, `,"outputs":[{"name":"expert"}]`), map[string]string{"X-Request-Id": "req-1"})
	var out struct {
		Parameters struct {
			IDs string `json:"decision_ids"`
		}
		Outputs []restTensor
	}
	if err := json.Unmarshal(r.body, &out); err != nil || r.status != 200 || len(out.Outputs) != 1 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	ids := strings.Split(out.Parameters.IDs, ",")
	prices := func(more string) []byte {
		return []byte(strings.Replace(string(table(x[:2*dim], "")), `"inputs":[`, `"inputs":[{"name":"advice_fees","shape":[2,3],"datatype":"FP32","data":[0,0.25,0.5,0,0.75,1]},`+more, 1))
	}
	available := `{"name":"available","shape":[1,9],"datatype":"BOOL","data":[true,false,true,true,true,true,true,true,true]},`
	pairs := `{"name":"pair_fees","shape":[1,9],"datatype":"FP32","data":[1,0,0,0,0,0,0,0,0]},`
	for _, body := range [][]byte{prices(available), prices(pairs)} {
		if r := s.send(t, "POST", "/v2/models/any-price/infer", body, nil); r.status != 200 {
			t.Fatalf("%d %s", r.status, r.body)
		}
	}
	if answer, err := s.rpc.ModelInfer(t.Context(), rpcOf(s.merged(t))); err != nil || len(strings.Split(answer.Parameters["decision_ids"].GetStringParam(), ",")) != 2 {
		t.Fatal(answer, err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	records := readLog(t, folder)
	if len(records) != 3+2+2+2 {
		t.Fatalf("%d records", len(records))
	}
	for i, r := range records[:3] {
		certain := make([]float64, 9)
		certain[want.Action[i]] = 1
		if r.ID != ids[i] || r.Request != "req-1" || r.Source != "infer" || int64(r.Action) != want.Action[i] || r.Greedy != r.Action || r.Executed != -1 ||
			!reflect.DeepEqual(r.Propensity, certain) || !reflect.DeepEqual(r.Features, x[i*dim:(i+1)*dim]) || r.Lambda != 1 || r.AdviceFees[2] != 0.2 {
			t.Errorf("%+v", r)
		}
	}
	for i, r := range records[3:5] {
		fees := [][]float64{{0, 0.25, 0.5}, {0, 0.75, 1}}[i]
		if r.Policy != "any-price" || r.Lambda != 1 || !reflect.DeepEqual(r.AdviceFees, fees) || r.Available[1] || !r.Available[0] || r.Available[5] || len(r.ExpectedCost) != 9 || r.Propensity[r.Action] != 1 {
			t.Errorf("%+v", r)
		}
	}
	for _, r := range records[5:7] {
		if !reflect.DeepEqual(r.PairFees, []float64{1, 0, 0, 0, 0, 0, 0, 0, 0}) || !r.Available[1] {
			t.Errorf("%+v", r)
		}
	}
	if r := records[7]; r.Policy != "merged" || r.Features != nil {
		t.Errorf("%+v", r)
	}
}

// A batch in which one row has fees of pairs: every row has a record and an id, in their order, also where the log must have
// every decision. The expected cost of a pair is its expected loss and its fee.
func TestPairFeesAreLogged(t *testing.T) {
	zero := strings.TrimSuffix(strings.Repeat("0,", 9), ",")
	body := strings.Replace(string(table(numbers(8, 2), "")), `"inputs":[`,
		`"inputs":[{"name":"pair_fees","shape":[2,9],"datatype":"FP32","data":[0.5,0,0,0,0.25,0,0,0,-0.125,`+zero+`]},`, 1)
	for _, onFull := range []string{decisionlog.Continue, decisionlog.Stop} {
		folder, registry := filepath.Join(t.TempDir(), "log"), prometheus.NewRegistry()
		settings := decisionlog.DefaultSettings()
		settings.OnFull = onFull
		log, err := decisionlog.Open(folder, settings)
		if err != nil {
			t.Fatal(err)
		}
		s := start(t, func(o *Options) {
			d, err := decision.New(o.Policies, log, metrics.New(registry), nil, decision.DefaultSettings())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { d.Close() })
			o.Decider = d
		})
		r := s.send(t, "POST", "/v2/models/any-price/infer", []byte(body), nil)
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		records := readLog(t, folder)
		var out struct {
			Parameters struct {
				IDs string `json:"decision_ids"`
			}
		}
		if err := json.Unmarshal(r.body, &out); err != nil || r.status != 200 || len(records) != 2 || out.Parameters.IDs != records[0].ID+","+records[1].ID {
			t.Fatalf("%s: %d, ids %q of %d records, %v", onFull, r.status, out.Parameters.IDs, len(records), err)
		}
		if n := decisions(t, registry); n != 2 {
			t.Errorf("%v decisions are counted", n)
		}
		if records[1].PairFees != nil || !reflect.DeepEqual(records[0].PairFees, []float64{0.5, 0, 0, 0, 0.25, 0, 0, 0, -0.125}) {
			t.Errorf("fees %v and %v", records[0].PairFees, records[1].PairFees)
		}
		for _, r := range records {
			for i, cost := range r.ExpectedCost {
				if want := float64(r.ExpectedLoss[i]) + r.FeeOf(i); r.Available[i] && math.Abs(float64(cost)-want) > 1e-6 {
					t.Errorf("pair %d is expected to cost %v; its loss and fee are %v", i, cost, want)
				}
			}
			if r.ExpectedCost == nil || r.Propensity[r.Action] != 1 {
				t.Errorf("%+v", r)
			}
		}
	}
}

// decisions is how many decisions the metrics count.
func decisions(t *testing.T, registry *prometheus.Registry) (n float64) {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "pipe_decisions_total" {
			for _, m := range f.GetMetric() {
				n += m.GetCounter().GetValue()
			}
		}
	}
	return n
}

// rpcOf is a request over gRPC of a model of int64 tensors.
func rpcOf(m caseModel) *pb.ModelInferRequest {
	r := &pb.ModelInferRequest{ModelName: m.Name}
	for _, in := range m.Inputs {
		r.Inputs = append(r.Inputs, &pb.ModelInferRequest_InferInputTensor{
			Name: in.Name, Datatype: in.Datatype, Shape: in.Shape, Contents: &pb.InferTensorContents{Int64Contents: in.Data.([]int64)},
		})
	}
	return r
}

func readLog(t testing.TB, folder string) []*decisionlog.Record {
	t.Helper()
	l, err := decisionlog.Read(folder)
	if err != nil {
		t.Fatal(err)
	}
	var out []*decisionlog.Record
	for d, err := range l.Decisions() {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, d.Record)
	}
	return out
}
