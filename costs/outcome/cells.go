package outcome

import (
	"math"
	"slices"

	"pipe/costs"
	"pipe/internal/tablefile"
	"pipe/internal/textfile"
)

// outcomes are the cells read so far, one column per pair seen. Instances are
// numbered as they appear.
type outcomes struct {
	ids     *textfile.Names
	experts *textfile.Names
	advice  *textfile.Names
	pairs   [][]*outcomeColumn // by number in experts and advice; nil for pairs without outcomes
	texts   *textfile.Names    // predictions
	fees    bool
	usage   costs.UsageFlags
	texted  bool
	facts   []factCells // sorted by name
	held    *textfile.MemoryBudget
}

// outcomeColumn holds one pair's cells by instance. A missing loss is NaN,
// which is not a valid loss.
type outcomeColumn struct {
	loss  vector[float32]
	fee   vector[float32]
	usage [costs.Quantities]vector[float32]
	text  vector[int32]
	facts []vector[int32] // numbers of the values, -1 where none is known
}

func newOutcomes(fees bool, usage costs.UsageFlags, texted bool, held *textfile.MemoryBudget) *outcomes {
	return &outcomes{
		ids: textfile.NewNames(held), experts: textfile.NewNames(held), advice: textfile.NewNames(held), texts: textfile.NewNames(held),
		fees: fees, usage: usage, texted: texted, held: held,
	}
}

// column returns the column of a pair, for writing.
func (o *outcomes) column(p costs.Pair) (*outcomeColumn, error) {
	if c := o.find(p); c != nil {
		return c, nil
	}
	const bytesOfPair = 120 // approximate
	if err := o.held.Add(bytesOfPair); err != nil {
		return nil, err
	}
	for len(o.pairs) <= p.Expert {
		o.pairs = append(o.pairs, nil)
	}
	for len(o.pairs[p.Expert]) <= p.Advice {
		o.pairs[p.Expert] = append(o.pairs[p.Expert], nil)
	}
	unknown := vector[float32]{gap: float32(math.NaN()), held: o.held}
	c := &outcomeColumn{loss: unknown, fee: vector[float32]{held: o.held}, text: vector[int32]{held: o.held}}
	for q := range c.usage {
		c.usage[q] = unknown
	}
	c.facts = slices.Repeat([]vector[int32]{{gap: -1, held: o.held}}, len(o.facts))
	o.pairs[p.Expert][p.Advice] = c
	return c, nil
}

// find returns the column of a pair, nil if it has no outcomes.
func (o *outcomes) find(p costs.Pair) *outcomeColumn {
	if p.Expert < 0 || p.Expert >= len(o.pairs) || p.Advice >= len(o.pairs[p.Expert]) {
		return nil
	}
	return o.pairs[p.Expert][p.Advice]
}

// put stores a loss and reports whether the place was free.
func (c *outcomeColumn) put(n int, loss float64) (free bool, err error) {
	at, err := c.loss.slot(n)
	if err != nil || *at == *at {
		return false, err
	}
	*at = float32(loss)
	return true, nil
}

// putRest stores the fee, the usage, the facts and the prediction of an outcome.
func (o *outcomes) putRest(c *outcomeColumn, n int, made call, prediction *keys, facts []factColumn, row tablefile.Row) error {
	if o.fees {
		if err := set(&c.fee, n, float32(made.fee)); err != nil {
			return err
		}
	}
	for q, kept := range o.usage {
		if !kept {
			continue
		}
		if err := set(&c.usage[q], n, float32(made.use[q])); err != nil {
			return err
		}
	}
	if err := c.putFacts(o, n, facts, row); err != nil {
		return err
	}
	if prediction == nil {
		return nil
	}
	number, err := prediction.add(row)
	if err != nil {
		return err
	}
	return set(&c.text, n, int32(number))
}

// pair returns the numbers of an expert and an advice.
func (o *outcomes) pair(expert, advice string) (p costs.Pair, err error) {
	if p.Expert, err = o.experts.Add(expert); err != nil {
		return p, err
	}
	p.Advice, err = o.advice.Add(advice)
	return p, err
}

// has reports whether the cell of instance n is set.
func (c *outcomeColumn) has(n int) bool {
	if c == nil {
		return false
	}
	l := c.loss.get(n)
	return l == l
}

// fill copies the cells of the kept instances into t. The pair of action i has
// the number order[i] = expert*levels+advice in the order of appearance, or -1
// if it never appeared.
func (o *outcomes) fill(t *costs.Tensor, order []int, keep []int) error {
	a, mask := len(order), t.Actions.Mask()
	bytes := bytesOfValue
	if o.fees {
		bytes += bytesOfValue
	}
	for _, kept := range o.usage {
		if kept {
			bytes += bytesOfValue
		}
	}
	if o.texted {
		bytes += bytesOfText
	}
	if err := o.held.AddCells(len(keep), a, bytes); err != nil {
		return err
	}
	t.Loss = make([]float32, len(keep)*a)
	if o.fees {
		t.Fee = make([]float32, len(keep)*a)
	}
	for q, kept := range o.usage {
		if kept {
			t.Usage[q] = make([]float32, len(keep)*a)
		}
	}
	if o.texted {
		t.Predictions = make([]string, len(keep)*a)
	}
	const block = 1 << 10 // rows whose losses stay in the cache
	for first := 0; first < len(keep); first += block {
		some := keep[first:min(first+block, len(keep))]
		for i := range order {
			o.fillAction(t, first*a+i, a, o.number(order[i]), mask[i], some)
		}
	}
	return o.fillFacts(t, order, keep)
}

// fillAction copies the cells of one action, into places that begin at start and
// are step apart. An outcome that is missing is unknown, with its fee and usage.
func (o *outcomes) fillAction(t *costs.Tensor, start, step int, c *outcomeColumn, available bool, keep []int) {
	for row, n := range keep {
		at := start + row*step
		if !c.has(n) {
			t.Loss[at] = float32(math.NaN())
			if o.fees && available {
				t.Fee[at] = t.Loss[at]
			}
			for _, values := range t.Usage {
				if values != nil {
					values[at] = t.Loss[at]
				}
			}
			continue
		}
		t.Loss[at] = c.loss.get(n)
		if o.fees {
			t.Fee[at] = c.fee.get(n)
		}
		for q, values := range t.Usage {
			if values != nil {
				values[at] = c.usage[q].get(n)
			}
		}
		if o.texted {
			t.Predictions[at] = o.texts.List()[c.text.get(n)]
		}
	}
}

// number returns the column of the pair with a number as in fill.
func (o *outcomes) number(number int) *outcomeColumn {
	if number < 0 {
		return nil
	}
	levels := o.advice.Len()
	return o.find(costs.Pair{Expert: number / levels, Advice: number % levels})
}
