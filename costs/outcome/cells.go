package outcome

import (
	"math"

	"pipe/costs"
	"pipe/internal/textfile"
)

// outcomes are the cells read so far, one column per pair seen. Instances are
// numbered as they appear.
type outcomes struct {
	ids     *textfile.Names
	experts *textfile.Names
	advice  *textfile.Names
	pairs   map[costs.Pair]*outcomeColumn // by number in experts and advice
	texts   *textfile.Names               // predictions
	fees    bool
	texted  bool
	held    *textfile.Held
}

// outcomeColumn holds one pair's cells by instance. A missing loss is NaN,
// which is not a valid loss.
type outcomeColumn struct {
	loss []float32
	fee  []float32
	text []int32
}

func newOutcomes(fees, texted bool, held *textfile.Held) *outcomes {
	return &outcomes{
		ids: textfile.NewNames(held), experts: textfile.NewNames(held), advice: textfile.NewNames(held), texts: textfile.NewNames(held),
		pairs: make(map[costs.Pair]*outcomeColumn), fees: fees, texted: texted, held: held,
	}
}

// put stores a cell and reports whether the place was free.
func (o *outcomes) put(n int, p costs.Pair, loss, fee float64, text string) (free bool, err error) {
	c := o.pairs[p]
	if c == nil {
		const bytesOfPair = 120 // approximate, with its entry in the map
		if err := o.held.Add(bytesOfPair); err != nil {
			return false, err
		}
		c = &outcomeColumn{}
		o.pairs[p] = c
	}
	if c.loss, err = grown(c.loss, n, float32(math.NaN()), o.held); err != nil {
		return false, err
	}
	if l := c.loss[n]; l == l {
		return false, nil
	}
	c.loss[n] = float32(loss)
	if o.fees {
		if c.fee, err = grown(c.fee, n, 0, o.held); err != nil {
			return false, err
		}
		c.fee[n] = float32(fee)
	}
	if o.texted {
		if c.text, err = grown(c.text, n, 0, o.held); err != nil {
			return false, err
		}
		number, err := o.texts.Add(text)
		if err != nil {
			return false, err
		}
		c.text[n] = int32(number)
	}
	return true, nil
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
	return c != nil && n < len(c.loss) && c.loss[n] == c.loss[n]
}

// fill copies the cells of the kept instances into t. The pair of action i has
// the number order[i] = expert*levels+advice in the order of appearance, or -1
// if it never appeared.
func (o *outcomes) fill(t *costs.Tensor, order []int, keep []int) error {
	a := len(order)
	bytes := bytesOfValue
	if o.fees {
		bytes += bytesOfValue
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
	if o.texted {
		t.Predictions = make([]string, len(keep)*a)
	}
	for i := range order {
		c := o.column(order[i])
		for row, n := range keep {
			if !c.has(n) {
				t.Loss[row*a+i] = float32(math.NaN())
				continue
			}
			t.Loss[row*a+i] = c.loss[n]
			if o.fees {
				t.Fee[row*a+i] = c.fee[n]
			}
			if o.texted {
				t.Predictions[row*a+i] = o.texts.List()[c.text[n]]
			}
		}
	}
	return nil
}

func (o *outcomes) column(number int) *outcomeColumn {
	if number < 0 {
		return nil
	}
	levels := o.advice.Len()
	return o.pairs[costs.Pair{Expert: number / levels, Advice: number % levels}]
}
