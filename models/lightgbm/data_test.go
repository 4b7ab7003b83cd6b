package lightgbm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// set is a synthetic training set.
type set struct {
	matrix
	label []float32
}

// made draws rows of mixed columns: every third one complete, every third with NaN, every third the code of a category,
// without codes 0 and 3.
func made(rows, cols int, seed uint64) set {
	r := rand.New(rand.NewPCG(seed, 1))
	s := set{matrix{make([]float32, rows*cols), rows, cols}, make([]float32, rows)}
	codes := []float32{1, 2, 4, 5, 6, 7}
	for i := range rows {
		row := s.row(i)
		score := 0.3 * r.NormFloat64()
		for j := range row {
			v := float32(r.NormFloat64())
			switch j % 3 {
			case 1:
				if r.IntN(3) == 0 {
					v = float32(math.NaN())
				}
			case 2:
				v = codes[r.IntN(len(codes))]
			}
			row[j] = v
			if j < 6 && v > 0.5 {
				score += 0.5
			}
		}
		if score > 1 {
			s.label[i] = 1
		}
	}
	return s
}

// awkward are values at the edges of float32 and of LightGBM's zero.
func awkward() []float32 {
	list := []float32{
		0, float32(math.Copysign(0, -1)), float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)),
		math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32, 1e-38, -1e-38,
	}
	for _, v := range []float32{float32(tiny), -float32(tiny)} {
		list = append(list, v, neighbour(v, 1), neighbour(v, -1))
	}
	return list
}

func neighbour(v float32, way int) float32 { return math.Nextafter32(v, float32(math.Inf(way))) }

// hostile are difficult rows for a model. Each column has the values of seen (if there are any), awkward ones, and
// float32 values around each of its thresholds.
func hostile(m *Model, rows int, seen *matrix, seed uint64) matrix {
	r := rand.New(rand.NewPCG(seed, 2))
	values := make([][]float32, m.Columns)
	for _, t := range m.Trees {
		for _, s := range t.Splits {
			v := float32(s.Threshold)
			values[s.Column] = append(values[s.Column], v, neighbour(v, 1), neighbour(v, -1))
		}
	}
	out := matrix{make([]float32, rows*m.Columns), rows, m.Columns}
	edges := awkward()
	for i := range rows {
		row := out.row(i)
		for j := range row {
			switch kind := r.IntN(8); {
			case kind < 3 && seen != nil:
				row[j] = seen.row(r.IntN(seen.rows))[j]
			case kind < 6 && len(values[j]) > 0:
				row[j] = values[j][r.IntN(len(values[j]))]
			case kind == 6:
				row[j] = float32(r.IntN(12)) - 2 // codes, also unseen ones
			default:
				row[j] = edges[r.IntN(len(edges))]
			}
		}
	}
	return out
}

// grown is a random model: it has any thresholds, also within LightGBM's zero, and every kind of missing values that
// can be exported.
func grown(r *rand.Rand, trees, leaves, columns int) *Model {
	m := &Model{Columns: columns, Sigmoid: 1}
	for range trees {
		m.Trees = append(m.Trees, grownTree(r, 1+r.IntN(leaves), columns))
	}
	return m
}

// grownTree splits a random leaf as often as needed, in LightGBM's layout.
func grownTree(r *rand.Rand, leaves, columns int) Tree {
	t := Tree{Leaves: []float64{r.NormFloat64()}}
	parent := []*int{nil} // for every leaf, the place of its index
	t.Splits = make([]Split, 0, leaves)
	for n := range leaves - 1 {
		at := r.IntN(len(t.Leaves))
		s := Split{Column: r.IntN(columns), Threshold: grownThreshold(r), Missing: Missing(r.IntN(3)), DefaultLeft: r.IntN(2) == 0}
		if s.Missing == MissingZero {
			s.DefaultLeft = 0 <= s.Threshold
		}
		s.Left, s.Right = ^at, ^len(t.Leaves)
		t.Splits = append(t.Splits, s)
		if parent[at] != nil {
			*parent[at] = n
		}
		parent[at] = &t.Splits[n].Left
		parent = append(parent, &t.Splits[n].Right)
		t.Leaves = append(t.Leaves, r.NormFloat64())
	}
	return t
}

func grownThreshold(r *rand.Rand) float64 {
	special := []float64{
		0, tiny, -tiny, 1e-35, -1e-35, 1e-36, -1e-36, 1e-300, -1e-300, 1e300, -1e300, 1e-34, -1e-34, 0.1, -0.1, 1,
		math.MaxFloat32, -math.MaxFloat32, math.Inf(1), math.Inf(-1),
	}
	if r.IntN(2) == 0 {
		return special[r.IntN(len(special))]
	}
	return r.NormFloat64()
}

// text writes a model as LightGBM would.
func (m *Model) text() string {
	var b strings.Builder
	names := make([]string, m.Columns)
	infos := make([]string, m.Columns)
	for i := range names {
		names[i], infos[i] = fmt.Sprintf("c%d", i), "[-1:1]"
	}
	fmt.Fprintf(&b, "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx=%d\n", m.Columns-1)
	fmt.Fprintf(&b, "objective=binary sigmoid:%g\nfeature_names=%s\nfeature_infos=%s\n", m.Sigmoid, strings.Join(names, " "), strings.Join(infos, " "))
	trees, sizes := make([]string, len(m.Trees)), make([]string, len(m.Trees))
	for i := range m.Trees {
		trees[i] = m.Trees[i].text(i)
		sizes[i] = fmt.Sprint(len(trees[i]))
	}
	fmt.Fprintf(&b, "tree_sizes=%s\n\n%send of trees\n\n", strings.Join(sizes, " "), strings.Join(trees, ""))
	return b.String()
}

func (t *Tree) text(number int) string {
	words := map[string][]string{}
	add := func(name string, v any) { words[name] = append(words[name], fmt.Sprint(v)) }
	for _, s := range t.Splits {
		decision := int(s.Missing) << shiftMissing
		if s.DefaultLeft {
			decision |= bitDefaultLeft
		}
		add("split_feature", s.Column)
		add("threshold", strings.ToLower(fmt.Sprint(s.Threshold)))
		add("decision_type", decision)
		add("left_child", s.Left)
		add("right_child", s.Right)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Tree=%d\nnum_leaves=%d\nnum_cat=0\n", number, len(t.Leaves))
	for _, name := range []string{"split_feature", "threshold", "decision_type", "left_child", "right_child"} {
		fmt.Fprintf(&b, "%s=%s\n", name, strings.Join(words[name], " "))
	}
	leaves := fmt.Sprint(t.Leaves)
	fmt.Fprintf(&b, "leaf_value=%s\nis_linear=0\nshrinkage=1\n\n\n", strings.Trim(leaves, "[]"))
	return b.String()
}

// fit trains on s and returns the booster and the model parsed from its text.
func fit(t testing.TB, l *Library, s set, p Params) (*Booster, *Model) {
	t.Helper()
	b, err := l.Train(t.Context(), s.x, s.rows, s.cols, s.label, nil, p, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	text, err := b.Text()
	if err != nil {
		t.Fatal(err)
	}
	m, err := ParseModel([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return b, m
}

// testParams train quickly, also while other tests run: OpenMP threads that wait for each other on busy cores take ten
// times as long.
func testParams() Params {
	p := DefaultParams()
	p.Rounds, p.Threads, p.MinLeaf = 20, 1, 5
	return p
}
