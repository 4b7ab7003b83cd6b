package world

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// reader guesses the label of a row optimally from the columns that advice up to a level shows; -1 if they have no
// information. It is written from the description of the world in docs/generate.md and only reads the files.
type reader struct {
	transactions, identities *fraudTable
	identityOf               map[string]int
}

func newReader(a, b *fraudTable) *reader {
	r := &reader{a, b, map[string]int{}}
	for row := range b.rows {
		r.identityOf[b.rows[row][0]] = row
	}
	return r
}

func (r *reader) cellOf(t *testing.T, row int) int {
	t.Helper()
	amount, err := strconv.ParseFloat(r.transactions.cell(row, "TransactionAmt"), 64)
	if err != nil {
		t.Fatal(err)
	}
	a := r.transactions
	return FraudCellOf(a.cell(row, "ProductCD"), a.cell(row, "card4"), a.cell(row, "card6"), amount)
}

func (r *reader) identity(row int, column string) string {
	at, ok := r.identityOf[r.transactions.rows[row][0]]
	if !ok {
		return ""
	}
	return r.identities.cell(at, column)
}

// The guesses by the level that they need. Each one looks at its columns in every cell, so that a column with
// information outside its cell would be detected.
func (r *reader) guess(row, level int) int {
	for l := level; l >= 0; l-- { // a later level is more reliable, if present
		if g := r.guessAt(row, l); g >= 0 {
			return g
		}
	}
	return -1
}

func (r *reader) guessAt(row, level int) int {
	a := r.transactions
	switch level {
	case levelBase:
		return either(a.cell(row, "C7") != "0.0", a.cell(row, "C12") != "0.0")
	case levelContact:
		if a.cell(row, "M4") == "" {
			return -1
		}
		votes := 0
		for _, yes := range []bool{a.cell(row, "M4") != "M0", a.cell(row, "M5") == "T", a.cell(row, "M8") == "T"} {
			if yes {
				votes++
			}
		}
		return votes / 2
	case levelPayment:
		days, err := strconv.ParseFloat(a.cell(row, "D11"), 64)
		if err != nil {
			return -1
		}
		return bandOf(int(days))
	case levelDevice:
		one := []string{"Windows 7", "Windows XP", "iOS 11.2.1", "iOS 11.2.6", "iOS 9.3.5", "Mac OS X 10_12_6", "Mac OS X 10_13_2", "Android 5.1.1", "Android 8.0.0"}
		system := r.identity(row, "id_30")
		return either(slices.Contains(one, system), system != "")
	}
	if proxy := r.identity(row, "id_23"); proxy != "" {
		return either(!strings.HasSuffix(proxy, "TRANSPARENT"), true)
	}
	zone := r.identity(row, "id_14")
	return either(zone == "-480.0" || zone == "-420.0", zone != "")
}

// either is 1, 0 or, if neither holds, -1.
func either(one, zero bool) int {
	switch {
	case one:
		return 1
	case zero:
		return 0
	}
	return -1
}

// measured is the mean loss of the best guess by cell and level on generated rows, a coin's 0.5 without information,
// and the rows and frauds of every cell.
func measured(t *testing.T, r *reader) (loss [fraudCellCount][levelIdentity + 1]float64, rows, frauds [fraudCellCount]int) {
	for row := range r.transactions.rows {
		cell := r.cellOf(t, row)
		label := int(r.transactions.cell(row, "isFraud")[0] - '0')
		rows[cell]++
		frauds[cell] += label
		for level := range loss[cell] {
			switch r.guess(row, level) {
			case -1:
				loss[cell][level] += 0.5
			case 1 - label:
				loss[cell][level]++
			}
		}
	}
	for cell := range loss {
		for level := range loss[cell] {
			loss[cell][level] /= float64(rows[cell])
		}
	}
	return loss, rows, frauds
}

// TestFraudLawOnRows compares the law with generated files: cells recovered from the base view are the generated ones,
// labels are balanced in each, and guesses have the loss of the law at every level.
func TestFraudLawOnRows(t *testing.T) {
	if testing.Short() {
		t.Skip("long arithmetic in one goroutine: it has no races to find")
	}
	for _, world := range FraudWorlds() {
		t.Run(world, func(t *testing.T) {
			o := fraudOptions(t, 40_000)
			o.World, o.Columns = world, fraudFewColumns
			a, b, report := generated(t, o)
			loss, rows, frauds := measured(t, newReader(a, b))
			law := IdealFraudLaw(world)
			checkRisk(t, law, loss, rows, o.Rows)
			tree := law.Actions.ExpertIndex("tree")
			for cell, c := range fraudCells {
				n := float64(rows[cell])
				if rows[cell] != report.Cells[cell].Rows || frauds[cell] != report.Cells[cell].Frauds || math.Abs(n/float64(o.Rows)-c.Share) > 1e-4 {
					t.Errorf("cell %s: %d rows, %d frauds; reported %+v", c.Name, rows[cell], frauds[cell], report.Cells[cell])
				}
				if d := float64(frauds[cell])/n - FraudRate; math.Abs(d) > 4*0.5/math.Sqrt(n) {
					t.Errorf("cell %s: %d of %d are frauds", c.Name, frauds[cell], rows[cell])
				}
				for level, got := range loss[cell] {
					want := law.Loss[cell][law.Actions.Index(tree, level)]
					if math.Abs(got-want) > 4*0.5/math.Sqrt(n) {
						t.Errorf("cell %s, level %d: loss %.4f, the law says %.4f", c.Name, level, got, want)
					}
				}
			}
		})
	}
}

// checkRisk runs the policies of the law on generated rows, with guesses instead of experts.
func checkRisk(t *testing.T, law *FraudLaw, loss [fraudCellCount][levelIdentity + 1]float64, rows [fraudCellCount]int, all int) {
	t.Helper()
	for _, lambda := range FraudLambdas() {
		fees, risk := law.Actions.Fees(lambda), 0.0
		for cell := range loss {
			best, _ := law.Best(cell, lambda, func(int) bool { return true })
			_, level := law.Actions.Pair(best)
			risk += float64(rows[cell]) / float64(all) * (loss[cell][level] + fees[best])
		}
		if want := law.BayesRisk(lambda); math.Abs(risk-want) > 4*0.5/math.Sqrt(float64(all)) {
			t.Errorf("lambda %v: risk %.4f on rows, %.4f by the law", lambda, risk, want)
		}
	}
}

// TestFraudBestPairs checks that the planted world has the intended best pairs.
func TestFraudBestPairs(t *testing.T) {
	law := IdealFraudLaw(FraudPlanted)
	want := map[float64]string{
		0:    "linear/none linear/contact tree/payment linear/none linear/device linear/identity linear/identity",
		0.04: "linear/none linear/contact tree/payment linear/none linear/device linear/identity linear/identity",
		0.12: "linear/none linear/contact tree/payment linear/none linear/device linear/identity linear/identity",
		0.20: "linear/none linear/contact tree/payment linear/none linear/device linear/identity linear/none",
		5:    "linear/none linear/none linear/none linear/none linear/none linear/none linear/none",
	}
	for _, lambda := range FraudLambdas() {
		var got []string
		for cell := range law.Share {
			best, _ := law.Best(cell, lambda, func(int) bool { return true })
			got = append(got, law.Actions.Name(best))
		}
		if strings.Join(got, " ") != want[lambda] {
			t.Errorf("lambda %v: best pairs are %v", lambda, got)
		}
	}
}

// TestFraudRisks: the arithmetic at lambda 0.2 by hand, the order of the risks at every lambda, and the gap to the best
// policy without advice, which closes as lambda grows.
func TestFraudRisks(t *testing.T) {
	law := IdealFraudLaw(FraudPlanted)
	w := 1 - 144_233.0/590_540
	vote := 3*0.22*0.22*0.78 + 0.22*0.22*0.22
	byHand := 0.2*(0.10+0.02) + 0.2*(vote+0.02+0.2*0.08) + 0.2*(0.08+0.06+0.2*0.12) + (w-0.6)*0.52 +
		0.11*(0.08+0.02+0.2*0.16) + 0.085*(0.08+0.02+0.2*0.20) + (1-w-0.195)*(0.13+0.02)
	if got := law.BayesRisk(0.2); math.Abs(got-byHand) > 1e-12 {
		t.Errorf("Bayes risk %v, by hand %v", got, byHand)
	}
	sum, gap := 0.0, math.Inf(1)
	for _, share := range law.Share {
		sum += share
	}
	if math.Abs(sum-1) > 1e-12 {
		t.Errorf("the cells' shares add up to %v", sum)
	}
	for _, lambda := range FraudLambdas() {
		bayes, l2d := law.BayesRisk(lambda), law.l2dRisk(lambda)
		_, fixed := law.bestFixed(lambda)
		if bayes > l2d || bayes > fixed || l2d-bayes > gap || l2d-bayes == gap && gap > 0 {
			t.Errorf("lambda %v: Bayes %v, without advice %v, fixed %v", lambda, bayes, l2d, fixed)
		}
		gap = l2d - bayes
	}
	if gap > 1e-12 {
		t.Errorf("at lambda 5 advice still gains %v", gap)
	}
}

// TestFraudFlatLaw: without structure the cheapest expert without advice is best everywhere.
func TestFraudFlatLaw(t *testing.T) {
	law := IdealFraudLaw(fraudFlat)
	for _, lambda := range FraudLambdas() {
		pair, risk := law.bestFixed(lambda)
		if law.Actions.Name(pair) != "linear/none" || math.Abs(risk-0.52) > 1e-12 || math.Abs(law.BayesRisk(lambda)-risk) > 1e-12 {
			t.Errorf("lambda %v: %s at %v, Bayes %v", lambda, law.Actions.Name(pair), risk, law.BayesRisk(lambda))
		}
	}
}

// TestFraudBands: bands are balanced, and D11 has no linear trend.
func TestFraudBands(t *testing.T) {
	var count, sum [2]float64
	for days := range bandDays {
		count[bandOf(days)]++
		sum[bandOf(days)] += float64(days)
	}
	if count[0] != count[1] || math.Abs(sum[0]/count[0]-sum[1]/count[1]) > 1 {
		t.Errorf("bands have %v days, with the sums %v", count, sum)
	}
	var r fraudRow
	r.start(1, 1, 1)
	for n := range 2000 {
		if got := bandOf(r.drawBand(n % 2)); got != n%2 {
			t.Fatalf("a day drawn for reading %d reads %d", n%2, got)
		}
	}
}

// TestFraudRateIsKept: another rate of fraud changes the balance of labels, but not how well they can be predicted.
func TestFraudRateIsKept(t *testing.T) {
	o := fraudOptions(t, 20_000)
	o.Columns, o.FraudRate = fraudFewColumns, 0.1
	a, b, report := generated(t, o)
	if rate := float64(report.Frauds) / float64(o.Rows); math.Abs(rate-0.1) > 0.009 {
		t.Errorf("%.4f are frauds", rate)
	}
	loss, rows, _ := measured(t, newReader(a, b))
	if got := loss[cellBase][levelBase]; math.Abs(got-errBase) > 4*0.5/math.Sqrt(float64(rows[cellBase])) {
		t.Errorf("loss in the cell base is %.4f", got)
	}
}
