package ort

import (
	"strconv"
	"strings"
)

// compareVersions compares the numbers in a and b from left to right: negative if a is older, zero if equal, positive
// if newer.
func compareVersions(a, b string) int {
	x, y := versionNumbers(a), versionNumbers(b)
	for i := 0; i < len(x) || i < len(y); i++ {
		if d := numberAt(x, i) - numberAt(y, i); d != 0 {
			return d
		}
	}
	return 0
}

func numberAt(v []int, i int) int {
	if i < len(v) {
		return v[i]
	}
	return 0
}

// versionNumbers returns the leading number of every dotted part that has one.
func versionNumbers(s string) []int {
	var out []int
	for part := range strings.SplitSeq(s, ".") {
		end := 0
		for end < len(part) && part[end] >= '0' && part[end] <= '9' {
			end++
		}
		if n, err := strconv.Atoi(part[:end]); err == nil {
			out = append(out, n)
		}
	}
	return out
}
