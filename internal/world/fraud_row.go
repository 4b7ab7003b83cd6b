package world

import (
	"math"
	"strconv"
)

// fraudRow holds the values from which the columns of one transaction are drawn. Columns are drawn in the order of the
// header and depend on the cell and on the readings, so the 55 columns are the first of the 394.
type fraudRow struct {
	draws
	n       int // row of the file, from 0
	cell    int
	product string
	label   int // isFraud
	told    int // the value that readings repeat: the label, or a coin in the cell without information
	system  int // index of systems, for rows with an identity
}

// hasIdentity reports whether the row has a line in train_identity.csv.
func (r *fraudRow) hasIdentity() bool { return r.cell > cellNothing }

// read is a reading of told, wrong with probability err.
func (r *fraudRow) read(err float64) int {
	if r.is(err) {
		return 1 - r.told
	}
	return r.told
}

// begin draws the label of the row and the values that its columns share. share is the share of frauds.
func (r *fraudRow) begin(o *FraudOptions, n, cell int) {
	r.start(o.Seed, uint64(n), streamTransaction)
	r.n, r.cell = n, cell
	r.label, r.told = 0, 0
	if r.is(o.FraudRate) {
		r.label = 1
	}
	coin := r.below(2)
	r.told = r.label
	if o.World == fraudFlat || cell == cellNothing {
		r.told = coin
	}
	r.product = r.drawProduct()
}

func (r *fraudRow) drawProduct() string {
	switch r.cell {
	case cellDevice:
		return "C"
	case cellIdentity:
		if r.is(0.25) {
			return "S"
		}
		return "R"
	case cellHint:
		return "H"
	}
	return "W"
}

const (
	fraudFirstID   = 2_987_000
	fraudFirstTime = 86_400 // seconds; like the original, it starts one day after zero
	fraudTimeSpan  = 15_724_731
)

// appendTransaction appends the row of train_transaction.csv without line end.
func (r *fraudRow) appendTransaction(b []byte, o *FraudOptions) []byte {
	b = strconv.AppendInt(b, fraudFirstID+int64(r.n), 10)
	b = append(b, ',', byte('0'+r.label), ',')
	b = strconv.AppendInt(b, r.seconds(o.Rows), 10)
	b = addDecimal(b, r.amount())
	b = addText(b, r.product)
	b = r.appendCards(b)
	b = r.appendAddress(b)
	b = r.appendCounts(b)
	b = r.appendDays(b)
	b = r.appendMatches(b)
	if o.Columns == fraudAllColumns {
		b = r.appendV(b)
	}
	return b
}

// seconds increases with the row; the hours of a day are unevenly frequent.
func (r *fraudRow) seconds(rows int) int64 {
	const day = 86_400
	at := (float64(r.n) + r.uniform()) * fraudTimeSpan / float64(rows)
	days, part := math.Modf(at / day)
	part -= 0.8 * math.Sin(2*math.Pi*part) / (2 * math.Pi) // increasing: its slope is at least 0.2
	return fraudFirstTime + int64((days+part)*day)
}

// prices are amounts that occur often.
var (
	lowPrices  = equally("59.0", "57.95", "50.0", "49.0", "47.95", "29.0", "39.0", "20.0", "25.95", "35.5", "67.95", "68.5")
	highPrices = equally("100.0", "117.0", "107.95", "150.0", "226.0", "280.0", "108.5", "159.95", "200.0", "335.0", "445.0", "554.0")
)

// amount is in dollars.
func (r *fraudRow) amount() float64 {
	switch r.cell {
	case cellPayment:
		return r.price(lowPrices, 8, 2.2)
	case cellBase:
		return r.price(highPrices, 96, 3)
	case cellContact, cellNothing:
		if r.is(0.6) {
			return r.price(lowPrices, 8, 2.2)
		}
		return r.price(highPrices, 96, 3)
	case cellDevice:
		return math.Round(1000*math.Exp(1.5+3.5*r.uniform())) / 1000 // three decimals, as after currency conversion
	}
	return 25 * float64(1+r.geometric(4))
}

// price is one of the usual amounts, or low * e^u with u uniform up to span.
func (r *fraudRow) price(usual *palette, low, span float64) float64 {
	if r.is(0.6) {
		v, _ := strconv.ParseFloat(usual.pick(&r.draws), 64)
		return v
	}
	return math.Round(100*low*math.Exp(span*r.uniform())) / 100
}

var (
	networksW     = newPalette(shade{"visa", 0.67}, shade{"mastercard", 0.29}, shade{"american express", 0.02}, shade{"discover", 0.02})
	networksOther = newPalette(shade{"visa", 0.62}, shade{"mastercard", 0.34}, shade{"american express", 0.02}, shade{"discover", 0.01}, shade{"", 0.01})
	typesOther    = newPalette(shade{"debit", 0.52}, shade{"credit", 0.47}, shade{"", 0.01})
	banks         = newPalette(
		shade{"226.0", 0.5}, shade{"224.0", 0.14}, shade{"166.0", 0.1}, shade{"102.0", 0.05}, shade{"117.0", 0.05}, shade{"138.0", 0.04},
		shade{"195.0", 0.03}, shade{"137.0", 0.02}, shade{"202.0", 0.02}, shade{"219.0", 0.02}, shade{"126.0", 0.02}, shade{"", 0.01})
	countries = newPalette(shade{"150.0", 0.97}, shade{"185.0", 0.03})
)

// drawCard draws card4 and card6, which separate the cells of product W.
func (r *fraudRow) drawCard() (network, kind string) {
	switch r.cell {
	case cellContact:
		return networksW.pick(&r.draws), "credit"
	case cellNothing:
		return "mastercard", "debit"
	case cellBase, cellPayment:
		return "visa", "debit"
	}
	return networksOther.pick(&r.draws), typesOther.pick(&r.draws)
}

// appendCards appends card1 to card6. Few issuers have most of the cards, and card1 fixes card2.
func (r *fraudRow) appendCards(b []byte) []byte {
	issuer := int(5000 * math.Pow(r.uniform(), 3))
	network, kind := r.drawCard()
	b = append(b, ',')
	b = strconv.AppendInt(b, int64(1000+issuer*7919%17_396), 10)
	if issuer%64 == 63 {
		b = append(b, ',')
	} else {
		b = addWhole(b, 100+issuer*131%501)
	}
	country := countries.pick(&r.draws)
	if r.product == "C" && r.is(0.8) {
		country = "185.0"
	}
	b = addText(b, country)
	b = addText(b, network)
	b = addText(b, banks.pick(&r.draws))
	return addText(b, kind)
}

// countColumns are the least value and the mean excess of C1 to C14; C7 and C12 are readings.
var countColumns = [14]struct {
	least int
	mean  float64
}{
	{1, 0.7}, {1, 0.8}, {0, 0.004}, {0, 0.2}, {0, 0.4}, {0, 1.1}, {}, {0, 0.2}, {0, 1.1}, {0, 0.2}, {1, 0.5}, {}, {0, 3}, {0, 1.1},
}

const (
	indexC7  = 6
	indexC12 = 11
)

// appendCounts appends C1 to C14. A reading of 1 counts in C7, one of 0 in C12; if the base view has no information,
// both are zero.
func (r *fraudRow) appendCounts(b []byte) []byte {
	busy := [8]float64{1, 1, 1, 1, 1, 1, 3, 12}[r.below(8)]
	told := [2]int{}
	switch r.cell {
	case cellBase:
		told[r.read(errBase)] = 1 + r.geometric(0.08)
	case cellHint:
		told[r.read(errHint)] = 1 + r.geometric(0.08)
	}
	for i, c := range countColumns {
		switch i {
		case indexC7:
			b = addWhole(b, told[1])
		case indexC12:
			b = addWhole(b, told[0])
		default:
			b = addWhole(b, c.least+r.geometric(c.mean*busy))
		}
	}
	return b
}
