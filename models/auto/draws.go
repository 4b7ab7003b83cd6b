package auto

import (
	"context"
	"fmt"

	"pipe/models"
	"pipe/models/regress"
)

// mostDraws bounds the draws of folds for a verdict of the guard that is close. A draw of an inner split fits networks
// and trees anew, so there are fewer.
const (
	mostDraws      = 10
	mostInnerDraws = 3
)

// draw is a table with folds, and the members that were fitted on them.
type draw struct {
	*table
	members *members
}

// draws are the first draw of folds, and what further ones need.
type draws struct {
	first draw
	s     Settings
	o     models.Options
}

// most is the number of draws for a close verdict.
func (d draws) most() int {
	if len(d.first.folds) == 1 {
		return mostInnerDraws
	}
	return mostDraws
}

// again fits the members on the folds of another draw. Networks and trees, which take most of the time, keep what they
// estimated for a row, if they did: it was left out there too.
func (d draw) again(ctx context.Context, number int, s Settings, o models.Options) (draw, error) {
	next := draw{d.table.drawn(s, number), new(members)}
	if say := o.Stage; say != nil {
		o.Stage = func(name string, steps int) { say(fmt.Sprintf("close verdict, draw %d: %s", number+1, name), steps) }
	}
	if next.usage != nil {
		if err := next.usage.crossFit(ctx, next.table); err != nil {
			return next, err
		}
	}
	from := 0
	for _, f := range d.members.families {
		estimates := d.members.estimates[from : from+len(f.Members())]
		from += len(f.Members())
		if err := d.refit(ctx, next, f, estimates, stage(o, fmt.Sprintf("draw-%d", number+1))); err != nil {
			return next, err
		}
	}
	next.estimated(next.members.plain())
	return next, nil
}

// refit adds a family to another draw: its estimates of this one, if they can be kept, or new ones.
func (d draw) refit(ctx context.Context, next draw, f regress.Family, estimates [][]float32, o models.Options) error {
	networks, isNetworks := f.(regress.Networks)
	_, isTrees := f.(regress.Trees)
	if isNetworks || isTrees {
		if kept, ok := d.kept(next.table, estimates); ok {
			next.members.append(f, [][][]float32{kept})
			return nil
		}
	}
	if isNetworks {
		networks.Options.Save = o.Save
		return next.members.addNetworks(ctx, next.table, networks, o)
	}
	return next.members.add(ctx, next.table, f, o)
}

// kept are estimates of this draw for the held-out rows of another one; false if some of these were not held out here.
func (d draw) kept(other *table, estimates [][]float32) (out [][]float32, ok bool) {
	at := make(map[int]int, len(d.held))
	for n, row := range d.held {
		at[row] = n
	}
	pairs := d.data.Pairs
	for _, e := range estimates {
		own := make([]float32, 0, len(other.held)*pairs)
		for _, row := range other.held {
			n, held := at[row]
			if !held {
				return nil, false
			}
			own = append(own, e[n*pairs:(n+1)*pairs]...)
		}
		out = append(out, own)
	}
	return out, true
}
