package world

import (
	"math"

	"pipe/costs"
)

// The planted world in brief. Four columns of the base view (product, card network, card type, amount) put a
// transaction into one of seven cells. The label is a fair coin in every cell. In each cell some columns are noisy
// readings of the label: each is wrong with a stated probability, independently of everything else given the label.
// Outside their cells these columns are empty or zero; in the cell without information they are readings of an
// independent coin. All other columns depend at most on the cell.
//
// So, given the base view, what an expert can know depends only on the cell and on the groups that the advice opens,
// and the best pair depends only on the cell: no policy over the base view does better than the best pair of each cell.

// FraudRate is the share of frauds in every cell. At one half, training with balanced classes changes nothing, and
// guessing costs 0.5; at other rates the same losses hold if each class carries half of the weight.
const FraudRate = 0.5

// The disclosure levels, which are the advice of the fraud benchmark.
const (
	levelBase = iota
	levelContact
	levelPayment
	levelDevice
	levelIdentity
)

// How often a reading differs from the label.
const (
	errBase    = 0.10 // C7 and C12 in the cell base
	errHint    = 0.13 // the same columns in the cell hint
	errVote    = 0.22 // each of M4, M5 and M8 in the cell contact
	errBand    = 0.08 // the bands of D11 in the cell payment
	errSystem  = 0.08 // id_30 in the cell device
	errZone    = 0.08 // id_14 in the cell identity
	errProxy   = 0.02 // id_23, and id_24 with it, in the cell hint, if present
	shareProxy = 0.30 // of the rows of the cell hint that have them
)

// fraudCell is one cell of the planted world.
type fraudCell struct {
	Name  string
	Share float64 // of the rows
	Level int     // the first level that shows the readings
	Blind float64 // least loss below that level
	Told  float64 // least loss from that level on
	Bands bool    // the reading is coded in bands of one column, which have no linear trend
}

// The cells by index. Those up to cellNothing have product W and no identity row, the others have both.
const (
	cellBase = iota
	cellContact
	cellPayment
	cellNothing
	cellDevice
	cellIdentity
	cellHint
	fraudCellCount
)

// shareW is the share of rows without identity. It is that of the competition, so a file of the competition's size has
// as many identity rows as the original.
const shareW = 1 - float64(fraudFullIdentities)/fraudFullRows

// majorityError is the probability that two or three of three independent votes are wrong, each with probability e. At
// equal class weights the majority vote is optimal.
func majorityError(e float64) float64 { return e * e * (3 - 2*e) }

var fraudCells = [fraudCellCount]fraudCell{
	cellBase:     {Name: "base", Share: 0.20, Level: levelBase, Blind: 0.5, Told: errBase},
	cellContact:  {Name: "contact", Share: 0.20, Level: levelContact, Blind: 0.5, Told: majorityError(errVote)},
	cellPayment:  {Name: "payment", Share: 0.20, Level: levelPayment, Blind: 0.5, Told: errBand, Bands: true},
	cellNothing:  {Name: "nothing", Share: shareW - 0.60, Level: levelBase, Blind: 0.5, Told: 0.5},
	cellDevice:   {Name: "device", Share: 0.11, Level: levelDevice, Blind: 0.5, Told: errSystem},
	cellIdentity: {Name: "identity", Share: 0.085, Level: levelIdentity, Blind: 0.5, Told: errZone},
	cellHint: {
		Name: "hint", Share: 1 - shareW - 0.195, Level: levelIdentity,
		Blind: errHint, Told: (1-shareProxy)*errHint + shareProxy*errProxy,
	},
}

// Amounts that separate the cells payment and base; amounts in these cells keep a distance from them.
const fraudAmountSplit = 85

// FraudCellOf determines the cell of a row from its base view: ProductCD, card4, card6 and TransactionAmt as written in
// the file.
func FraudCellOf(product, card4, card6 string, amount float64) int {
	switch {
	case product == "C":
		return cellDevice
	case product == "R" || product == "S":
		return cellIdentity
	case product == "H":
		return cellHint
	case card6 == "credit":
		return cellContact
	case card4 == "mastercard":
		return cellNothing
	case amount < fraudAmountSplit:
		return cellPayment
	}
	return cellBase
}

// fraudActions are the pairs of the paper with their fees.
func fraudActions() *costs.Actions {
	return &costs.Actions{
		Experts: []costs.Expert{{Name: "linear", Fee: 0.02}, {Name: "tree", Fee: 0.06}, {Name: "mlp", Fee: 0.09}},
		Advice: []costs.Advice{
			{Name: "none"},
			{Name: "contact", Fee: 0.08},
			{Name: "payment", Fee: 0.12},
			{Name: "device", Fee: 0.16},
			{Name: "identity", Fee: 0.20},
		},
	}
}

// FraudLambdas are the regimes of the paper.
func FraudLambdas() []float64 { return []float64{0, 0.04, 0.12, 0.20, 5} }

const expertLinear = 0

// FraudLaw is the mean task loss of every pair in every cell, and the share of every cell.
type FraudLaw struct {
	Actions *costs.Actions
	Share   []float64   // per cell
	Loss    [][]float64 // cells x actions, expert-major: mean 0-1 loss, without fees
}

// IdealFraudLaw is the law for experts that make the best use of their view: the Bayes rule of each view for tree and
// mlp, and the limit of a logistic regression for linear, which guesses in the cell payment because of its bands.
func IdealFraudLaw(world string) *FraudLaw {
	l := &FraudLaw{Actions: fraudActions()}
	for _, c := range fraudCells {
		l.Share = append(l.Share, c.Share)
		var row []float64
		for j := range l.Actions.Experts {
			for k := range l.Actions.Advice {
				row = append(row, c.idealLoss(world, j, k))
			}
		}
		l.Loss = append(l.Loss, row)
	}
	return l
}

func (c *fraudCell) idealLoss(world string, expert, level int) float64 {
	switch {
	case world == fraudFlat, c.Bands && expert == expertLinear:
		return 0.5
	case level < c.Level:
		return c.Blind
	}
	return c.Told
}

// Best is the cheapest action of a cell among those for which allow is true, and its mean cost; the smallest index wins
// ties.
func (l *FraudLaw) Best(cell int, lambda float64, allow func(action int) bool) (action int, cost float64) {
	cost = math.Inf(1)
	for i, fee := range l.Actions.Fees(lambda) {
		if c := l.Loss[cell][i] + fee; allow(i) && c < cost {
			action, cost = i, c
		}
	}
	return action, cost
}

// risk is the smallest expected cost of a policy over the base view that takes allowed actions only: the sum over cells
// of share * cost of the cell's best pair.
func (l *FraudLaw) risk(lambda float64, allow func(action int) bool) float64 {
	sum := 0.0
	for cell, share := range l.Share {
		_, cost := l.Best(cell, lambda, allow)
		sum += share * cost
	}
	return sum
}

// BayesRisk is the risk over all pairs, the target of a policy with advice.
func (l *FraudLaw) BayesRisk(lambda float64) float64 {
	return l.risk(lambda, func(int) bool { return true })
}

// l2dRisk is the risk over the pairs without advice.
func (l *FraudLaw) l2dRisk(lambda float64) float64 {
	return l.risk(lambda, func(i int) bool {
		_, k := l.Actions.Pair(i)
		return k == 0
	})
}

// bestFixed is the pair with the smallest cost if every row gets the same one, and its risk.
func (l *FraudLaw) bestFixed(lambda float64) (action int, risk float64) {
	risk = math.Inf(1)
	for i := range l.Loss[0] {
		only := l.risk(lambda, func(a int) bool { return a == i })
		if only < risk {
			action, risk = i, only
		}
	}
	return action, risk
}
