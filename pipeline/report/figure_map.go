package report

import (
	"fmt"
	"slices"

	"pipe/internal/lists"
	"pipe/pipeline/report/figure"
)

// The file name of decisions, and how those of maps begin.
const (
	decisionsName = "decisions"
	mapName       = "map"
)

// DecisionMap has the decisions of one policy on the square [-1,1]^2: Size x Size cells, the first row at the bottom
// and the first column at the left; Action[row*Size+column] is the action at the centre of that cell.
type DecisionMap struct {
	Title  string
	Size   int
	Action []int
}

// CellCentre returns the coordinate of the centre of cell i of size cells over [-1,1].
func CellCentre(i, size int) float64 { return -1 + (2*float64(i)+1)/float64(size) }

// DecisionFigure shows the maps side by side; names are the pairs by action index, at most figure.Most. A dashed line marks x_1 = 0,
// where the law of the synthetic benchmark changes.
func DecisionFigure(maps []DecisionMap, names []string) (*figure.Figure, error) {
	if len(names) > figure.Most {
		return nil, fmt.Errorf("draw decision maps: %d pairs, a figure has at most %d", len(names), figure.Most)
	}
	for _, m := range maps {
		if len(m.Action) != m.Size*m.Size || m.Size == 0 {
			return nil, fmt.Errorf("draw decision map %q: %d cells, %d x %d expected", m.Title, len(m.Action), m.Size, m.Size)
		}
		if i := slices.Max(m.Action); i >= len(names) || slices.Min(m.Action) < 0 {
			return nil, fmt.Errorf("draw decision map %q: action %d outside the %d pairs", m.Title, i, len(names))
		}
	}
	return &figure.Figure{
		Name: decisionsName, Title: "The pair that each method chooses, over the square of inputs",
		About: "A square per method, in the colours of the pairs that it chooses.",
		Note:  "The decisions of one seed, on a grid of points. The dashed line is where the cost table changes.",
		Body: &figure.Tiles{
			X: "x_1", Y: "x_2", Keys: names, Border: true,
			Panels: lists.Each(maps, func(m DecisionMap) figure.Panel { return figure.Panel{Title: m.Title, Size: m.Size, Kind: m.Action} }),
		},
	}, nil
}

// PairMap has rows in a plane, and the pair that a policy chose for each.
type PairMap struct {
	Method   string
	Lambda   float64
	Rows     int     // reported rows; the points are some of them
	Held     float64 // share of the variance of the features that the plane holds
	Features bool    // the plane is that of the only two features
	Points   [][2]float64
	Pairs    []string // the pair of every point
	Order    []string // all pairs in the order of other figures, so that they have the same colours
}

// Figure is the map as a figure; nil if all points have one pair.
func (m *PairMap) Figure() *figure.Figure {
	u := use{}
	for _, p := range m.Order {
		u.add(m.Lambda, p, "", 0)
	}
	for _, p := range m.Pairs {
		u.add(m.Lambda, p, "", 1)
	}
	u.pairs = u.used()
	if len(u.pairs) < 2 {
		return nil
	}
	shown, others := shownPairs(u.pairs)
	p := &figure.Plot{Quiet: !m.Features, X: figure.Axis{Label: "first component"}, Y: figure.Axis{Label: "second component"}}
	note := fmt.Sprintf("%d of %d rows. The components are the two directions in which the features vary most; they hold %.0f%% of the variance. Rows that are close here can differ in the rest.", len(m.Points), m.Rows, 100*m.Held)
	if m.Features {
		p.X.Label, p.Y.Label = "feature 1", "feature 2"
		note = fmt.Sprintf("%d of %d rows, at their two features.", len(m.Points), m.Rows)
	}
	if len(others) > 0 {
		p.Series = append(p.Series, m.series(figure.Others, others))
		p.Series[0].Rest = true
	}
	for _, s := range shown {
		p.Series = append(p.Series, m.series(s.expert, []usedPair{s}))
	}
	return &figure.Figure{
		Name: mapName + "_" + m.Method, Title: fmt.Sprintf("Map of the rows: the pair that %s chooses at lambda %s", m.Method, fixed(m.Lambda, -1)), Body: p, Note: note,
		About: "A point per row in a plane of the features, with the marker of the pair that the policy chooses for it.",
	}
}

// series are the points of some pairs.
func (m *PairMap) series(name string, pairs []usedPair) figure.Series {
	s := figure.Series{Name: name, Small: true}
	for i, at := range m.Points {
		if slices.ContainsFunc(pairs, func(p usedPair) bool { return p.expert == m.Pairs[i] }) {
			s.Points = append(s.Points, figure.Point{X: at[0], Y: at[1]})
		}
	}
	return s
}
