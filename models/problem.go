package models

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"unsafe"

	"pipe/costs"
	"pipe/internal/finite"
	"pipe/models/network"
)

// Problem is what is learned from: N rows of features, and a target for each of
// the J(K+1) actions, or of the classes.
type Problem struct {
	Dim      int
	Features []float32 // N x Dim, already standardised
	Target   []float32 // N x Experts*Advice: task losses with measured fees, or class weights
	Experts  int       // J; number of classes for a plain network
	Advice   int       // K+1; 1 for a plain network
	Beta     []float64 // expert fees, J, or nil
	Gamma    []float64 // base advice fees, K+1, or nil
	Mask     []bool    // pairs that exist, or nil for all
	Weight   []float32 // N, positive: how much a row counts against others, or nil for 1 each
	Known    []float32 // N x Experts*Advice: 1 where the target is known, else 0; or nil for all. Needs a PartialSurrogate
}

// actions is J(K+1), the number of target columns.
func (p *Problem) actions() int { return p.Experts * p.Advice }

// Len is the number of rows.
func (p *Problem) Len() int { return len(p.Target) / max(1, p.actions()) }

// Validate returns the first problem: a shape, or a number that is not finite.
func (p *Problem) Validate() error {
	n, a := p.Len(), p.actions()
	switch {
	case p.Dim < 1 || a < 1:
		return fmt.Errorf("problem has %d features and %d actions", p.Dim, a)
	case n == 0 || len(p.Target) != n*a:
		return fmt.Errorf("target has %d values, rows have %d", len(p.Target), a)
	case len(p.Features) != n*p.Dim:
		return fmt.Errorf("features have %d values, %d rows of %d need %d", len(p.Features), n, p.Dim, n*p.Dim)
	case p.Beta != nil && len(p.Beta) != p.Experts, p.Gamma != nil && len(p.Gamma) != p.Advice:
		return errors.New("fees do not match the experts and advice")
	case p.Mask != nil && len(p.Mask) != a:
		return fmt.Errorf("mask has %d entries, there are %d actions", len(p.Mask), a)
	case p.Weight != nil && len(p.Weight) != n:
		return fmt.Errorf("%d weights for %d rows", len(p.Weight), n)
	case p.Known != nil && len(p.Known) != n*a:
		return fmt.Errorf("%d of %d targets are said to be known or not", len(p.Known), n*a)
	}
	for n, w := range p.Weight {
		if !(w > 0 && w <= math.MaxFloat32) {
			return fmt.Errorf("weight of row %d is %g: it must be positive and finite", n, w)
		}
	}
	if i := finite.First(p.Features); i >= 0 {
		return fmt.Errorf("feature %d of row %d is not finite", i%p.Dim, i/p.Dim)
	}
	if i := finite.First(p.Target); i >= 0 {
		return fmt.Errorf("target %d of row %d is not finite", i%a, i/a)
	}
	return nil
}

// embeds reports whether the arrays fit into a model file, whose limit is 2 GB.
func (p *Problem) embeds() bool { return 4*(len(p.Features)+len(p.Target)+len(p.Known)) < 1<<30 }

// CostProblem turns rows of a tensor into a problem over its actions; nil rows means all. Features are standardised by
// std. Measured fees are added to the task losses. Targets of unavailable pairs are 0 and masked.
func CostProblem(t *costs.Tensor, rows []int, std network.Standardizer) *Problem {
	if rows != nil {
		t = t.Subset(rows)
	}
	a := t.Actions
	p := &Problem{
		Dim: t.Dim, Features: std.Apply(t.Features, t.Dim), Target: make([]float32, len(t.Loss)),
		Experts: len(a.Experts), Advice: len(a.Advice), Mask: a.Mask(),
	}
	for i, v := range t.Loss {
		if p.Mask != nil && !p.Mask[i%a.Len()] {
			continue
		}
		p.Target[i] = v
		if t.Fee != nil {
			p.Target[i] += t.Fee[i]
		}
	}
	for _, e := range a.Experts {
		p.Beta = append(p.Beta, e.Fee)
	}
	for _, d := range a.Advice {
		p.Gamma = append(p.Gamma, d.Fee)
	}
	return p
}

// ClassProblem is classification for the surrogate "weighted". features are N x
// dim; labels are N, from 0 to classes-1; weight is N, or nil for 1 each. The
// target of row n is weight[n] at its label and 0 elsewhere, so that the loss is
// weighted cross entropy at tau = 1. Other labels and weights that are negative or
// not finite are an error.
func ClassProblem(features []float32, dim int, labels []int, classes int, weight []float64) (*Problem, error) {
	p := &Problem{Dim: dim, Features: features, Experts: classes, Advice: 1, Target: make([]float32, len(labels)*classes)}
	if weight != nil && len(weight) != len(labels) {
		return nil, fmt.Errorf("%d weights for %d labels", len(weight), len(labels))
	}
	for n, y := range labels {
		if y < 0 || y >= classes {
			return nil, fmt.Errorf("row %d: label %d is outside 0..%d", n, y, classes-1)
		}
		w := 1.0
		if weight != nil {
			w = weight[n]
		}
		if !(w >= 0) || math.IsInf(w, 0) {
			return nil, fmt.Errorf("row %d: weight %g is not a finite non-negative number", n, w)
		}
		p.Target[n*classes+y] = float32(w)
	}
	return p, p.Validate()
}

// BalancedWeights returns weights with the same total for each class and a mean of 1: weight[n] = N / (classes * count
// of the label of n).
func BalancedWeights(labels []int, classes int) []float64 {
	count := make([]float64, classes)
	for _, y := range labels {
		count[y]++
	}
	w := make([]float64, len(labels))
	for n, y := range labels {
		w[n] = float64(len(labels)) / (float64(classes) * count[y])
	}
	return w
}

// digest identifies the content of a problem.
func (p *Problem) digest() string {
	h := sha256.New()
	fmt.Fprintln(h, p.Dim, p.Experts, p.Advice, p.Beta, p.Gamma, p.Mask)
	h.Write(rawBytes(p.Features))
	h.Write(rawBytes(p.Target))
	if p.Weight != nil || p.Known != nil { // else the digest is that of problems before there were these
		fmt.Fprintln(h, len(p.Weight), len(p.Known))
		h.Write(rawBytes(p.Weight))
		h.Write(rawBytes(p.Known))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// rawBytes views numbers as bytes in machine order.
func rawBytes[T float32 | int32](v []T) []byte {
	if len(v) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), len(v)*int(unsafe.Sizeof(v[0])))
}
