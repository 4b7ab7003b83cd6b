package ope

import (
	"fmt"
	"slices"

	"pipe/costs"
)

// rows are the decisions that count: the executed pair, its cost, and with which probability it was executed. N is their
// number, A that of the pairs.
type rows struct {
	file    string
	actions *costs.Actions // with the fees of all costs
	lambda  float64
	prices  string            // says which fees these are
	meta    map[string]string // of a tensor; nil: the rows are of a log
	dim     int
	timed   bool // there are times
	users   bool // there are users

	id       []string
	time     []int64 // N, microseconds since 1970
	user     []string
	loggers  []string // N, name@digest of the policy that decided; "" in a tensor
	features []float32
	executed []int
	loss     []float64 // N, with measured fees
	logged   []float64 // N x A, NaN where not known
	open     []bool    // N x A, pairs that could be chosen
	keep     []float64 // N, probability with which the row was kept
	delay    []float64 // N, seconds until the outcome came; NaN: not known

	missing []int // pairs of answered decisions without an outcome
	left    reasons
	notes   []string // on the log
}

// Left counts rows that were left out for one reason.
type Left struct {
	Reason string `json:"reason"`
	Rows   int    `json:"rows"`
}

// reasons count by reason, in the order of their first use.
type reasons []Left

func (r *reasons) add(n int, format string, args ...any) {
	if n == 0 {
		return
	}
	reason := fmt.Sprintf(format, args...)
	at := slices.IndexFunc(*r, func(l Left) bool { return l.Reason == reason })
	if at < 0 {
		at = len(*r)
		*r = append(*r, Left{Reason: reason})
	}
	(*r)[at].Rows += n
}

// text lists the reasons.
func (r reasons) text() string {
	text := ""
	for i, l := range r {
		if i > 0 {
			text += "; "
		}
		text += fmt.Sprintf("%d: %s", l.Rows, l.Reason)
	}
	return text
}

func (r *rows) len() int { return len(r.executed) }

func (r *rows) pairs() int { return r.actions.Len() }

// propensities are those of row n, a view.
func (r *rows) propensities(n int) []float64 { return r.logged[n*r.pairs() : (n+1)*r.pairs()] }

// may are the pairs that could be chosen on row n, a view.
func (r *rows) may(n int) []bool { return r.open[n*r.pairs() : (n+1)*r.pairs()] }

// cost is that of the executed pair.
func (r *rows) cost(n int, fees []float64) float64 { return r.loss[n] + fees[r.executed[n]] }

// keepOnly leaves out the other rows.
func (r *rows) keepOnly(keep []bool) {
	a := r.pairs()
	r.id, r.time, r.user, r.loggers = kept(r.id, keep, 1), kept(r.time, keep, 1), kept(r.user, keep, 1), kept(r.loggers, keep, 1)
	r.features, r.executed, r.loss = kept(r.features, keep, r.dim), kept(r.executed, keep, 1), kept(r.loss, keep, 1)
	r.logged, r.open, r.keep, r.delay = kept(r.logged, keep, a), kept(r.open, keep, a), kept(r.keep, keep, 1), kept(r.delay, keep, 1)
}

// kept moves the kept rows to the front.
func kept[T any](values []T, keep []bool, width int) []T {
	to := 0
	for n, ok := range keep {
		if ok {
			copy(values[to*width:(to+1)*width], values[n*width:(n+1)*width])
			to++
		}
	}
	return values[:to*width]
}

// leaveOut leaves out the rows for which out is true, for a reason.
func (r *rows) leaveOut(reason string, out func(n int) bool) {
	keep, gone := make([]bool, r.len()), 0
	for n := range keep {
		if keep[n] = !out(n); !keep[n] {
			gone++
		}
	}
	if gone > 0 {
		r.keepOnly(keep)
		r.left.add(gone, "%s", reason)
	}
}

// clusters number the rows that were drawn together: those of a user, else each row.
func (r *rows) clusters() []int {
	if !r.users {
		return nil
	}
	keys := make([]string, r.len())
	for n, user := range r.user {
		if keys[n] = "user " + user; user == "" {
			keys[n] = "row " + r.id[n]
		}
	}
	return costs.Numbered(keys)
}

// sort puts the rows in the order of their times, if they have such.
func (r *rows) sort() {
	if !r.timed || slices.IsSorted(r.time) {
		return
	}
	order := make([]int, r.len())
	for n := range order {
		order[n] = n
	}
	slices.SortStableFunc(order, func(a, b int) int { return int(min(1, max(-1, r.time[a]-r.time[b]))) })
	a := r.pairs()
	r.id, r.time, r.user, r.loggers = moved(r.id, order, 1), moved(r.time, order, 1), moved(r.user, order, 1), moved(r.loggers, order, 1)
	r.features, r.executed, r.loss = moved(r.features, order, r.dim), moved(r.executed, order, 1), moved(r.loss, order, 1)
	r.logged, r.open, r.keep, r.delay = moved(r.logged, order, a), moved(r.open, order, a), moved(r.keep, order, 1), moved(r.delay, order, 1)
}

func moved[T any](values []T, order []int, width int) []T {
	out := make([]T, 0, len(values))
	for _, n := range order {
		out = append(out, values[n*width:(n+1)*width]...)
	}
	return out
}
