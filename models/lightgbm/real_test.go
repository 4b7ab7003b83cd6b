package lightgbm

import (
	"encoding/csv"
	"errors"
	"io"
	"math"
	"os"
	"strconv"
	"testing"

	"pipe/internal/realdata"
)

// TestParityReal: trees on genuine transactions, words as codes in order of
// appearance, agree on all rows and on hostile ones.
func TestParityReal(t *testing.T) {
	l := testLibrary(t)
	s := readTransactions(t, realdata.Folder(t, "ieee-cis", "train_transaction_55cols_12000rows.csv"))
	if s.rows != 12_000 || s.cols != 53 {
		t.Fatalf("%d rows, %d columns", s.rows, s.cols)
	}
	b, m := fit(t, l, set{matrix{s.x[:9000*s.cols], 9000, s.cols}, s.label[:9000]}, testParams())
	compare(t, b, m, s.matrix)
	compare(t, b, m, hostile(m, 10_000, &s.matrix, 8))
}

// readTransactions reads every column but the first two, which are the key and
// the label.
func readTransactions(t *testing.T, path string) set {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	header, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	s := set{matrix: matrix{cols: len(header) - 2}}
	codes := make([]map[string]float32, len(header))
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return s
		}
		if err != nil {
			t.Fatal(err)
		}
		label, err := strconv.ParseFloat(row[1], 32)
		if err != nil {
			t.Fatal(err)
		}
		s.label = append(s.label, float32(label))
		for j, cell := range row[2:] {
			if codes[j] == nil {
				codes[j] = map[string]float32{}
			}
			s.x = append(s.x, number(cell, codes[j]))
		}
		s.rows++
	}
}

func number(cell string, codes map[string]float32) float32 {
	if cell == "" {
		return float32(math.NaN())
	}
	if v, err := strconv.ParseFloat(cell, 32); err == nil {
		return float32(v)
	}
	if _, seen := codes[cell]; !seen {
		codes[cell] = float32(len(codes))
	}
	return codes[cell]
}
