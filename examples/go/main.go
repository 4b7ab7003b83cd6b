// Go decides with a policy file: go run ./examples/go POLICY.onnx ROWS [PRICES.json]. See examples/README.md.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"

	"pipe/models/policy"
	"pipe/onnx/ort"
	"pipe/pipeline/decide"
)

func main() {
	if len(os.Args) < 3 {
		log.Fatal("usage: go run ./examples/go POLICY.onnx ROWS [PRICES.json]")
	}
	lines := strings.Split(strings.TrimSuffix(string(must(os.ReadFile(os.Args[2]))), "\n"), "\n")
	router := must(decide.Open(context.Background(), os.Args[1], decide.Options{}))
	defer router.Close()
	if router.Input() == decide.InputFeatures {
		features(os.Args, lines)
		return
	}
	for _, d := range must(router.Texts(context.Background(), lines)) { // encoder and tokenizer are in the policy file
		show(router.Info(), d.Action, d.Cost)
	}
}

// features decides on rows of numbers, at the prices of a file if there is one.
func features(args, lines []string) {
	d := must(policy.Open(must(ort.Open(ort.DefaultConfig())), args[1]))
	info, rows := d.Info(), []float32(nil)
	for n, line := range lines {
		for cell := range strings.SplitSeq(line, ",") {
			rows = append(rows, float32(must(strconv.ParseFloat(cell, 32))))
		}
		if len(rows) != (n+1)*info.Dim {
			log.Fatalf("line %d has not %d numbers", n+1, info.Dim)
		}
	}
	prices := info.PriceAt(info.Actions, info.Lambda, nil)
	if len(args) > 3 {
		read(args[3], info, prices)
	}
	out := must(d.DecideAt(context.Background(), prices, rows, len(lines)))
	for n, action := range out.Action {
		show(info, int(action), out.Cost[min(n*out.Actions, len(out.Cost)):])
	}
}

// read sets prices by the names of the inputs of the policy file, where fees of advice are multiplied by lambda.
func read(file string, info *policy.Info, prices *policy.Prices) {
	for k := range prices.Advice {
		prices.Advice[k] *= prices.Lambda
	}
	prices.Lambda = 1
	prices.Usage = prices.Usage.Times(1, -1) // a copy
	lists := map[string]any{"expert_fees": &prices.Experts, "advice_fees": &prices.Advice, "pair_fees": &prices.Pairs, "available": &prices.Available}
	if info.Usage != nil {
		for _, q := range info.Usage.Quantities {
			lists[policy.UsagePriceInput(q)] = &prices.Usage[q]
		}
	}
	var given map[string]json.RawMessage
	must(0, json.Unmarshal(must(os.ReadFile(file)), &given))
	for name, list := range given {
		if lists[name] == nil {
			log.Fatalf("%s is no price that the policy takes", name)
		}
		must(0, json.Unmarshal(list, lists[name]))
	}
}

func show(info *policy.Info, action int, costs []float32) {
	expert, advice := info.Actions.Pair(action)
	cost := ""
	if len(costs) > 0 {
		cost = fmt.Sprint(costs[action])
	}
	fmt.Printf("%s\t%s\t%s\n", info.Actions.Experts[expert].Name, info.Actions.Advice[advice].Name, cost)
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
