package decideapi

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"

	xjson "github.com/go-json-experiment/json"

	"pipe/internal/strictjson"
	"pipe/internal/textfile"
	"pipe/models/policy"
	"pipe/pipeline/decide/decidetest"
)

// FuzzScanNumber compares the scanner of numbers with the parser of pipe decide and with encoding/json.
func FuzzScanNumber(f *testing.F) {
	for _, s := range []string{
		"0", "-0", "1", "-1.5", "0.1", "1e10", "1E-10", "1e+5", "12345678901234567890", "0.30000000000000004", "1e38", "3.4028236e38", "1e39", "1e-400", "1e400",
		"9007199254740993", "01", "1.", ".5", "1e", "+1", "--1", "1e5000", "0.000000000000000000000000000001", "00", "-", "1.5e-7x", "123456789012345678901234567890e-20",
		"18446744073709551617", "18446744073709551616.5", "1e-1000000000000000000000",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		row, rest, ok := scanRow(nil, []byte("["+s+"]"))
		if !ok {
			if json.Valid([]byte(s)) && (len(s) > 0 && (s[0] == '-' || s[0]-'0' <= 9)) && strings.TrimSpace(s) == s {
				if want, err := textfile.ParseFloat32(s); err == nil {
					t.Fatalf("%q is refused, it is %v", s, want)
				}
			}
			return
		}
		if len(rest) > 0 || len(row) != 1 {
			return // several numbers, or the end of the list
		}
		if !json.Valid([]byte(s)) {
			t.Fatalf("%q is not a number in JSON", s)
		}
		want, err := textfile.ParseFloat32(strings.TrimSpace(s))
		if err != nil || math.Float32bits(row[0]) != math.Float32bits(want) {
			t.Fatalf("%q is %v, want %v, %v", s, row[0], want, err)
		}
	})
}

// TestScanNumbers compares many numbers of several lengths with the parser of pipe decide.
func TestScanNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	for i := range 200000 {
		v := math.Float32frombits(r.Uint32())
		if v-v != 0 {
			continue
		}
		s := strconv.FormatFloat(float64(v), "eg"[i%2], -1, 32)
		if i%3 == 0 {
			s = strconv.FormatFloat(r.NormFloat64(), 'g', 1+i%18, 64)
		}
		want, err := textfile.ParseFloat32(s)
		got, rest, ok := scanRow(nil, []byte("["+s+"]"))
		if err != nil || !ok || len(rest) > 0 || len(got) != 1 || math.Float32bits(got[0]) != math.Float32bits(want) {
			t.Fatalf("%q is %v, want %v, %v", s, got, want, err)
		}
	}
}

// bodies are requests of every form, good and bad, for the fuzzers.
var bodies = []string{
	`{"features": [1, -2.5, 3e-2]}`, `{"features":[[1,2],[3,4]],"policy":"p","top":1}`, `{"policy": "p", "features": [1]}`, ` { "features" : [ [ 1 ] , [ 2 ] ] , "user" : "u" } `,
	`{"features": [1], "features": [2]}`, `{"features": [1], "features": null}`, `{"features": [1],}`, `{"features": [1] "a": 1}`, `{"features": [[1], [2, 3]]}`, `{"features": [1]} {}`,
	`{"features": [[], []]}`, `{"features": []}`, `{"features": [1], {"policy": "p"}}`, `{"features": [1, null]}`, `{"features": [1e39]}`, `{"features": [01]}`, `{"features": [1]`,
	`{"text": "a", "prices": {"lambda": 0.5, "experts": {"a": 1}}, "unavailable": {"pairs": ["a/b"]}, "explore": false, "request_id": "r"}`,
	`{"texts": ["a", "b"]}`, `{"row": {"a": 1, "b": "x", "c": null}}`, `{"rows": [{"a": 1.50}]}`, `{"messages": [{"role": "user", "content": "x"}]}`, `{"image": "AAAA"}`, `{"images": ["data:image/png;base64,AAAA"]}`,
}

// FuzzRequest checks that every body is read or refused with an error for the client, that what is read is what the
// general way reads, and that nothing is accepted that the strict reader of other programs' JSON refuses.
func FuzzRequest(f *testing.F) {
	for _, s := range bodies {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		before := string(raw)
		got, err := readJSON(raw)
		if string(raw) != before {
			t.Fatal("the body was changed")
		}
		var want body
		slow := xjson.Unmarshal(raw, &want, xjson.RejectUnknownMembers(true))
		if (err == nil) != (slow == nil) {
			t.Fatalf("%q: %v, the general way says %v", raw, err, slow)
		}
		if err == nil {
			want.Features.present, got.Features.present = false, false
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%q: %+v, the general way reads %+v", raw, got, want)
			}
			var any any
			if err := strictjson.Unmarshal(raw, &any); err != nil && !strings.Contains(err.Error(), "keys") {
				t.Fatalf("%q is accepted, but %v", raw, err)
			}
		}
		if _, err := parse(raw, http.Header{}, 100); err != nil {
			var known *requestError
			if !errors.As(asRequestError(err), &known) || known.status == http.StatusInternalServerError {
				t.Fatalf("%q: %v is not an error for the client", raw, err)
			}
			if !json.Valid(known.json()) {
				t.Fatalf("%q: %s", raw, known.json())
			}
		}
	})
}

// FuzzOutcomes is FuzzRequest for outcomes.
func FuzzOutcomes(f *testing.F) {
	for _, s := range []string{
		`{"id": "a", "loss": 0.5}`, `[{"id": "a", "correct": true}]`, `{"outcomes": [{"id": "a", "score": 1, "label": "x", "comment": "y"}]}`, `{"outcomes": null, "id": "b", "loss": 1}`, `[]`, `5`, `[null]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		list, err := parseOutcomes(raw, 100)
		if err != nil {
			var known *requestError
			if !errors.As(err, &known) || !json.Valid(known.json()) {
				t.Fatalf("%q: %v is not an error for the client", raw, err)
			}
			return
		}
		if len(list) == 0 || len(list) > 100 {
			t.Fatalf("%q: %d outcomes", raw, len(list))
		}
		for _, o := range list {
			if o.Check() != nil {
				t.Fatalf("%q: %+v", raw, o)
			}
		}
	})
}

func benchBody(width int) []byte {
	r, b := rand.New(rand.NewPCG(1, 2)), []byte(`{"features": [`)
	for c := range width {
		if c > 0 {
			b = append(b, ", "...)
		}
		b = strconv.AppendFloat(b, float64(float32(r.NormFloat64()/20)), 'g', -1, 32)
	}
	return append(b, `], "policy": "p"}`...)
}

func BenchmarkParse(b *testing.B) {
	raw := benchBody(384)
	b.ReportAllocs()
	b.SetBytes(int64(len(raw)))
	for b.Loop() {
		if _, err := parse(raw, http.Header{}, 10); err != nil {
			b.Fatal(err)
		}
	}
}

// TestOneOrderOfPrices checks that requests with equal fees and unavailable names have equal prices, in whatever order they
// name them, and that others have others.
func TestOneOrderOfPrices(t *testing.T) {
	info := decidetest.AnyPrice(dim)
	r := policy.DefaultPriceRange()
	read := func(text string) *policy.Prices {
		ask, err := parse([]byte(`{"features": [1], `+text+`}`), http.Header{}, 1)
		if err != nil {
			t.Fatal(text, err)
		}
		p, err := (&policy.Info{Actions: info.Actions, Lambda: 1, Prices: &r}).Price(ask.request.Prices)
		if err != nil {
			t.Fatal(text, err)
		}
		return p
	}
	all := []string{
		`"prices": {"experts": {"c": 0.5, "a, or b": 0.25}, "pairs": {"c/none": 1, "c/long": 2}}, "unavailable": {"experts": ["\"quoted\""], "pairs": ["c/short", "a, or b/long"]}`,
		`"unavailable": {"pairs": ["a, or b/long", "c/short", "c/short"], "experts": ["\"quoted\""]}, "prices": {"pairs": {"c/long": 2, "c/none": 1}, "experts": {"a, or b": 0.25, "c": 0.5}}`,
	}
	first := read(all[0])
	for _, text := range all {
		if again := read(text); !reflect.DeepEqual(again, first) {
			t.Errorf("%s: %+v, and in another order %+v", text, again, first)
		}
		for old, other := range map[string]string{`"c": 0.5`: `"c": 0.75`, `"c/none": 1`: `"c/none": 3`, `"a, or b/long"`: `"c/none"`} {
			if changed := read(strings.Replace(text, old, other, 1)); reflect.DeepEqual(changed, first) {
				t.Errorf("%s instead of %s has the same prices", other, old)
			}
		}
	}
}
