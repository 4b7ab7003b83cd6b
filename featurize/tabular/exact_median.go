package tabular

import (
	"errors"
	"math"
)

// Medians are found by counting: numbers have keys, integers in the same order, and first the upper halves of the keys
// are counted, then the lower halves of those in the middle. Counts of several parts of a table add up.

// keyCounter counts numbers of a part of a table by their keys. It adds to counts, which has an element per half of a
// key.
type keyCounter interface {
	upper(counts []int64) error
	lower(counts []int64, upper uint32) error // of the keys with the given upper half
}

// keyHalves is the number of halves of a key.
const keyHalves = 1 << 16

// numbers are in memory; none is NaN.
type numbers []float32

func (n numbers) upper(counts []int64) error {
	for _, v := range n {
		counts[orderedKey(v)>>16]++
	}
	return nil
}

func (n numbers) lower(counts []int64, upper uint32) error {
	for _, v := range n {
		if k := orderedKey(v); k>>16 == upper {
			counts[k&0xffff]++
		}
	}
	return nil
}

// medianOf returns element (n-1)/2 of the sorted numbers of all parts, which are n.
func medianOf(parts []keyCounter, n int64) (float32, error) {
	counts := make([]int64, keyHalves)
	for _, p := range parts {
		if err := p.upper(counts); err != nil {
			return 0, err
		}
	}
	upper, rank, ok := nthBucket(counts, (n-1)/2)
	clear(counts)
	for _, p := range parts {
		if err := p.lower(counts, upper); err != nil {
			return 0, err
		}
	}
	lower, _, within := nthBucket(counts, rank)
	if !ok || !within {
		return 0, errors.New("counts of numbers contradict each other")
	}
	return ofKey(upper<<16 | lower), nil
}

// orderedKey maps numbers to integers in the same order.
func orderedKey(v float32) uint32 {
	if v == 0 {
		v = 0 // -0 and 0 are equal
	}
	bits := math.Float32bits(v)
	if bits>>31 == 1 {
		return ^bits
	}
	return bits | 1<<31
}

// ofKey is the number that has a key.
func ofKey(key uint32) float32 {
	if key>>31 == 1 {
		return math.Float32frombits(key &^ (1 << 31))
	}
	return math.Float32frombits(^key)
}

// nthBucket returns the bucket of the element with the given rank, and its rank within the bucket; ok is false if there
// are fewer elements.
func nthBucket(counts []int64, rank int64) (bucket uint32, within int64, ok bool) {
	for b, n := range counts {
		if rank < n {
			return uint32(b), rank, true
		}
		rank -= n
	}
	return 0, 0, false
}
