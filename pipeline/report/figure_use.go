package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"pipe/internal/lists"
	"pipe/pipeline/report/figure"
)

// The beginnings of the file names of these figures.
const (
	pairsName = "pairs"
	flowName  = "flow"
)

// use is how often something uses each pair, at each lambda.
type use struct {
	who, verb string
	lambdas   []float64
	pairs     []usedPair
}

// usedPair is a pair with its share of the rows at each lambda.
type usedPair struct {
	expert, advice string
	share          []float64
}

func (p usedPair) name() string {
	if p.advice == "" {
		return p.expert
	}
	return p.expert + "/" + p.advice
}

func (p usedPair) sum() (s float64) {
	for _, v := range p.share {
		if v == v {
			s += v
		}
	}
	return s
}

// advising are the methods whose use of pairs is drawn: those that the verdicts are about, or else the first.
func (r *Report) advising() []string {
	var names []string
	for _, v := range r.Verdict {
		if v.Method != "" && !slices.Contains(names, v.Method) && slices.ContainsFunc(r.Distribution, func(d AdviceShares) bool { return d.Method == v.Method }) {
			names = append(names, v.Method)
		}
	}
	if names == nil && len(r.Distribution) > 0 {
		names = []string{r.Distribution[0].Method}
	}
	return names
}

// useOf is how often a method chooses each pair.
func (r *Report) useOf(method string) use {
	u := use{who: method, verb: "chosen by"}
	for _, d := range r.Distribution {
		if d.Method != method || d.Expert == "" {
			continue
		}
		for k, advice := range d.Advice {
			u.add(d.Lambda, d.Expert, advice, d.Routed*d.Share[k])
		}
	}
	return u
}

// acceptedUse is how often the cascades accept the answer of each pair. Only one cascade per lambda has a place in the figure.
func (r *Report) acceptedUse() use {
	u := use{who: "the cascade", verb: "whose answer is accepted by"}
	for _, c := range r.Cascades {
		if slices.Contains(u.lambdas, c.Lambda) {
			continue
		}
		for _, p := range c.Pairs {
			u.add(c.Lambda, p.Pair, "", p.Accepted)
		}
	}
	return u
}

// add adds a share. A pair that is not mentioned at a lambda is not used there.
func (u *use) add(lambda float64, expert, advice string, share float64) {
	if !slices.Contains(u.lambdas, lambda) {
		u.lambdas = append(u.lambdas, lambda)
		for i := range u.pairs {
			u.pairs[i].share = append(u.pairs[i].share, 0)
		}
	}
	i := slices.IndexFunc(u.pairs, func(p usedPair) bool { return p.expert == expert && p.advice == advice })
	if i < 0 {
		i = len(u.pairs)
		u.pairs = append(u.pairs, usedPair{expert, advice, make([]float64, len(u.lambdas))})
	}
	u.pairs[i].share[slices.Index(u.lambdas, lambda)] += share
}

// used are the pairs that are used at all.
func (u *use) used() []usedPair {
	return lists.Keep(u.pairs, func(p usedPair) bool { return p.sum() > 0 })
}

// pairsFigure is the share of every pair at each lambda, as a stacked bar; nil if there is one pair or one lambda.
func pairsFigure(u use, ofRows string) *figure.Figure {
	pairs := u.used()
	if len(pairs) < 2 || len(u.lambdas) < 2 {
		return nil
	}
	keys, others := shownPairs(pairs)
	stack := &figure.Stack{
		X: figure.Axis{Label: "lambda, the price of advice"}, Y: figure.Axis{Label: "share of the rows", Format: figure.Whole},
		Keys: lists.Each(keys, func(p usedPair) figure.Key { return figure.Key{Name: p.name()} }),
	}
	if len(others) > 0 {
		stack.Keys = append(stack.Keys, figure.Key{Name: figure.Others, Colour: figure.Rest})
	}
	order := slices.Clone(u.lambdas)
	slices.Sort(order)
	for _, l := range order {
		at := slices.Index(u.lambdas, l)
		bar := figure.Bar{About: "lambda " + fixed(l, -1)}
		for _, p := range keys {
			bar.Parts = append(bar.Parts, p.share[at])
			bar.About += fmt.Sprintf("; %s %.1f%%", p.name(), 100*p.share[at])
		}
		if len(others) > 0 {
			rest := 0.0
			for _, p := range others {
				rest += p.share[at]
			}
			bar.Parts = append(bar.Parts, rest)
		}
		stack.Bars = append(stack.Bars, bar)
	}
	stack.X.Names = lambdaNames(order)
	note := ofRows + fmt.Sprintf("Shares of the rows by pair, %s %s.", u.verb, u.who)
	if len(others) > 0 {
		note += fmt.Sprintf(" Others are %d pairs that are used less.", len(others))
	}
	name := pairsName + "_" + u.who
	if u.who == "the cascade" {
		name = pairsName + "_cascade"
	}
	return &figure.Figure{
		Name: name, Title: fmt.Sprintf("Share of every pair %s %s, by lambda", u.verb, u.who), Note: note, Body: stack,
		About: "A bar per lambda, made of the shares of the pairs.",
	}
}

// shownPairs are the pairs that a figure has, in their order, and those that become others.
func shownPairs(pairs []usedPair) (shown, others []usedPair) {
	if len(pairs) <= figure.Most {
		return pairs, nil
	}
	order := slices.Clone(pairs)
	slices.SortStableFunc(order, func(a, b usedPair) int { return cmp.Compare(b.sum(), a.sum()) })
	least := order[figure.Most-2]
	for _, p := range pairs {
		if len(shown) < figure.Most-1 && (p.sum() > least.sum() || slices.ContainsFunc(order[:figure.Most-1], func(o usedPair) bool { return o.name() == p.name() })) {
			shown = append(shown, p)
		} else {
			others = append(others, p)
		}
	}
	return shown, others
}

// flowFigure is the way of the rows to experts and from there to advice, at one lambda; nil if all rows go one way.
func flowFigure(u use, ofRows string) *figure.Figure {
	at := slices.Index(u.lambdas, MiddleLambda(u.lambdas))
	if at < 0 {
		return nil
	}
	taken := lists.Keep(u.pairs, func(p usedPair) bool { return p.share[at] > 0 })
	if len(taken) < 2 {
		return nil
	}
	experts := grouped(taken, at, func(p usedPair) string { return p.expert })
	advice := grouped(taken, at, func(p usedPair) string { return p.advice })
	f := &figure.Flow{Columns: [][]figure.Node{{{Name: "all rows", Colour: -1}}, nil, nil}}
	for i, e := range experts {
		f.Columns[1] = append(f.Columns[1], figure.Node{Name: e, Colour: i})
		if e == figure.Others {
			f.Columns[1][i].Colour = -1
		}
	}
	for _, a := range advice {
		f.Columns[2] = append(f.Columns[2], figure.Node{Name: a, Colour: -1})
	}
	shares := make([][]float64, len(experts))
	for i := range shares {
		shares[i] = make([]float64, len(advice))
	}
	for _, p := range taken {
		shares[placeOf(experts, p.expert)][placeOf(advice, p.advice)] += p.share[at]
	}
	for i, row := range shares {
		sum := 0.0
		for k, v := range row {
			sum += v
			f.Bands = append(f.Bands, figure.Band{Column: 1, From: i, To: k, Share: v})
		}
		f.Bands = append(f.Bands, figure.Band{Column: 0, From: 0, To: i, Share: sum})
	}
	if len(advice) == 1 { // there was no advice to choose
		f.Columns = f.Columns[:2]
		f.Bands = lists.Keep(f.Bands, func(b figure.Band) bool { return b.Column == 0 })
	}
	lambda := fixed(u.lambdas[at], -1)
	return &figure.Figure{
		Name: flowName + "_" + u.who, Title: fmt.Sprintf("Where %s sends the rows at lambda %s: expert, then advice", u.who, lambda), Body: f,
		About: "Bands from all rows to experts, and from experts to advice, as high as their shares of the rows.",
		Note:  ofRows + "The height of a band is its share of all rows.",
	}
}

// MiddleLambda is the lambda of figures about a single one: 1, or else the one in the middle; NaN if there is none.
func MiddleLambda(lambdas []float64) float64 {
	switch {
	case len(lambdas) == 0:
		return math.NaN()
	case slices.Contains(lambdas, 1):
		return 1
	}
	order := slices.Clone(lambdas)
	slices.Sort(order)
	return order[len(order)/2]
}

// grouped are the names of pairs in one respect, the largest Most-1 of them and others.
func grouped(pairs []usedPair, at int, name func(usedPair) string) []string {
	sums := map[string]float64{}
	var names []string
	for _, p := range pairs {
		if !slices.Contains(names, name(p)) {
			names = append(names, name(p))
		}
		sums[name(p)] += p.share[at]
	}
	if len(names) <= figure.Most {
		return names
	}
	order := slices.Clone(names)
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(sums[b], sums[a]) })
	kept := lists.Keep(names, func(n string) bool { return slices.Contains(order[:figure.Most-1], n) })
	return append(kept, figure.Others)
}

// placeOf is where a name is; names that are not there are others, at the end.
func placeOf(names []string, name string) int {
	if i := slices.Index(names, name); i >= 0 {
		return i
	}
	return len(names) - 1
}
