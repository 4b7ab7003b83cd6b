package pipeline_test

import (
	"slices"
	"testing"

	"pipe/onnx/ort/orttest"
)

func TestZZ(t *testing.T) {
	rt := orttest.Open(t, 0)
	for _, n := range []string{"import-frugalml-digit.yaml", "import-frugalml-yelp.yaml", "import-frugalml-waimai.yaml", "import-cifar10.yaml"} {
		table := realTable(t, n)
		pool := halve(table, 1)
		p := cascadeOn(t, rt, table, pool)
		two := 0
		loss := 0.0
		for i, o := range p.Order {
			two += len(o) - 1
			loss += p.Loss[i]
		}
		e := slices.Clone(p.Expected)
		slices.Sort(e)
		slices.Sort(e)
		k := len(e)
		t.Log(n, k, float64(two)/float64(k), loss/float64(k), e[k/10], e[k/2], e[k*9/10], len(slices.Compact(e)))
	}
}
