package decisionlog

import (
	"bytes"
	"encoding/base64"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Numbers of any bits and any count have the text that the standard library gives, and come back.
func TestFloats64(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for n := range 100 {
		list := make([]float32, n)
		for i := range list {
			list[i] = math.Float32frombits(rng.Uint32())
		}
		text := appendFloats64([]byte("x"), list)
		raw := floatBytes(nil, list)
		if want := "x" + base64.StdEncoding.EncodeToString(raw); string(text) != want {
			t.Fatalf("%d numbers: %s, want %s", n, text, want)
		}
		got, ok := readFloats64([]float32{7}, text[1:])
		if !ok || len(got) != n+1 || got[0] != 7 || !bytes.Equal(floatBytes(nil, got[1:]), raw) {
			t.Fatalf("%d numbers came back as %v, %v", n, got, ok)
		}
		for range 20 { // a text with another byte is refused, or it is that of other numbers
			if len(text) < 2 {
				break
			}
			bad := bytes.Clone(text[1:])
			bad[rng.IntN(len(bad))] = byte(rng.Uint32())
			if got, ok := readFloats64(nil, bad); ok && !bytes.Equal(appendFloats64(nil, got), bad) {
				t.Fatalf("%q was read as %v", bad, got)
			}
		}
		for cut := range max(0, len(text)-1) {
			if got, ok := readFloats64(nil, text[1:1+cut]); ok && !slices.Equal(appendFloats64(nil, got), text[1:1+cut]) {
				t.Fatalf("%d digits of %q were read as %v", cut, text[1:], got)
			}
		}
	}
}

// What is remembered of other lines never changes the text of a record, nor what is read from it, whatever differs between
// the lines.
func TestRepeats(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 9))
	few, many := testPolicy(2, 1, 3), testPolicy(3, 2, 5)
	infos := []*PolicyInfo{&few, &many}
	list := make([]*Record, 0, 300)
	for i := range cap(list) {
		p := infos[rng.IntN(2)]
		r := testRecord(rng, p)
		if i > 0 && rng.IntN(2) == 0 { // the record before with one difference in what is remembered
			c := *list[i-1]
			r = &c
			r.ExpertFees, r.Available = slices.Clone(r.ExpertFees), slices.Clone(r.Available)
			switch rng.IntN(10) {
			case 0:
				r.Lambda = math.Copysign(0, -1)
			case 1:
				r.ExpertFees[0]++
			case 2:
				r.ExpertFees[0] = math.Copysign(0, -1)
			case 3:
				r.Canary = !r.Canary
			case 4:
				r.User += `"\`
			case 5:
				if r.FeeKnown = !r.FeeKnown; r.FeeKnown {
					r.Fee = float64(i)
				} else {
					r.Fee = 0
				}
			case 6:
				r.Policy += "x"
			case 7:
				r.PairFees = make([]float64, len(r.Available))
				r.PairFees[rng.IntN(len(r.PairFees))] = float64(1 + rng.IntN(2))
			case 8:
				r.PairFees = nil
			case 9:
				r.Share = []float64{ShareUnknown, 0, 0.5}[i%3]
				r.OwnPropensity = nil
				if r.Share > 0 {
					r.OwnPropensity = r.Propensity
				}
			}
		}
		list = append(list, r)
	}
	wrote := newLineWriter()
	memory := newReusingReader(together)
	for i, r := range list {
		line := wrote.append(nil, r)
		if want := appendRecord(nil, r); !bytes.Equal(line, want) {
			t.Fatalf("record %d is %s, alone %s", i, line, want)
		}
		body, err := unseal(line[:len(line)-1])
		if err != nil {
			t.Fatal(err)
		}
		got, err := memory.read(body)
		if err != nil {
			t.Fatal(err)
		}
		want, err := readRecord(body)
		if err != nil {
			t.Fatal(err)
		}
		if plain(got) != plain(want) || plain(got) != plain(r) {
			t.Fatalf("record %d is read as %+v, alone %+v", i, got, want)
		}
	}
}
