package npm

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/costs/coststest"
	"pipe/internal/storage"
	"pipe/models/cascade/cascadetest"
	"pipe/pipeline/decide"
)

// checkErrors: what is wrong has an error with a code that programs understand, and words that people do.
func checkErrors(t *testing.T, folder string) {
	all := refusals(t, folder)
	b, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(folder, "refusals.json")
	save(t, list, string(b))
	var said []string
	if err := json.Unmarshal(node(t, folder, "errors.mjs", list), &said); err != nil || len(said) != len(all) {
		t.Fatal(said, err)
	}
	for n, c := range all {
		if code, words, _ := strings.Cut(said[n], ": "); code != c.code || !strings.Contains(words, c.words) {
			t.Errorf("%s %s: %s\nnot %s with %q", filepath.Base(c.Policy), c.Request, said[n], c.code, c.words)
		}
	}
}

type refusal struct {
	Policy      string `json:"policy"`
	Request     string `json:"request"` // an expression of JavaScript
	code, words string
}

func refusals(t *testing.T, folder string) []refusal {
	var cases []testCase
	b, err := os.ReadFile(filepath.Join(folder, "cases.json"))
	if err == nil {
		err = json.Unmarshal(b, &cases)
	}
	if err != nil {
		t.Fatal(err)
	}
	of := func(name string) string { return policyOf(t, cases, name) }
	network, free, usage, text := of("network"), of("any price"), of("usage"), of("letters")
	const zeros = "features: [0, 0, 0, 0, 0]"
	list := append(brokenFiles(t, free),
		refusal{network, `{}`, "wrong_input", "the policy takes features, not nothing"},
		refusal{network, `null`, "wrong_input", "a request must be a plain object"},
		refusal{network, `{text: "x"}`, "wrong_input", "the policy takes features, not text"},
		refusal{network, `{features: [1], texts: []}`, "wrong_input", "not features and texts"},
		refusal{network, `{feature: [1]}`, "wrong_input", `cannot have "feature"`},
		refusal{network, `{features: [[1, 2]]}`, "wrong_input", "row 0: 2 features; the policy takes 5"},
		refusal{network, `{features: [[0, 0, 0, 0, 0], [1, 2, NaN, 4, 5]]}`, "wrong_input", "row 1: feature 2 (x) is NaN"},
		refusal{network, `{features: [1, 2, 1e39, 4, 5]}`, "wrong_input", "row 0: feature 2 (x) is Infinity"},
		refusal{network, `{features: [1, 2, "3", 4, 5]}`, "wrong_input", `row 0: feature 2 (x) is "3", not a number`},
		refusal{network, `{features: [1, 2, null, 4, 5]}`, "wrong_input", "is null, not a number"},
		refusal{network, `{features: [1, 2, , 4, 5]}`, "wrong_input", "is undefined, not a number"},
		refusal{network, `{features: []}`, "wrong_input", "0 features"},
		refusal{network, `{features: "1,2,3,4,5"}`, "wrong_input", "not a list of rows"},
		refusal{network, `{features: new Float32Array(7)}`, "wrong_input", "7 features; the policy takes 5 for every row"},
		refusal{network, `{features: new BigInt64Array(5)}`, "wrong_input", "row 0: the features are the BigInt 0n, not a list of numbers"},
		refusal{network, `{features: [[0, 0, 0, 0, 0], [0, 0, 300n, 0, 0]]}`, "wrong_input", "row 1: feature 2 (x) is the BigInt 300n, not a number"},
		refusal{network, `{features: [new BigInt64Array(5)]}`, "wrong_input", "row 0: feature 0 (v) is the BigInt 0n, not a number"},
		refusal{network, `{features: {v: 1n, w: 1, x: 1, y: 1, z: 1}}`, "wrong_input", "feature 0 (v) is the BigInt 1n"},
		refusal{network, `{features: (() => { const row = [1, 2, 3, 4]; row.push(row); return [row]; })()}`, "wrong_input", "feature 4 (z) is a list, not a number"},
		refusal{network, `{features: {v: 1, w: 1, x: 1, y: 1, u: 1}}`, "wrong_input", `there is no feature "u"`},
		refusal{network, `{features: {v: 1, w: 1, x: 1, y: 1}}`, "wrong_input", `the feature "z" is missing`},
		refusal{free, `{features: {v: 1}}`, "wrong_input", "no names of features"},
		refusal{network, `{` + zeros + `, prices: {lambda: 1}}`, "wrong_prices", "fixed prices"},
		refusal{free, `{` + zeros + `, prices: {lambda: -1}}`, "wrong_prices", "lambda is -1, not a number from 0 to 1000000000000"},
		refusal{free, `{` + zeros + `, prices: {lambda: "1"}}`, "wrong_prices", `lambda is "1", not a number from 0`},
		refusal{free, `{` + zeros + `, prices: {experts: {"a/b": 1n}}}`, "wrong_prices", `the fee of expert "a/b" is the BigInt 1n`},
		refusal{free, `{` + zeros + `, prices: {lambda: Symbol("1")}}`, "wrong_prices", "lambda is Symbol(1)"},
		refusal{free, `{` + zeros + `, prices: {experts: {"a/b": NaN}}}`, "wrong_prices", `the fee of expert "a/b" is NaN`},
		refusal{free, `{` + zeros + `, prices: {experts: {large: 1}}}`, "wrong_prices", `unknown expert "large"; known are "a/b"`},
		refusal{free, `{` + zeros + `, prices: {advice: {none: 1}}}`, "wrong_prices", "is the absence of advice, which is free"},
		refusal{free, `{` + zeros + `, prices: {pairs: {"a/b": 1}}}`, "wrong_prices", `unknown pair "a/b"`},
		refusal{free, `{` + zeros + `, prices: {fees: {}}}`, "wrong_prices", `prices cannot have "fees"`},
		refusal{free, `{` + zeros + `, prices: {usage: {"a/b": {tokens_in: 1}}}}`, "wrong_prices", "does not know what calls use"},
		refusal{usage, `{` + zeros + `, prices: {usage: {"a/b": {tokens: 1}}}}`, "wrong_prices", `cannot have "tokens"; it can have "tokens_in"`},
		refusal{usage, `{` + zeros + `, prices: {usage: {"a/b": {tokens_in: 1}}}}`, "wrong_prices", "give both the same price"},
		refusal{usage, `{` + zeros + `, prices: {usage: {"a/b": {calls: -1}}}}`, "wrong_prices", "the price of calls"},
		refusal{free, `{` + zeros + `, unavailable: {experts: ["large"]}}`, "wrong_input", `unknown expert "large"`},
		refusal{free, `{` + zeros + `, unavailable: {experts: [1n]}}`, "wrong_input", "unknown expert the BigInt 1n"},
		refusal{free, `{` + zeros + `, unavailable: {experts: "a/b"}}`, "wrong_input", "must be a list of names"},
		refusal{free, `{` + zeros + `, unavailable: {experts: ["a/b", '"quoted"', "__proto__"]}}`, "wrong_input", "no pair remains"},
		refusal{free, `{features: [1e38, 0, 0, 0, 0], unavailable: {experts: ["a/b", '"quoted"'], advice: ["short", "größer"]}}`, "no_decision", "features or prices are out of range, or no pair remains"},
		refusal{text, `{` + zeros + `}`, "wrong_input", "the policy takes text or texts, not features"},
		refusal{text, `{texts: []}`, "wrong_input", "at least one text"},
		refusal{text, `{texts: "x"}`, "wrong_input", "must be a list"},
		refusal{text, `{texts: ["x", 1]}`, "wrong_input", "row 1: it is not a text"},
		refusal{text, `{text: "\ud800"}`, "wrong_input", "half of a character"},
		refusal{text, `{text: "x", prices: {}}`, "wrong_prices", "fixed prices"},
		refusal{free, `closed`, "closed", "the policy is closed"},
		refusal{free, `no runtime`, "no_runtime", "onnxruntime-node"},
	)
	for _, top := range []string{`"2"`, "-2", "2.5", "NaN", "2n", "null"} {
		list = append(list, refusal{network, `{` + zeros + `, top: ` + top + `}`, "wrong_input", "top must be a whole number"})
	}
	return append(list, hidden(usage)...)
}

// hidden are values that have no members of their own, so that a request would say less than its caller meant.
func hidden(policy string) (list []refusal) {
	for _, value := range []string{`new Map([["a/b", 9]])`, `new Set(["a/b"])`, `new (class { #a = 1 })()`, `Object.create({"a/b": 9})`, `["a/b"]`, `() => 9`, "5", `""`, "false", "null"} {
		add := func(member, code, words string) {
			list = append(list, refusal{policy, `{features: [0, 0, 0, 0, 0], ` + strings.Replace(member, "$", value, 1) + `}`, code, words + " must be a plain object"})
		}
		add("unavailable: $", "wrong_input", "unavailable")
		add("prices: $", "wrong_prices", "prices")
		for _, of := range []string{"experts", "advice", "pairs", "usage"} {
			add("prices: {"+of+": $}", "wrong_prices", of+" of prices")
		}
		add(`prices: {usage: {"a/b": $}}`, "wrong_prices", `the prices of what expert "a/b" uses`)
	}
	return list
}

// policyOf is the policy of the first case whose name begins so.
func policyOf(t *testing.T, cases []testCase, name string) string {
	t.Helper()
	n := slices.IndexFunc(cases, func(c testCase) bool { return strings.HasPrefix(c.Name, name) })
	if n < 0 {
		t.Fatalf("no case %s", name)
	}
	return cases[n].Policy
}

// checkCalls: what a caller changes or closes after a call does not touch the call. See testdata/calls.mjs.
func checkCalls(t *testing.T, folder string, all []testCase) {
	if out := string(node(t, folder, "calls.mjs", policyOf(t, all, "any price"), policyOf(t, all, "letters"))); out != "all calls are right\n" {
		t.Error(out)
	}
}

// brokenFiles are files that are not a policy with its description.
func brokenFiles(t *testing.T, good string) []refusal {
	dir := t.TempDir()
	model, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	description, err := os.ReadFile(good + ".json")
	if err != nil {
		t.Fatal(err)
	}
	number := 0
	file := func(model, description string) string {
		number++
		path := filepath.Join(dir, string(rune('a'+number))+".onnx")
		save(t, path, model)
		if description != "" {
			save(t, path+".json", description)
		}
		return path
	}
	change := func(old, new string) string { return strings.Replace(string(description), old, new, 1) }
	cascade, err := cascadetest.Looks(coststest.Looks(20, 1), 1).Export()
	if err != nil {
		t.Fatal(err)
	}
	looks := filepath.Join(dir, "cascade.onnx")
	if _, err := decide.WritePolicy(t.Context(), storage.File(looks), cascade); err != nil {
		t.Fatal(err)
	}
	const request = `{features: [0, 0, 0, 0, 0]}`
	return []refusal{
		{filepath.Join(dir, "missing.onnx"), request, "wrong_policy", "cannot read " + dir},
		{dir, request, "wrong_policy", "cannot read " + dir},
		{file(string(model), ""), request, "wrong_policy", "the description that pipe writes beside a policy"},
		{file(string(model), "{"), request, "wrong_policy", "is not JSON"},
		{file(string(model), "null"), request, "wrong_policy", "does not describe a policy"},
		{file(string(model), `{"kind": "policy"}`), request, "wrong_policy", "does not describe a policy"},
		{file(string(model), change(`"format": 1`, `"format": 2`)), request, "wrong_policy", "reads format 1"},
		{file(string(model[:len(model)-1]), string(description)), request, "wrong_policy", "the description is of another file"},
		{file("not ONNX", string(description)), request, "wrong_policy", "the description is of another file"},
		{looks, request, "wrong_input", "the file is a cascade"},
		{good, "next", "wrong_input", "the policy decides once"},
		{looks, "next {features: [[0, 0], [0, 0]]}", "wrong_input", "takes one row"},
		{looks, "next {features: [0, 0], executed: {small: {}}}", "wrong_input", `unknown pair "small"`},
		{looks, `next {features: [0, 0], executed: new Map([["small/none", {}]])}`, "wrong_input", "executed must be a plain object"},
		{looks, `next {features: [0, 0], executed: null}`, "wrong_input", "executed must be a plain object"},
		{looks, `next {features: [0, 0], executed: {"small/none": new Map([["confidence", 1]])}}`, "wrong_input", `of pair "small/none" must be a plain object`},
		{looks, `next {features: [0, 0], executed: {"small/none": {sure: 1}}}`, "wrong_input", `cannot have "sure"`},
		{looks, `next {features: [0, 0], executed: {"small/none": {confidence: "1"}}}`, "wrong_input", `confidence of pair "small/none" is "1", not a number`},
		{looks, `next {features: [0, 0], executed: {"small/none": {confidence: 1n}}}`, "wrong_input", `confidence of pair "small/none" is the BigInt 1n, not a number`},
		{looks, `next {features: [0, 0], executed: {"small/none": {label: 1}}}`, "wrong_input", "not a text"},
		{looks, `next {features: [0, 0], prices: {lambda: 1}}`, "wrong_prices", "fixed prices"},
	}
}
