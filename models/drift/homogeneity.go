package drift

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Homogeneity tests.
const (
	MethodChiSquare = "chi-square"
	MethodG         = "G-test"
	MethodFisher    = "Fisher"
)

// HomogeneityResult is the outcome of a test whether two lists of counts come from the same shares.
type HomogeneityResult struct {
	Method    string
	Statistic float64 // 0 for Fisher
	Freedom   int     // degrees of freedom; 0 for Fisher
	P         float64
	Cells     int // categories after the rare ones were joined
}

// leastExpected is the fewest counts that chi-square tests expect in every cell.
const leastExpected = 5

// Homogeneity tests whether two lists of counts by category, of the same length, come from the same shares, by Pearson's
// chi-square. The rarest categories of both together are joined until every cell
// expects at least 5: since that depends only on the sums over both lists, the test keeps its level. If two cells remain
// and still expect fewer, P is that of Fisher's exact test. With one category or an empty list P is 1.
func Homogeneity(base, now []int64) HomogeneityResult {
	return homogeneity(base, now, MethodChiSquare, chiSquare)
}

// HomogeneityG is [Homogeneity] by the likelihood ratio, the statistic G.
func HomogeneityG(base, now []int64) HomogeneityResult {
	return homogeneity(base, now, MethodG, likelihoodRatio)
}

func homogeneity(base, now []int64, method string, statistic func(a, b []int64) float64) HomogeneityResult {
	a, b := joinRare(base, now)
	n, m := sum(a), sum(b)
	if len(a) < 2 || n == 0 || m == 0 {
		return HomogeneityResult{Method: method, P: 1, Cells: len(a)}
	}
	least := math.Inf(1)
	for i := range a {
		least = min(least, float64(a[i]+b[i])*float64(min(n, m))/float64(n+m))
	}
	if len(a) == 2 && least < leastExpected {
		return HomogeneityResult{Method: MethodFisher, P: fisher(a[0], a[1], b[0], b[1]), Cells: 2}
	}
	r := HomogeneityResult{Method: method, Statistic: statistic(a, b), Freedom: len(a) - 1, Cells: len(a)}
	r.P = distuv.ChiSquared{K: float64(r.Freedom)}.Survival(r.Statistic)
	return r
}

// joinRare drops categories that never occur, and joins the rarest until all expect leastExpected or two remain.
func joinRare(base, now []int64) (a, b []int64) {
	order := make([]int, 0, len(base))
	for i := range base {
		if base[i]+now[i] > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return int(sign(base[i] + now[i] - base[j] - now[j])) })
	n, m := sum(base), sum(now)
	enough := func(total int64) bool { return float64(total)*float64(min(n, m)) >= leastExpected*float64(n+m) }
	var restA, restB int64 // of the joined ones
	for at, i := range order {
		if left := len(order) - at; restA+restB > 0 && left == 1 || enough(base[i]+now[i]) && (restA+restB == 0 || enough(restA+restB)) {
			for _, k := range order[at:] {
				a, b = append(a, base[k]), append(b, now[k])
			}
			break
		}
		restA, restB = restA+base[i], restB+now[i]
	}
	if restA+restB > 0 {
		a, b = append(a, restA), append(b, restB)
	}
	return a, b
}

func sign(v int64) int64 { return max(-1, min(1, v)) }

func sum(counts []int64) (n int64) {
	for _, c := range counts {
		n += c
	}
	return n
}

// chiSquare is Pearson's statistic of two lists of counts.
func chiSquare(a, b []int64) (stat float64) {
	eachCell(a, b, func(seen, expected float64) { stat += (seen - expected) * (seen - expected) / expected })
	return stat
}

// likelihoodRatio is the statistic G of two lists of counts.
func likelihoodRatio(a, b []int64) (stat float64) {
	eachCell(a, b, func(seen, expected float64) {
		if seen > 0 {
			stat += 2 * seen * math.Log(seen/expected)
		}
	})
	return max(0, stat)
}

func eachCell(a, b []int64, add func(seen, expected float64)) {
	n, m := float64(sum(a)), float64(sum(b))
	for i := range a {
		both := float64(a[i] + b[i])
		add(float64(a[i]), both*n/(n+m))
		add(float64(b[i]), both*m/(n+m))
	}
}

// fisher is the two-sided exact test of a table of two rows (a, b) and (c, d): the probability of all tables with the same
// sums that are at most as likely.
func fisher(a, b, c, d int64) float64 {
	row, column, all := a+b, a+c, a+b+c+d
	logOf := func(x int64) float64 {
		return logChoose(row, x) + logChoose(all-row, column-x) - logChoose(all, column)
	}
	seen := logOf(a)
	p := 0.0
	for x := max(0, column-(all-row)); x <= min(row, column); x++ {
		if l := logOf(x); l <= seen+1e-7 {
			p += math.Exp(l)
		}
	}
	return min(1, p)
}

func logChoose(n, k int64) float64 {
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return a - b - c
}

// Holm adjusts p-values for their number (Holm 1979): rejecting where the adjusted value is at most alpha rejects any true
// hypothesis with a probability of at most alpha, whatever the dependence between them.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	out, most := make([]float64, len(p)), 0.0
	for rank, i := range order {
		most = max(most, min(1, p[i]*float64(len(p)-rank)))
		out[i] = most
	}
	return out
}
