package costs

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pipe/internal/judge"
	"pipe/internal/realdata"
)

// TestSplitNumberIsFixed compares with numbers that the program in docs/splits.md printed.
func TestSplitNumberIsFixed(t *testing.T) {
	for _, c := range []struct {
		seed      uint64
		kind, key string
		want      float64
	}{
		{0, "id", "1", 0.3757773710652935},
		{0, "group", "1", 0.41694126393625075},
		{1, "id", "1", 0.532068031975269},
		{18446744073709551615, "id", "train-000000", 0.7483503713181502},
		{7, "group", "пользователь 3", 0.6561704820771815},
		{0, "id", "", 0.10396816377073459},
	} {
		if got := splitNumber(c.seed, c.kind, c.key); got != c.want {
			t.Errorf("seed %d, %s %q: %v, want %v", c.seed, c.kind, c.key, got, c.want)
		}
	}
}

// hashCase is one split that both programs compute.
type hashCase struct {
	Key        string  `json:"key"`
	Seed       uint64  `json:"seed"`
	Validation float64 `json:"validation"`
	Test       float64 `json:"test"`
	Kind       string  `json:"kind"`
}

// TestDocumentedProgramDrawsTheSameSplits runs the Python of docs/splits.md.
func TestDocumentedProgramDrawsTheSameSplits(t *testing.T) {
	py := judge.Python(t, "hashlib")
	text, err := os.ReadFile(filepath.Join(realdata.Root(t), "docs", "splits.md"))
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile("(?s)```python\n(.*?)```").FindSubmatch(text)
	if code == nil {
		t.Fatal("docs/splits.md has no program")
	}
	r := rand.New(rand.NewPCG(1, 2))
	var cases []hashCase
	var want strings.Builder
	for n := range 5000 {
		c := hashCase{Key: fmt.Sprintf("ключ\x00 %d", r.Uint64()>>r.IntN(64)), Seed: r.Uint64() >> r.IntN(64), Kind: []string{"id", "group"}[n%2]}
		c.Validation, c.Test = r.Float64()/2, r.Float64()/2
		cases = append(cases, c)
		d := SplitDraw{Kind: SplitHash, Validation: c.Validation, Test: c.Test, Seed: c.Seed}
		keys, groups := []string{c.Key}, []string(nil)
		if c.Kind == "group" {
			keys, groups = []string{"other"}, keys
		}
		fmt.Fprintln(&want, d.hashed(keys, groups)[0])
	}
	list, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "cases.json"), list, 0o666); err != nil {
		t.Fatal(err)
	}
	got := judge.Run(t, py, dir, string(code[1])+"\nimport json\nfor c in json.load(open('cases.json', encoding='utf-8')): print(split(**c))\n")
	if got != want.String() {
		t.Error("the splits differ")
	}
}

// drawnSplit draws the settings of a split by hash.
func drawnSplit(t *rapid.T) SplitDraw {
	return SplitDraw{
		Kind: SplitHash, Seed: rapid.Uint64().Draw(t, "seed"),
		Validation: rapid.Float64Range(0.05, 0.45).Draw(t, "validation"), Test: rapid.Float64Range(0, 0.45).Draw(t, "test"),
	}
}

// TestHashedSplitsOutliveOtherRows: whatever is appended, left out or reordered,
// a row keeps its split, and a group is never divided.
func TestHashedSplitsOutliveOtherRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawnSplit(t)
		n := rapid.IntRange(1, 200).Draw(t, "rows")
		ids, groups := make([]string, n), make([]string, n)
		for i := range ids {
			ids[i], groups[i] = fmt.Sprint("row ", i), fmt.Sprint("user ", rapid.IntRange(0, 60).Draw(t, "user"))
		}
		if rapid.Bool().Draw(t, "no groups") {
			groups = nil
		}
		some := rapid.SliceOfNDistinct(rapid.IntRange(0, n-1), 0, n, rapid.ID[int]).Draw(t, "some")
		all, part := d.hashed(ids, groups), d.hashed(pick(ids, some, 1), pick(groups, some, 1))
		for i, row := range some {
			if part[i] != all[row] {
				t.Fatalf("%s is %v among %d rows and %v among %d", ids[row], part[i], len(some), all[row], n)
			}
		}
		side := make(map[string]Split)
		for i, g := range groups {
			if s, ok := side[g]; ok && s != all[i] {
				t.Fatalf("%s is divided", g)
			}
			side[g] = all[i]
		}
	})
}

// TestSharesHoldOnAverage: 20,000 rows are within five standard deviations of
// their shares, and seeds draw independently of each other.
func TestSharesHoldOnAverage(t *testing.T) {
	const n = 20_000
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprint(i)
	}
	near := func(what string, count int, p float64) {
		if sd := math.Sqrt(n * p * (1 - p)); math.Abs(float64(count)-n*p) > 5*sd {
			t.Errorf("%s: %d rows, expected %.0f give or take %.0f", what, count, n*p, sd)
		}
	}
	d := SplitDraw{Kind: SplitHash, Validation: 0.25, Test: 0.1}
	first := d.hashed(ids, nil)
	for seed := range uint64(20) {
		d.Seed = seed + 1
		next, count, both := d.hashed(ids, nil), [3]int{}, 0
		for i, s := range next {
			count[s]++
			if s == Val && first[i] == Val {
				both++
			}
		}
		near("val", count[Val], 0.25)
		near("test", count[Test], 0.1)
		near("val under two seeds", both, 0.25*0.25)
		first = next
	}
}

// TestSharesThatGrowTakeTrainingRowsOnly.
func TestSharesThatGrowTakeTrainingRowsOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		small := drawnSplit(t)
		large := small
		large.Validation += rapid.Float64Range(0, 0.04).Draw(t, "more validation")
		large.Test += rapid.Float64Range(0, 0.04).Draw(t, "more test")
		ids := make([]string, 300)
		for i := range ids {
			ids[i] = fmt.Sprint(rapid.Uint32().Draw(t, "id"))
		}
		before, after := small.hashed(ids, nil), large.hashed(ids, nil)
		for i := range ids {
			if before[i] != Train && after[i] != before[i] {
				t.Fatalf("a row of %v became one of %v", before[i], after[i])
			}
		}
	})
}

// TestEmptySplitsAreErrors: the error names the share that gets no row, and a remedy.
func TestEmptySplitsAreErrors(t *testing.T) {
	ids := []string{"a", "b", "c"}
	for name, c := range map[string]struct {
		d      SplitDraw
		groups []string
		want   string
	}{
		"few rows":     {SplitDraw{Kind: SplitHash, Validation: 0.001}, nil, "kind hash leaves none of 3 rows to val, whose share is 0.001; more rows are needed, another share, another seed, or kind stratified"},
		"few to train": {SplitDraw{Kind: SplitHash, Validation: 0.999}, nil, "leaves none of 3 rows to train"},
		"one group":    {SplitDraw{Kind: SplitHash, Validation: 0.5}, []string{"u", "u", "u"}, "of 3 rows in 1 groups"},
		"exact":        {SplitDraw{Kind: SplitStratified, Validation: 0.1}, nil, "kind stratified leaves none of 3 rows to val, whose share is 0.1; more rows are needed, or another share"},
		"filled":       {SplitDraw{Kind: SplitRandom, Validation: 0.4}, nil, ""},
		"no share":     {SplitDraw{Kind: SplitRandom}, nil, ""},
	} {
		_, err := c.d.Draw(ids, nil, c.groups)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// TestGroupsAreWholeUnderEveryKind.
func TestGroupsAreWholeUnderEveryKind(t *testing.T) {
	var ids, labels, groups []string
	for i := range 400 {
		ids, labels, groups = append(ids, fmt.Sprint(i)), append(labels, fmt.Sprint(i%3)), append(groups, fmt.Sprint("user ", i%90))
	}
	for _, kind := range []string{SplitHash, SplitStratified, SplitRandom} {
		splits, err := SplitDraw{Kind: kind, Validation: 0.25, Test: 0.2, Seed: 3}.Draw(ids, labels, groups)
		if err != nil {
			t.Fatal(err)
		}
		if n, divided := CountGroups(groups, splits); n != 90 || divided != 0 {
			t.Errorf("%s: %d groups, %d divided", kind, n, divided)
		}
		if !slices.Contains(splits, Test) {
			t.Errorf("%s: no test rows", kind)
		}
	}
	if n, divided := CountGroups([]string{"a", "a", "b"}, []Split{Train, Val, Val}); n != 2 || divided != 1 {
		t.Errorf("%d groups, %d divided; want 2 and 1", n, divided)
	}
}
