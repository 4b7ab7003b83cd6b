package findings

import (
	"context"
	"math/rand/v2"

	"pipe/costs"
	"pipe/pipeline/report"
)

// shares are the parts of the training rows that a learning curve has policies from, and draws how many of each.
var shares = []struct {
	part, draws int // a part of 8 eighths
}{{1, 3}, {2, 3}, {4, 3}, {8, 1}}

// LearningRuns is the number of trainings of a learning curve.
func LearningRuns() (n int) {
	for _, s := range shares {
		n += s.draws
	}
	return n
}

// Learn trains on the rows of a tensor and returns, for every lambda, the decisions on the reported rows. ok is false if the
// rows are too few.
type Learn func(ctx context.Context, t *costs.Tensor) (actions [][]int, ok bool, err error)

// Learning is the learning curve at every lambda: policies from an eighth, a quarter, a half and all of the training rows.
// The parts of one draw are nested, and keep rows that belong together on one side. method names what learns.
func (e *Evidence) Learning(ctx context.Context, lambdas []float64, method string, learn Learn) ([]report.Learning, error) {
	curves := make([]curve, len(lambdas))
	orders := e.orders()
	for _, s := range shares {
		points := make([]point, len(lambdas))
		for draw := range s.draws {
			rows := e.taken(orders[draw], s.part)
			actions, ok, err := learn(ctx, e.Tensor.Subset(rows))
			if err != nil {
				return nil, err
			}
			if !ok {
				points = nil
				break
			}
			for i, lambda := range lambdas {
				points[i].add(len(rows), e.paid(actions[i], lambda).cost, float64(s.draws))
			}
		}
		for i, p := range points {
			p.draws = s.draws
			curves[i].points = append(curves[i].points, p)
		}
	}
	var out []report.Learning
	for i, lambda := range lambdas {
		l := report.Learning{Lambda: lambda, Method: method, Rows: len(e.Rows)}
		if err := e.draw(&l, curves[i].points); err != nil {
			return nil, err
		}
		if len(l.Points) > 0 {
			out = append(out, l)
		}
	}
	return out, nil
}

// curve is what policies from parts of the training rows cost.
type curve struct{ points []point }

// point is the mean over the draws of one part.
type point struct {
	rows, draws int
	cost        []float64 // per reported row
}

func (p *point) add(rows int, cost []float64, draws float64) {
	if p.cost == nil {
		p.cost = make([]float64, len(cost))
	}
	p.rows = rows
	for k, v := range cost {
		p.cost[k] += v / draws
	}
}

// draw turns costs per row into means with intervals.
func (e *Evidence) draw(l *report.Learning, points []point) error {
	var series [][]float64
	for _, p := range points {
		series = append(series, p.cost)
	}
	if n := len(points); n > 1 {
		series = append(series, minus(points[n-1].cost, points[n-2].cost))
	}
	all, err := e.intervals(series...)
	if err != nil || all == nil {
		return err
	}
	for i, p := range points {
		l.Points = append(l.Points, report.LearningPoint{Rows: p.rows, Draws: p.draws, Cost: all[i]})
	}
	if len(all) > len(points) {
		l.Doubling = &all[len(points)]
	}
	return nil
}

// order is the training rows, set by set, in the order of a draw.
type order [][]int

// orders are those of all draws.
func (e *Evidence) orders() []order {
	together := e.Tensor.Clusters(e.Train)
	sets := make([][]int, together.Len())
	for i, n := range e.Train {
		sets[together.Of[i]] = append(sets[together.Of[i]], n)
	}
	out := make([]order, shares[0].draws)
	for draw := range out {
		r := rand.New(rand.NewPCG(e.Seed+uint64(draw), 0x6c6561726e))
		for _, i := range r.Perm(len(sets)) {
			out[draw] = append(out[draw], sets[i])
		}
	}
	return out
}

// taken are the first sets of an order: as few as have the given number of eighths of the rows.
func (e *Evidence) taken(o order, eighths int) []int {
	if eighths == 8 {
		return e.Train
	}
	var rows []int
	for _, set := range o {
		if 8*len(rows) >= eighths*len(e.Train) {
			break
		}
		rows = append(rows, set...)
	}
	return rows
}
