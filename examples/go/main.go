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
	router := must(decide.Open(os.Args[1], decide.Options{}))
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
	prices := struct { // policy.Prices under the names of the inputs
		Experts   []float32 `json:"expert_fees"`
		Advice    []float32 `json:"advice_fees"`
		Pairs     []float32 `json:"pair_fees"`
		Available []bool    `json:"available"`
	}(policy.PricesOf(info.Actions, info.Lambda))
	if len(args) > 3 {
		given := json.NewDecoder(must(os.Open(args[3])))
		given.DisallowUnknownFields()
		must(0, given.Decode(&prices))
	}
	out := must(d.DecideAt(context.Background(), policy.Prices(prices), rows, len(lines)))
	for n, action := range out.Action {
		show(info, int(action), out.Cost[min(n*out.Actions, len(out.Cost)):])
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
