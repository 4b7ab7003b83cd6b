package budget

import "math"

// dayShape is a guess of how many requests come in the hours of a day of which only some were seen: the logarithm of the rate is
// a cosine of the hour, whose height and place are found by least squares with a prior (a normal one around a flat day).
type dayShape struct{ base, cos, sin float64 }

const (
	scatter  = 0.25 // variance of the logarithm of an hour's requests around the cosine
	flatness = 1.   // inverse variance of the prior
)

// shape is the guess by the hours that were seen; before the first one has passed, a flat day of what came in it.
func (t *traffic) shape() *dayShape {
	var a [3][4]float64 // normal equations
	came := 0.0
	for at, weeks := range t.Weeks {
		if weeks == 0 {
			continue
		}
		came += t.Hours[at]
		sin, cos := math.Sincos(hourAngle * float64(at))
		x, weight := [4]float64{1, cos, sin, math.Log(t.Hours[at] + 0.5)}, 1/(scatter+1/(t.Hours[at]+0.5))
		for i := range a {
			for j := range x {
				a[i][j] += weight * x[i] * x[j]
			}
		}
	}
	if came == 0 {
		return &dayShape{base: math.Log(t.Count / max(t.seen(t.Last), 1./60))}
	}
	a[1][1] += flatness
	a[2][2] += flatness
	for i := range a { // elimination; the matrix is positive definite
		for k := range a {
			if f := a[k][i] / a[i][i]; k != i {
				for j := range a[k] {
					a[k][j] -= f * a[i][j]
				}
			}
		}
	}
	d := &dayShape{0, a[1][3] / a[1][1], a[2][3] / a[2][2]}
	sum := 0.0
	for at, weeks := range t.Weeks {
		if weeks > 0 {
			sum += d.rate(at)
		}
	}
	d.base = math.Log(came / sum) // as many as came, in the hours that were seen
	return d
}

const hourAngle = 2 * math.Pi / 24

// rate is the rate of an hour of the week.
func (d *dayShape) rate(at int) float64 {
	sin, cos := math.Sincos(hourAngle * float64(at))
	return math.Exp(d.base + d.cos*cos + d.sin*sin)
}
