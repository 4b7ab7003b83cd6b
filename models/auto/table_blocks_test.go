package auto

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/models"
	"pipe/models/network"
	"pipe/models/policy"
	"pipe/onnx/ort/orttest"
)

// A small block belongs to a neighbour of it.
func TestFeatureBlocks(t *testing.T) {
	for text, want := range map[string][]span{
		"[10]": nil, "[8,8]": {{0, 8}, {8, 16}}, "[9,7]": nil, "[3,20]": nil, "[3,20,9]": {{0, 23}, {23, 32}}, "[20,3,9,2]": {{0, 23}, {23, 34}}, "[7,7,7]": nil,
		"[4,4,8]": {{0, 8}, {8, 16}},
	} {
		var widths []int
		if err := json.Unmarshal([]byte(text), &widths); err != nil {
			t.Fatal(err)
		}
		tensor := &costs.Tensor{Meta: map[string]string{costs.BlocksKey: text}}
		for _, w := range widths {
			tensor.Dim += w
		}
		all := network.Standardizer{Scale: slices.Repeat([]float32{1}, tensor.Dim)}
		if got := featureBlocks(tensor, all, false); !slices.Equal(got, want) {
			t.Errorf("%s: %v, not %v", text, got, want)
		}
	}
	// Narrow ones count, but those in which nothing varies.
	narrow := &costs.Tensor{Dim: 26, Meta: map[string]string{costs.BlocksKey: "[3,20,2,1]"}}
	scale := slices.Repeat([]float32{1}, 26)
	scale[25] = 0
	if got := featureBlocks(narrow, network.Standardizer{Scale: scale}, true); !slices.Equal(got, []span{{0, 3}, {3, 23}, {23, 25}}) {
		t.Errorf("narrow ones: %v", got)
	}
	clear(scale[3:])
	if got := featureBlocks(narrow, network.Standardizer{Scale: scale}, true); got != nil {
		t.Errorf("one that varies: %v", got)
	}
}

// Features that are constant have no part in the variance of their block.
func TestBalanceOfConstantFeatures(t *testing.T) {
	for name, c := range map[string]struct {
		scale  []float32
		blocks []span
		want   []float64 // variances of the blocks
	}{
		"none": {[]float32{1, 1, 1, 1, 1, 1}, []span{{0, 2}, {2, 6}}, []float64{3, 3}},
		"some": {[]float32{1, 1, 1, 1, 0, 0}, []span{{0, 1}, {1, 6}}, []float64{2, 2}},
	} {
		balance(network.Standardizer{Scale: c.scale}, c.blocks)
		for i, b := range c.blocks {
			got := 0.0
			for _, v := range c.scale[b.from:b.to] {
				got += float64(v) * float64(v)
			}
			if !(math.Abs(got-c.want[i]) < 1e-6) {
				t.Errorf("%s: block %d has the variance %g, not %g", name, i, got, c.want[i])
			}
		}
	}
}

// blocksOfStructure is a table with a wide block of noise before the features that matter.
func blocksOfStructure(rows int, blocks string) *costs.Tensor {
	t := structured.tensor(rows, costs.Train, 3, true)
	noise := flat.tensor(rows*4, costs.Train, 4, true).Features
	var x []float32
	for n := range rows {
		x = append(append(x, noise[n*32:(n+1)*32]...), t.Features[n*8:(n+1)*8]...)
	}
	actions := *t.Actions
	actions.Features.Dim = 40
	t.Features, t.Dim, t.Actions = x, 40, &actions
	t.Meta = map[string]string{costs.BlocksKey: blocks}
	return t
}

// Every block has the same variance, and members see each alone. The exported graph is the policy, and blocks that are too
// small change no byte of it but the digest of the table.
func TestMembersOfBlocks(t *testing.T) {
	s := DefaultSettings()
	s.Networks, s.Ridge, s.Neighbours = nil, []float64{10, 1000}, []int{20, 100}
	train := func(blocks string) (*policy.Policy, Report, []byte) {
		policies, reports, err := Train(t.Context(), blocksOfStructure(1500, blocks), []float64{1}, s, models.Options{Runtime: orttest.Open(t, 0)})
		if err != nil {
			t.Fatal(err)
		}
		delete(policies[0].Info, policy.OriginKey) // a digest of the table, of which blocks are a part
		m, err := policies[0].Export()
		if err != nil {
			t.Fatal(err)
		}
		b, err := m.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return policies[0], reports[0], b
	}
	_, r, one := train("")
	for _, text := range []string{"[40]", "[36,4]", "[7,33]"} {
		if _, _, small := train(text); !bytes.Equal(one, small) {
			t.Errorf("blocks %s change the policy", text)
		}
	}
	p, blocks, _ := train("[32,8]")
	if len(r.Members) != 5 || len(blocks.Members) != 13 || blocks.Guard.Fallback {
		t.Fatalf("%d and %d members; %+v", len(r.Members), len(blocks.Members), blocks.Guard)
	}
	alone := 0.0
	for _, m := range blocks.Members {
		if strings.HasSuffix(m.Name, " of features 32 to 39") {
			alone += m.Weight
		}
	}
	if alone < 0.3 || blocks.Guard.Learned >= r.Guard.Learned {
		t.Errorf("members of the block that matters have the weight %.2f; %.4f is lost with blocks, %.4f without", alone, blocks.Guard.Learned, r.Guard.Learned)
	}
	checkExport(t, p, blocksOfStructure(200, "[32,8]"))
	tensor := blocksOfStructure(1500, "[32,8]")
	all := newTable(tensor, s)
	variance := make([]float64, 2)
	for n := range all.data.Len() {
		for c, v := range all.data.Row(n) {
			variance[c/32] += float64(v) * float64(v) / float64(all.data.Len())
		}
	}
	if math.Abs(variance[0]-20) > 1e-3 || math.Abs(variance[1]-20) > 1e-3 {
		t.Errorf("the blocks have the variances %v", variance)
	}
	if plain := network.FitStandardizer(tensor.Features, tensor.Dim, tensor.Rows(costs.Train)); plain.Scale[0] == all.std.Scale[0] {
		t.Error("the scale of the policy is that without blocks")
	}
}

// checkExport compares the file of a policy with its reference in Go.
func checkExport(t *testing.T, p *policy.Policy, on *costs.Tensor) {
	t.Helper()
	got, err := decider(t, p).Decide(t.Context(), on.Features, on.Len())
	if err != nil {
		t.Fatal(err)
	}
	scores := make([]float64, p.Actions.Len())
	for n := range on.Len() {
		if err := p.Scores(scores, on.Row(n)); err != nil {
			t.Fatal(err)
		}
		for i, v := range scores {
			if have := float64(got.Scores[n*len(scores)+i]); math.Abs(have-v) > 1e-4 {
				t.Fatalf("row %d, pair %d has the score %g in the file, %g in Go", n, i, have, v)
			}
		}
	}
}
