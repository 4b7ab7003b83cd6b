package report

import (
	"fmt"
	"strconv"

	"pipe/models/policy"
)

// The functions in this file format one cell; a value that does not apply is an empty cell.

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

// loss prints a row's true loss with its spread: over splits if there are several, else over seeds.
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

// finely prints a difference with its interval to four decimals.
func finely(v *Interval) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf("%+.4f [%+.4f, %+.4f]", v.Mean, v.Low, v.High)
}

// seconds prints a duration to two digits, or in whole seconds.
func seconds(v *float64) string {
	switch {
	case v == nil:
		return ""
	case *v < 10:
		return fmt.Sprintf("%.2g", *v)
	}
	return fmt.Sprintf("%.0f", *v)
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

// InSets gives the number of clusters of the rows of a guard, if it is less than the number of rows; older policies do
// not record it.
func InSets(g policy.Guard) string {
	if g.Clusters == 0 || g.Clusters == g.Rows {
		return ""
	}
	return fmt.Sprintf(" in %d clusters", g.Clusters)
}
