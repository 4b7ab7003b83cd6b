package report

import (
	"fmt"
	"strconv"

	"pipe/models/policy"
)

// The functions of this file print one cell; a figure that does not apply is an empty cell.

// Number prints a figure to six digits.
func Number(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'g', 6, 64)
}

// PlusMinus prints a loss to three decimals, with its spread if it has one.
func PlusMinus(mean, std *float64) string {
	switch {
	case mean == nil:
		return ""
	case std == nil:
		return fmt.Sprintf("%.3f", *mean)
	}
	return fmt.Sprintf("%.3f ± %.3f", *mean, *std)
}

// loss prints a row's true loss with the spread that it has: over splits, else over seeds.
func (r Row) loss() string {
	if r.TrueLossSE != nil {
		return PlusMinus(&r.TrueLossMean, r.TrueLossSE)
	}
	return PlusMinus(&r.TrueLossMean, r.TrueLossStd)
}

// difference prints a paired difference with its standard error.
func difference(v *Difference) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf("%+.4f ± %.4f", v.Mean, v.SE)
}

// signed prints a gain or loss to three decimals.
func signed(v *float64) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf("%+.3f", *v)
}

func interval(v *Interval) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf("%+.3f [%+.3f, %+.3f]", v.Mean, v.Low, v.High)
}

// percent prints a share in percent without the sign.
func percent(v *float64) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf("%.1f", 100**v)
}

func positive(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// InSets says how many draws the rows of a guard are, where they are fewer than rows; older policies do not have the number.
func InSets(g policy.Guard) string {
	if g.Clusters == 0 || g.Clusters == g.Rows {
		return ""
	}
	return fmt.Sprintf(" in %d sets that belong together", g.Clusters)
}
